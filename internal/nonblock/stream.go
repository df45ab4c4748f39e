//go:build unix

package nonblock

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

func streamConn(c net.Conn, limit time.Duration) (net.Conn, bool) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, false
	}
	own := &conn{Conn: c, in: newCalls("read", raw.Read, read), out: newCalls("write", raw.Write, write)}
	own.out.limit, own.out.setDeadline = limit, c.SetWriteDeadline
	return own, true
}

type conn struct {
	net.Conn
	in, out *calls
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.explain(c.in, err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.explain(c.out, err)
}

func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

// explain returns err as the net package would, whose users look into it.
func (c *conn) explain(of *calls, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if e, ok := err.(*net.OpError); ok { // made for this call, by what waits for the socket
		e.Op = of.name
		return e
	}
	return &net.OpError{Op: of.name, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// A Pipe is one end of a pipe, with reads and writes of this package.
type Pipe struct {
	*os.File
	in, out, now *calls
}

// NewPipe takes over f, an end of an [os.Pipe].
func NewPipe(f *os.File) (*Pipe, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &Pipe{File: f, in: newCalls("read", raw.Read, read), out: newCalls("write", raw.Write, write)}
	p.now = newCalls("read", func(done func(uintptr) bool) error {
		ready := false
		if err := raw.Control(func(fd uintptr) { ready = done(fd) }); err != nil || ready {
			return err
		}
		return ErrNotReady
	}, read)
	return p, nil
}

func (p *Pipe) Read(b []byte) (int, error)  { return p.in.read(b) }
func (p *Pipe) Write(b []byte) (int, error) { return p.out.write(b) }

// ReadNow is Read for one who does not want to wait: if there is nothing, it returns
// [ErrNotReady].
func (p *Pipe) ReadNow(b []byte) (int, error) { return p.now.read(b) }

// calls are the system calls of one kind on one file, one at a time.
type calls struct {
	name  string
	until func(done func(fd uintptr) bool) error // waits for the file to be ready between two tries
	call  func(fd uintptr, p []byte) (int, syscall.Errno)
	try   func(fd uintptr) bool // made once, so that a call costs no memory

	// What a write that has to wait may take, unless it is 0. Hardly any has to, and so
	// the others do not pay for a deadline.
	limit       time.Duration
	setDeadline func(time.Time) error

	mu      sync.Mutex // held during a call, with what is below
	p       []byte
	n       int
	no      syscall.Errno
	limited bool // the deadline is set
}

func newCalls(name string, until func(func(uintptr) bool) error, call func(uintptr, []byte) (int, syscall.Errno)) *calls {
	c := &calls{name: name, until: until, call: call}
	c.try = func(fd uintptr) bool {
		for {
			c.n, c.no = c.call(fd, c.p)
			switch c.no {
			case syscall.EINTR:
			case syscall.EAGAIN:
				if c.limit > 0 && !c.limited {
					c.limited = true
					c.setDeadline(time.Now().Add(c.limit))
				}
				return false
			default:
				return true
			}
		}
	}
	return c
}

// once makes one call as soon as the file is ready for it.
func (c *calls) once(p []byte) (int, error) {
	c.p = p
	err := c.until(c.try)
	c.p = nil
	switch {
	case err != nil:
		return 0, err
	case c.no != 0:
		return 0, os.NewSyscallError(c.name, c.no)
	}
	return c.n, nil
}

func (c *calls) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.once(p)
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

func (c *calls) write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.forget()
	for written := 0; ; {
		n, err := c.once(p[written:])
		if n == 0 && err == nil && len(p) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// forget takes the deadline away that a write has set for itself.
func (c *calls) forget() {
	if c.limited {
		c.limited = false
		c.setDeadline(time.Time{})
	}
}
