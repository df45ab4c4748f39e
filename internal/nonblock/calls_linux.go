//go:build linux && !race

package nonblock

import (
	"syscall"
	"unsafe"
)

func read(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, no := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), no
}

func write(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, no := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), no
}
