//go:build unix && (!linux || race)

package nonblock

import (
	"errors"
	"syscall"
)

func read(fd uintptr, p []byte) (int, syscall.Errno) { return plain(syscall.Read(int(fd), p)) }

func write(fd uintptr, p []byte) (int, syscall.Errno) { return plain(syscall.Write(int(fd), p)) }

func plain(n int, err error) (int, syscall.Errno) {
	no, _ := errors.AsType[syscall.Errno](err)
	return max(n, 0), no
}
