//go:build unix && !linux

package simbridge

import (
	"errors"
	"syscall"
)

// Without Linux's death signal an engine outlives a killed server until it reads
// the end of its input.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(pid int, sig syscall.Signal) { syscall.Kill(-pid, sig) }

// waitUnreaped is not to be had everywhere; without it a group is signalled after
// its leader has been reaped.
func waitUnreaped(int) bool { return false }

func sacrificeFirst(int) {}

func unreadBytes(uintptr) (int, error) { return 0, errors.ErrUnsupported }

func pipeBytes(uintptr) (int, error) { return 0, errors.ErrUnsupported }
