package main

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kiribashiri/internal/limits"
)

// A caller is a connection to a front with little room, in a bubble.
type caller struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (c caller) sends(text string) caller {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatalf("%q cannot be sent: %v", text, err)
	}
	synctest.Wait()
	return c
}

func (c caller) gets(status int) {
	c.t.Helper()
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != status {
		c.t.Errorf("status %d, want %d", answer.StatusCode, status)
	}
	synctest.Wait()
}

// isGone claims that the connection has been closed, or that it has not.
func (c caller) isGone(want bool) {
	c.t.Helper()
	c.SetReadDeadline(time.Now())
	_, err := c.in.Peek(1)
	c.SetReadDeadline(time.Time{})
	if got := err == io.EOF; got != want {
		c.t.Errorf("closed: %v, want %v", got, want)
	}
}

const (
	aMove   = "POST /api/new HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
	healthy = "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"
)

// Who has to go when one comes who is too many, in a front for two, whose engine
// takes 1.5 s a move.
func TestRoomForTheNext(t *testing.T) {
	for _, row := range []struct {
		name string
		acts func(t *testing.T, f *front, l pipes, call func() caller)
	}{
		{"the one that came first", func(t *testing.T, f *front, l pipes, call func() caller) {
			a, b, c := call(), call(), call()
			a.isGone(true)
			b.isGone(false)
			c.sends(healthy).gets(200)
		}},
		{"not the one that has just been answered", func(t *testing.T, f *front, l pipes, call func() caller) {
			a, b := call(), call()
			a.sends(healthy).gets(200)
			call()
			a.isGone(false)
			b.isGone(true)
		}},
		{"a header that does not end", func(t *testing.T, f *front, l pipes, call func() caller) {
			a := call().sends("POST /api/new HT")
			b := call()
			a.sends("TP/1.1\r\nX: y")
			call()
			a.isGone(true)
			b.isGone(false)
		}},
		{"a body that does not end", func(t *testing.T, f *front, l pipes, call func() caller) {
			a := call().sends("POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
			b := call()
			a.sends(" ")
			call()
			a.isGone(true)
			b.isGone(false)
		}},
		{"an answer that is not read", func(t *testing.T, f *front, l pipes, call func() caller) {
			a := call().sends(healthy)
			b := call()
			call()
			a.isGone(true)
			b.isGone(false)
		}},
		{"not the one whose move is played", func(t *testing.T, f *front, l pipes, call func() caller) {
			a := call().sends(aMove)
			b := call()
			c := call()
			b.isGone(true)
			d := call()
			c.isGone(true)
			d.isGone(false)
			a.gets(200)
		}},
		{"not the one whose move, which has come with a body, is played", func(t *testing.T, f *front, l pipes, call func() caller) {
			a := call().sends(say("a"))
			b := call()
			call()
			b.isGone(true)
			call()
			a.gets(200)
		}},
		{"not the one whose header has come since", func(t *testing.T, f *front, l pipes, call func() caller) {
			a := call()
			b := call()
			a.sends(say("a")[:100])
			call()
			a.isGone(false)
			b.isGone(true)
		}},
		{"nobody, while both have moves played: the next one waits until an answer has been read", func(t *testing.T, f *front, l pipes, call func() caller) {
			began := time.Now()
			a := call().sends(aMove)
			time.Sleep(time.Second)
			b := call().sends(aMove)
			c := call()
			go io.WriteString(c, healthy)
			time.Sleep(time.Second) // half a second after the first move was played
			a.gets(200)
			c.gets(200)
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("it is answered after %v, want 2s", took)
			}
			b.gets(200)
			a.isGone(true)
		}},
		{"nobody, while it drains", func(t *testing.T, f *front, l pipes, call func() caller) {
			a := call().sends(aMove)
			b := call().sends(aMove)
			c := call()
			drained := make(chan struct{})
			go func() {
				f.drain(l)
				close(drained)
			}()
			go io.WriteString(c, healthy)
			c.gets(200)
			a.gets(200)
			b.gets(200)
			<-drained
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := limits.Default()
				lim.Conns = 2
				l := newPipes()
				f := openFront(t, l, lim, slowPlayer(1500*time.Millisecond))
				row.acts(t, f, l, func() caller {
					conn := l.call()
					t.Cleanup(func() { conn.Close() })
					synctest.Wait()
					return caller{t, conn, bufio.NewReader(conn)}
				})
			})
		})
	}
}

// A refusal goes out at once, although most of the body, or all of it, is yet to come.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	for _, row := range []struct {
		name   string
		fields string
	}{
		{"a large body", "Content-Length: 1000000\r\n"},
		{"a large one that waits to be asked for", "Expect: 100-continue\r\nContent-Length: 1000000\r\n"},
		{"a small one that waits to be asked for", "Expect: 100-continue\r\nContent-Length: 10\r\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFront(http.NotFoundHandler(), 1, limits.Default(), quiet())
				l := newPipes()
				var serving sync.WaitGroup
				serving.Go(func() { f.serve(l) })
				conn := l.call()
				began := time.Now()
				c := caller{t, conn, bufio.NewReader(conn)}
				c.sends("POST /nope HTTP/1.1\r\nHost: x\r\n" + row.fields + "\r\n").gets(http.StatusNotFound)
				if took := time.Since(began); took > 0 {
					t.Errorf("it came after %v", took)
				}
				conn.Close()
				time.Sleep(time.Second) // it lingers behind an answer
				f.server.Close()
				serving.Wait()
			})
		})
	}
}

// A process that may open few files takes fewer connections, and says so.
func TestFewFiles(t *testing.T) {
	lim := limits.Default()
	most := lim.Conns + lim.Queue
	needed := uint64(most + lim.AdminConns + lim.EngineFiles + lim.OtherFiles)
	for _, row := range []struct {
		name  string
		files uint64
		want  int
	}{
		{"nobody knows", 0, most},
		{"no limit", 1<<64 - 1, most},
		{"just enough", needed, most},
		{"one too few", needed - 1, most - 1},
		{"what a login shell has", 1024, 1024 - 112},
		{"far too few", 10, 1},
	} {
		var log strings.Builder
		if got := connections(lim, row.files, slog.New(slog.NewTextHandler(&log, nil))); got != row.want {
			t.Errorf("%s: %d connections, want %d", row.name, got, row.want)
		}
		if warned := strings.Contains(log.String(), "few files"); warned != (row.want < most) {
			t.Errorf("%s: the log says %q", row.name, log.String())
		}
	}
}

// The kernel keeps little of an answer that nobody reads.
func TestUnreadAnswerIsNotKept(t *testing.T) {
	const room = 1 << 20
	lim := limits.Default()
	lim.WriteTime = 2 * time.Second
	written := make(chan int, 1)
	f := newFront(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, err := 0, error(nil)
		for piece := make([]byte, 4<<10); err == nil && n < 16*room; n += len(piece) {
			_, err = w.Write(piece)
		}
		written <- n
	}), 2, lim, quiet())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { f.serve(l) })
	t.Cleanup(func() {
		f.server.Close()
		serving.Wait()
	})
	conn := dial(t, l.Addr().String())
	conn.Conn.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(conn, healthy)
	if n := <-written; n > room {
		t.Errorf("%d bytes of an answer that nobody reads were taken, want at most %d", n, room)
	}
}
