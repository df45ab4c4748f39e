package nonblock

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// dial returns the two ends of a connection, ours first.
func dial(t testing.TB) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// A connection does what every net.Conn must, also if used by many at once.
func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		ours, theirs := dial(t)
		return Conn(ours, 0), Conn(theirs, 0), func() { ours.Close(); theirs.Close() }, nil
	})
}

// Errors are those of the net package, by which net/http tells what has happened.
func TestConnErrors(t *testing.T) {
	for _, row := range []struct {
		name string
		op   string
		do   func(t *testing.T, own, theirs net.Conn) error
		is   error
	}{
		{"read, out of time", "read", func(t *testing.T, own, _ net.Conn) error {
			own.SetReadDeadline(time.Now().Add(-time.Second))
			_, err := own.Read(make([]byte, 1))
			return err
		}, os.ErrDeadlineExceeded},
		{"read, closed", "read", func(t *testing.T, own, _ net.Conn) error {
			own.Close()
			_, err := own.Read(make([]byte, 1))
			return err
		}, net.ErrClosed},
		{"read, reset", "read", func(t *testing.T, own, theirs net.Conn) error {
			theirs.(*net.TCPConn).SetLinger(0)
			theirs.Close()
			_, err := own.Read(make([]byte, 1))
			return err
		}, syscall.ECONNRESET},
		{"write, closed", "write", func(t *testing.T, own, _ net.Conn) error {
			own.Close()
			_, err := own.Write([]byte("x"))
			return err
		}, net.ErrClosed},
		{"write, reset", "write", func(t *testing.T, own, theirs net.Conn) error {
			theirs.(*net.TCPConn).SetLinger(0)
			theirs.Close()
			own.Read(make([]byte, 1)) // the reset is there now
			_, err := own.Write([]byte("x"))
			return err
		}, syscall.EPIPE},
		{"write, not read", "write", func(t *testing.T, own, _ net.Conn) error {
			_, err := own.Write(make([]byte, 64<<20))
			return err
		}, os.ErrDeadlineExceeded},
	} {
		t.Run(row.name, func(t *testing.T) {
			ours, theirs := dial(t)
			err := row.do(t, Conn(ours, 100*time.Millisecond), theirs)
			var op *net.OpError
			if !errors.As(err, &op) || op.Op != row.op || op.Net != "tcp" || op.Addr == nil {
				t.Errorf("%#v, want a net.OpError of %q", err, row.op)
			}
			if !errors.Is(err, row.is) {
				t.Errorf("%v, want %v", err, row.is)
			}
		})
	}
}

// A write that has waited leaves nothing behind that would end a later one.
func TestWriteLimitIsOfOneWrite(t *testing.T) {
	const limit = 2 * time.Second
	ours, theirs := dial(t)
	own := Conn(ours, limit)
	sent := make(chan error, 1)
	big := make([]byte, 16<<20) // more than the kernel takes
	go func() {
		_, err := own.Write(big)
		sent <- err
	}()
	if _, err := io.ReadFull(theirs, make([]byte, len(big))); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	time.Sleep(limit + 100*time.Millisecond)
	if _, err := own.Write([]byte("x")); err != nil {
		t.Errorf("a write after the limit of the one before: %v", err)
	}
}

// net/http ends an answer to a request that it does not read to its end in two steps,
// which it takes only with a connection that can do the first alone.
func TestCloseWrite(t *testing.T) {
	for _, row := range []struct {
		name string
		wrap func(net.Conn) net.Conn
	}{
		{"a socket", func(c net.Conn) net.Conn { return Conn(c, time.Second) }},
		{"any other", func(c net.Conn) net.Conn { return &plainConn{c, time.Second} }},
	} {
		t.Run(row.name, func(t *testing.T) {
			ours, theirs := dial(t)
			own := row.wrap(ours)
			half, ok := own.(interface{ CloseWrite() error })
			if !ok {
				t.Fatal("it cannot")
			}
			if err := half.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if n, err := theirs.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("they read %d, %v; want the end", n, err)
			}
			theirs.Write([]byte("x"))
			if _, err := own.Read(make([]byte, 1)); err != nil {
				t.Errorf("what they still write: %v", err)
			}
		})
	}
}

// What is no socket waits no longer either.
func TestPlainConn(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	if _, err := Conn(ours, 10*time.Millisecond).Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want the deadline exceeded", err)
	}
}

func newPipe(t *testing.T) (r, w *Pipe) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); out.Close() })
	if r, err = NewPipe(in); err != nil {
		t.Fatal(err)
	}
	if w, err = NewPipe(out); err != nil {
		t.Fatal(err)
	}
	return r, w
}

