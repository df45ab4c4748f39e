package simbridge

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func signalGroup(pid int, sig syscall.Signal) { syscall.Kill(-pid, sig) }

// waitUnreaped returns true once the process has ended, and leaves it to be
// reaped, so that its pid still belongs to it and its group.
func waitUnreaped(pid int) bool {
	const idIsPid = 1 // P_PID of waitid(2), which package syscall does not name
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idIsPid, uintptr(pid), 0, syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if !errors.Is(errno, syscall.EINTR) {
			return errno == 0
		}
	}
}

// sacrificeFirst tells the kernel to end the engine before us when memory is short:
// another one can be started. Where /proc is not to be had, it chooses by size.
func sacrificeFirst(pid int) {
	const first = "1000" // of oom_score_adj, proc(5)
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(first), 0)
}
