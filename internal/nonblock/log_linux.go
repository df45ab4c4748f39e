//go:build linux && !race

package nonblock

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Log returns a writer to f, which others may write to as well, and which may block: what
// it does not take at once is written in an ordinary system call.
func Log(f *os.File) io.Writer {
	info, err := f.Stat()
	if err != nil {
		return f
	}
	l := &log{File: f}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		l.now = write // into the kernel's memory; a file cannot be asked whether there is room
	case mode&(os.ModeNamedPipe|os.ModeSocket) != 0:
		l.now = writeNow
	default:
		return f
	}
	raw, err := f.SyscallConn()
	if err != nil || raw.Control(func(fd uintptr) { l.fd = fd }) != nil {
		return f
	}
	return l
}

type log struct {
	*os.File
	fd  uintptr
	now func(fd uintptr, p []byte) (int, syscall.Errno)
}

func (l *log) Write(p []byte) (int, error) {
	written, no := l.now(l.fd, p)
	if no != 0 {
		written = 0
	}
	if written == len(p) {
		return written, nil
	}
	n, err := l.File.Write(p[written:])
	return written + n, err
}

// writeNow writes what a pipe or a socket takes without waiting, also if it is one that
// would wait.
func writeNow(fd uintptr, p []byte) (int, syscall.Errno) {
	part := syscall.Iovec{Base: unsafe.SliceData(p)}
	part.SetLen(len(p))
	const here = ^uintptr(0) // no offset
	n, _, no := syscall.RawSyscall6(unix.SYS_PWRITEV2, fd, uintptr(unsafe.Pointer(&part)), 1, here, here, unix.RWF_NOWAIT)
	return int(n), no
}
