package simbridge

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func signalGroup(pid int, sig syscall.Signal) { syscall.Kill(-pid, sig) }

// waitUnreaped returns true once the process has ended, and leaves it to be
// reaped, so that its pid still belongs to it and its group.
func waitUnreaped(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// sacrificeFirst tells the kernel to end the engine before us when memory is short:
// another one can be started. Where /proc is not to be had, it chooses by size.
func sacrificeFirst(pid int) {
	const first = "1000" // of oom_score_adj, proc(5)
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(first), 0)
}

// unreadBytes returns how much of what was written to a pipe nobody has read.
func unreadBytes(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), unix.TIOCINQ) }

// pipeBytes returns how much a pipe holds while nobody reads. It may be little: the
// kernel gives less to a user who has very many of them.
func pipeBytes(fd uintptr) (int, error) { return unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0) }
