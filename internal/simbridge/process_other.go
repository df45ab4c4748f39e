//go:build !unix

package simbridge

import (
	"errors"
	"os"
	"syscall"
)

// Where there are no process groups, only the engine itself is ended.
func processAttributes() *syscall.SysProcAttr { return nil }

func signalGroup(pid int, _ syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}

func waitUnreaped(int) bool { return false }

func sacrificeFirst(int) {}

func unreadBytes(uintptr) (int, error) { return 0, errors.ErrUnsupported }

func pipeBytes(uintptr) (int, error) { return 0, errors.ErrUnsupported }
