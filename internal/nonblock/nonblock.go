// Package nonblock reads and writes connections, pipes and the log in system calls
// that the scheduler is not told of, because they never block.
//
// Go tells its scheduler of every system call, in case it takes long. The first one
// after a rest wakes the thread that watches for those (the runtime's sysmon), which
// then looks every 20 µs until there is rest again. A server that plays one move rests
// twice in it, before the request and before the engine's reply, and would pay for
// the watcher as much as for the move. What is read and written here is ready
// at once or is waited for by the runtime's poller, so there is nothing to watch.
//
// It does so on Linux; elsewhere, and under the race detector, which learns from
// ordinary system calls what happens before what, these are ordinary system calls.
package nonblock

import (
	"errors"
	"net"
	"time"
)

// ErrNotReady says that there is nothing to read at the moment.
var ErrNotReady = errors.New("nonblock: not ready")

// Conn returns c with its reads and writes made in this package, if it is a socket. A
// write may take limit and no longer. Write deadlines are this package's: the caller
// sets none. Errors are those of the net package.
func Conn(c net.Conn, limit time.Duration) net.Conn {
	if own, ok := streamConn(c, limit); ok {
		return own
	}
	return &plainConn{c, limit}
}

type plainConn struct {
	net.Conn
	limit time.Duration
}

func (c *plainConn) Write(p []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(c.limit))
	return c.Conn.Write(p)
}

func (c *plainConn) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite says the end of what we write, after which net/http still reads for a
// while what it will not answer: to close at once would cut what has been written.
func closeWrite(c net.Conn) error {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}
