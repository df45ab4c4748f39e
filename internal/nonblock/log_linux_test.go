//go:build linux && !race

package nonblock

import (
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// The scheduler does not know of these writes, so they must not wait, whoever has made
// the pipe one that does.
func TestWriteNow(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fd := w.Fd() // it blocks from now on
	read := make(chan struct{})
	go func() { // so that a write that waits comes to an end
		defer close(read)
		time.Sleep(2 * time.Second)
		io.Copy(io.Discard, r)
	}()
	written := 0
	for {
		n, no := writeNow(fd, make([]byte, 1000))
		if no == syscall.EAGAIN {
			break
		}
		if no != 0 {
			t.Fatal(no)
		}
		if written += n; written > 1<<20 {
			t.Fatal("it has taken more than a pipe holds")
		}
	}
	w.Close()
	<-read
}
