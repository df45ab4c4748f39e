//go:build !unix

package nonblock

import (
	"net"
	"os"
	"time"
)

func streamConn(net.Conn, time.Duration) (net.Conn, bool) { return nil, false }

// A Pipe is one end of a pipe.
type Pipe struct{ *os.File }

// NewPipe takes over f, an end of an [os.Pipe].
func NewPipe(f *os.File) (*Pipe, error) { return &Pipe{f}, nil }

// ReadNow returns [ErrNotReady]: here a pipe cannot be asked.
func (*Pipe) ReadNow([]byte) (int, error) { return 0, ErrNotReady }
