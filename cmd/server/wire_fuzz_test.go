package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kiribashiri/internal/limits"
)

// A tape is a connection whose client has sent everything, says no more, and reads
// whatever comes.
type tape struct {
	sent   *bytes.Reader
	mu     sync.Mutex
	got    bytes.Buffer
	closed chan struct{}
	close  func()
}

func newTape(sent []byte) *tape {
	closed := make(chan struct{})
	return &tape{sent: bytes.NewReader(sent), closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

func (c *tape) Read(p []byte) (int, error) { return c.sent.Read(p) }

func (c *tape) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got.Write(p)
}

func (c *tape) Close() error {
	c.close()
	return nil
}

func (*tape) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (*tape) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 2} }
func (*tape) SetDeadline(time.Time) error      { return nil }
func (*tape) SetReadDeadline(time.Time) error  { return nil }
func (*tape) SetWriteDeadline(time.Time) error { return nil }

// Whatever comes over a connection: it ends, what goes back is a row of whole answers,
// those of the API are JSON, as many moves are played as are answered with 200, and
// the front has forgotten the connection.
func FuzzWire(f *testing.F) {
	const typed = "Host: x\r\nContent-Type: application/json\r\n"
	for _, seed := range []string{
		say("a") + say("b") + healthy,
		"POST /api/turn HTTP/1.1\r\n" + typed + "Transfer-Encoding: chunked\r\n\r\n1a;x=y\r\n" + `{"kind":"say","input":"a"}` + "\r\n0\r\nX: y\r\n\r\n" + healthy,
		"POST /api/turn HTTP/1.1\r\n" + typed + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + say("a"),
		"POST /api/turn HTTP/1.1\r\n" + typed + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
		"POST /api/turn HTTP/1.1\r\n" + typed + "Expect: 100-continue\r\nContent-Length: 26\r\n\r\n" + `{"kind":"say","input":"a"}`,
		"POST /nope HTTP/1.1\r\n" + typed + "Content-Length: 30\r\n\r\n" + say("a"),
		"OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\n\r\nHEAD / HTTP/1.1\r\nHost: [::1]\r\nRange: bytes=0-1\r\n\r\n",
		"GET http://a/api/../%2e%00?# HTTP/1.1\nHost: \xff\n\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\r\n\r\n\x00",
	} {
		f.Add([]byte(seed))
	}
	engine := new(recorder)
	lim := limits.Default()
	lim.PerIPPerSec, lim.PerIPBurst = 1e9, 1e9
	game := gameFor(f, lim, engine)
	f.Fuzz(func(t *testing.T, sent []byte) {
		conn := newTape(sent)
		engine.played()
		synctest.Test(t, func(t *testing.T) {
			front := newFront(game, 2, lim, quiet())
			l := newPipes()
			var serving sync.WaitGroup
			serving.Go(func() { front.serve(l) })
			l.calls <- conn
			<-conn.closed
			l.Close()
			serving.Wait()
			synctest.Wait()
			if len(front.conns) != 0 || front.awaited.Len() != 0 {
				t.Errorf("of %q the front remembers %d connections", sent, len(front.conns))
			}
		})
		played, answered := len(engine.played()), 0
		in := bufio.NewReader(&conn.got)
		for {
			if _, err := in.Peek(1); err == io.EOF {
				break
			}
			answer, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%q gets what is no answer: %v", sent, err)
			}
			body, err := io.ReadAll(answer.Body)
			if errors.Is(err, io.ErrUnexpectedEOF) && !bytes.Contains(sent, []byte("HEAD")) {
				t.Fatalf("%q gets a cut answer: %q", sent, body)
			}
			if err != nil {
				return // to HEAD: where it ends cannot be seen here
			}
			if strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") && !json.Valid(body) {
				t.Fatalf("%q gets %q", sent, body)
			}
			if answer.StatusCode == http.StatusOK && answer.Header.Get("RateLimit") != "" {
				answered++
			}
		}
		if played != answered {
			t.Errorf("%q: %d moves are played, %d answered", sent, played, answered)
		}
	})
}
