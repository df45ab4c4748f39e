//go:build unix

package simbridge

import (
	"errors"
	"io"
	"syscall"
)

// readNow reads from a pipe that does not block, as Go's pipes are.
func readNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, errNothing
		case n == 0 && err == nil:
			return 0, io.EOF
		default:
			return max(n, 0), err
		}
	}
}