func TestPipe(t *testing.T) {
	r, w := newPipe(t)
	want := make([]byte, 1<<20) // more than it holds
	rand.Read(want)
	sent := make(chan error, 1)
	go func() {
		n, err := w.Write(want)
		if err == nil && n != len(want) {
			err = io.ErrShortWrite
		}
		w.Close()
		sent <- err
	}()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v; want the %d that were written", len(got), err, len(want))
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestPipeDeadlines(t *testing.T) {
	r, w := newPipe(t)
	r.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v; want the deadline exceeded", n, err)
	}
	w.SetWriteDeadline(time.Now().Add(2 * time.Second)) // enough to begin, on any machine
	n, err := w.Write(make([]byte, 1<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n == 1<<20 {
		t.Errorf("wrote %d, %v; want a part and the deadline exceeded", n, err)
	}
	r.SetReadDeadline(time.Time{})
	if got, err := io.ReadFull(r, make([]byte, n)); err != nil {
		t.Errorf("%d of %d bytes that were said to be written: %v", got, n, err)
	}
	if n, err := r.ReadNow(make([]byte, 1)); n != 0 || !errors.Is(err, ErrNotReady) {
		t.Errorf("%d bytes more, %v", n, err)
	}
}

func TestReadNow(t *testing.T) {
	r, w := newPipe(t)
	room := make([]byte, 10)
	if n, err := r.ReadNow(room); n != 0 || !errors.Is(err, ErrNotReady) {
		t.Errorf("of nothing: %d, %v", n, err)
	}
	w.Write([]byte("霧"))
	if n, err := r.ReadNow(room); string(room[:n]) != "霧" || err != nil {
		t.Errorf("%q, %v", room[:n], err)
	}
	w.Close()
	if n, err := r.ReadNow(room); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	r.Close()
	if _, err := r.ReadNow(room); err == nil || errors.Is(err, ErrNotReady) {
		t.Errorf("closed: %v", err)
	}
}

func TestPipeNobodyReads(t *testing.T) {
	r, w := newPipe(t)
	r.Close()
	if _, err := w.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v, want a broken pipe", err)
	}
}

// Whatever the log goes to, each line arrives whole, in order, also if nobody reads for
// a while: then it waits.
func TestLog(t *testing.T) {
	line := append(bytes.Repeat([]byte("x"), 9999), '\n') // more than a pipe takes whole or not at all
	const lines = 100                                     // more than it holds
	for _, row := range []struct {
		name string
		open func(t *testing.T) (w *os.File, read func() ([]byte, error))
	}{
		{"a file", func(t *testing.T) (*os.File, func() ([]byte, error)) {
			f, err := os.CreateTemp(t.TempDir(), "log")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f, func() ([]byte, error) { return nil, nil }
		}},
		{"a pipe", func(t *testing.T) (*os.File, func() ([]byte, error)) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			w.Fd() // as one that was inherited: it blocks
			return w, func() ([]byte, error) { return io.ReadAll(r) }
		}},
		{"a socket", func(t *testing.T) (*os.File, func() ([]byte, error)) {
			fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			r := os.NewFile(uintptr(fds[0]), "r")
			return os.NewFile(uintptr(fds[1]), "w"), func() ([]byte, error) { return io.ReadAll(r) }
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, read := row.open(t)
			written := make(chan error, 1)
			go func() {
				defer f.Close()
				w := Log(f)
				for range lines {
					if n, err := w.Write(line); err != nil || n != len(line) {
						written <- errors.Join(err, io.ErrShortWrite)
						return
					}
				}
				written <- nil
			}()
			time.Sleep(50 * time.Millisecond) // it is full by now
			got, err := read()
			if err != nil {
				t.Fatal(err)
			}
			if err := <-written; err != nil {
				t.Fatal(err)
			}
			if row.name == "a file" {
				if got, err = os.ReadFile(f.Name()); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, bytes.Repeat(line, lines)) {
				t.Errorf("%d bytes, want %d lines of %d", len(got), lines, len(line))
			}
		})
	}
}

// What a rest costs: a line goes to another process and comes back, and nothing else is
// to be done meanwhile. Beside it the same through the standard library.
func BenchmarkRest(b *testing.B) {
	for _, row := range []struct {
		name string
		wrap func(*os.File) (io.ReadWriter, error)
	}{
		{"nonblock", func(f *os.File) (io.ReadWriter, error) { return NewPipe(f) }},
		{"os", func(f *os.File) (io.ReadWriter, error) { return f, nil }},
	} {
		b.Run(row.name, func(b *testing.B) {
			cmd := exec.Command("cat")
			theirIn, ourIn, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			ourOut, theirOut, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			cmd.Stdin, cmd.Stdout = theirIn, theirOut
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			theirIn.Close()
			theirOut.Close()
			defer cmd.Wait()
			defer ourIn.Close()
			in, err := row.wrap(ourIn)
			if err != nil {
				b.Fatal(err)
			}
			out, err := row.wrap(ourOut)
			if err != nil {
				b.Fatal(err)
			}
			line := make([]byte, 200)
			var before, after syscall.Rusage
			syscall.Getrusage(syscall.RUSAGE_SELF, &before)
			for b.Loop() {
				if _, err := in.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(out, line); err != nil {
					b.Fatal(err)
				}
			}
			syscall.Getrusage(syscall.RUSAGE_SELF, &after)
			used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
			b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
		})
	}
}
