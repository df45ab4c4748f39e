package main

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kiribashiri/internal/limits"
)

// A pipes is a listener without a network, so that its connections can live in a
// bubble, where time passes as the test says.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() pipes {
	closed := make(chan struct{})
	return pipes{make(chan net.Conn), closed, sync.OnceFunc(func() { close(closed) })}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.calls:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	p.close()
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p pipes) call() net.Conn {
	ours, theirs := net.Pipe()
	p.calls <- theirs
	return ours
}

// How long the server waits for each kind of slowness, to the second, with the
// limits as they are by default.
func TestPatience(t *testing.T) {
	lim := limits.Default()
	const header = "POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	drip := func(text string, pause time.Duration) func(net.Conn) {
		return func(conn net.Conn) {
			for {
				if _, err := io.WriteString(conn, text); err != nil {
					return
				}
				time.Sleep(pause)
			}
		}
	}
	nothing := func(net.Conn) {}
	more := drip("x", 0)
	for _, row := range []struct {
		name  string
		sends string
		then  func(net.Conn)
		reads bool
		ends  time.Duration // after the connection has begun
		says  string
	}{
		{"nothing is sent", "", nothing, true, lim.HeaderTime, ""},
		{"half a header", header, nothing, true, lim.HeaderTime, ""},
		{"a header byte by byte", "GET / HTTP/1.1\r\nX: ", drip("x", 100*time.Millisecond), true, lim.HeaderTime, ""},
		{"headers without end", "GET / HTTP/1.1\r\n", drip("X: x\r\n", 100*time.Millisecond), true, lim.HeaderTime, ""},
		{"half a body", header + "Content-Length: 100\r\n\r\n{", nothing, true, lim.RequestTime, "400 Bad Request"},
		{"a body byte by byte", header + "Content-Length: 60000\r\n\r\n{", drip(" ", 100*time.Millisecond), true, lim.RequestTime, "400 Bad Request"},
		{"chunks byte by byte", header + "Transfer-Encoding: chunked\r\n\r\n", drip("1\r\n \r\n", 100*time.Millisecond), true, lim.RequestTime, "400 Bad Request"},
		{"a body that nobody wants, byte by byte", "POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", drip(" ", 100*time.Millisecond), true, lim.RequestTime, "404 Not Found"},
		{"a body that is waited for with 100-continue", header + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n", nothing, true, lim.RequestTime, "100 Continue"},
		{"an expectation that is refused", header + "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n", nothing, true, lim.RequestTime, "413 Request Entity Too Large"},
		{"nothing after an answer", "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n", nothing, true, lim.IdleTime, "200 OK"},
		{"half a header after an answer", "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\nGET / ", nothing, true, lim.HeaderTime, "200 OK"},
		{"an answer that is not read", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", more, false, lim.WriteTime, ""},
		{"an error of net/http's that is not read", "GET / HTTP/9\r\n\r\n", more, false, lim.WriteTime, ""},
		{"a refused expectation that is not read", "GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n", more, false, lim.WriteTime, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newPipes()
				openFront(t, l, lim, new(recorder))
				began := time.Now()
				conn := l.call()
				var sending sync.WaitGroup
				sending.Go(func() {
					io.WriteString(conn, row.sends)
					row.then(conn)
				})
				var said strings.Builder
				if row.reads {
					io.Copy(&said, conn)
				} else {
					sending.Wait()
				}
				if !strings.Contains(said.String(), row.says) {
					t.Errorf("it says %q, want %q", said.String(), row.says)
				}
				// A second more for lingering behind an answer, so that it arrives.
				if took := time.Since(began); took < row.ends || took > row.ends+time.Second {
					t.Errorf("it ends after %v, want %v", took, row.ends)
				}
				sending.Wait()
			})
		})
	}
}
