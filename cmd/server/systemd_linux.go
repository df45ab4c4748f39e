package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// listening reports whether a socket takes connections, rather than being one.
func listening(file *os.File) bool {
	accepts, err := unix.GetsockoptInt(int(file.Fd()), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && accepts == 1
}
