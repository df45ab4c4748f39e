package simbridge

import (
	"errors"
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
