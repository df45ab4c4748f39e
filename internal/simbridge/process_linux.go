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
//
// It waits in the runtime's poller. A system call that waits keeps its processor from
// all others until the runtime notices, which can take 10 ms where there is but one.
func waitUnreaped(pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil { // a kernel before 5.10
		return waitid(pid, 0)
	}
	handle := os.NewFile(uintptr(fd), "pidfd")
	defer handle.Close()
	raw, err := handle.SyscallConn()
	if err != nil {
		return waitid(pid, 0)
	}
	ended := false
	err = raw.Read(func(uintptr) bool {
		ended = waitid(pid, unix.WNOHANG)
		return ended
	})
	return ended || err != nil && waitid(pid, 0)
}

// waitid reports whether the process has ended, and with no options waits for that.
func waitid(pid, options int) bool {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && info.Signo != 0
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
