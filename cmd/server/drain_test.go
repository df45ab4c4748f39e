package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// No engine outlives the server, even if neither gets a chance.
func TestNoEngineOutlivesAKilledServer(t *testing.T) {
	s := start(t, withTestEngine())
	_, said := s.say("192.0.2.1", "")
	pid, err := strconv.Atoi(said)
	if err != nil {
		t.Fatal(said)
	}
	t.Cleanup(func() { // nothing is left spinning even if this fails
		if !gone(pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	go s.say("192.0.2.2", "spin") // reads no end of input
	eventually(t, "the engine spins", func() bool {
		a := s.get("/api/health")
		return strings.Contains(a.body, `"waiting":1`)
	})
	s.cmd.Process.Kill()
	<-s.ended
	eventually(t, "the engine is gone", func() bool { return gone(pid) })
}

func TestDrain(t *testing.T) {
	t.Parallel()
	s := start(t, withTestEngine())
	_, said := s.say("192.0.2.1", "")
	pid, _ := strconv.Atoi(said)
	playing := make(chan string, 2)
	for i := range 2 { // one is played, one waits
		go func() {
			status, said := s.say(fmt.Sprintf("192.0.2.1%d", i), "1500ms")
			playing <- fmt.Sprint(status, " ", said)
		}()
	}
	eventually(t, "both moves are taken", func() bool { return strings.Contains(s.get("/api/health").body, `"waiting":2`) })
	s.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the drain begins", func() bool { return strings.Contains(s.log.String(), "draining") })
	time.Sleep(100 * time.Millisecond)

	// The first phase: everything is answered, and the connection is to be closed.
	a := s.get("/api/health")
	if a.status != 200 || !strings.Contains(a.body, `"ok":true`) {
		t.Errorf("health while draining: %d %s %v, want 200", a.status, a.body, a.err)
	}
	fresh := &http.Client{Transport: &http.Transport{}}
	got, err := fresh.Post(s.url+"/api/new", "", nil)
	if err != nil {
		t.Fatalf("a move while draining: %v", err)
	}
	if got.Body.Close(); got.StatusCode != 200 || !got.Close {
		t.Errorf("a move while draining: %d, close %v; want 200 and a connection that closes", got.StatusCode, got.Close)
	}
	for range 2 {
		if got := <-playing; got != "200 "+said {
			t.Errorf("a move that was taken before: %s", got)
		}
	}
	s.exits(0)
	if !gone(pid) {
		t.Error("the engine is left over")
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		t.Error("the listener is still open")
	}
}

// Who waits longer than a drain may take is told so, and not cut off.
func TestDrainAnswersWhatItCannotWaitFor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes the drain's whole 12 s")
	}
	s := start(t, withTestEngine())
	done := make(chan string, 1)
	go func() {
		status, said := s.say("192.0.2.1", "60s")
		done <- fmt.Sprint(status, " ", said)
	}()
	eventually(t, "the move is taken", func() bool { return strings.Contains(s.get("/api/health").body, `"waiting":1`) })
	s.cmd.Process.Signal(os.Interrupt)
	if got := <-done; got != "503 engine_down" {
		t.Errorf("the long move: %s, want 503 engine_down", got)
	}
	s.exits(0)
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	s := start(t, withTestEngine())
	go s.say("192.0.2.1", "60s")
	eventually(t, "the move is taken", func() bool { return strings.Contains(s.get("/api/health").body, `"waiting":1`) })
	s.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the drain begins", func() bool { return strings.Contains(s.log.String(), "draining") })
	eventually(t, "it ends", func() bool { return s.cmd.Process.Signal(syscall.SIGTERM) != nil })
	s.exits(-1) // by the signal
}

// The operator has put a new engine in place: it plays, and no move fails.
func TestHangupReplacesTheEngine(t *testing.T) {
	s := start(t, withTestEngine(), "KIRI_PER_IP_PER_SEC=100000", "KIRI_PER_IP_BURST=100000")
	_, first := s.say("192.0.2.1", "")
	s.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, "another engine plays", func() bool {
		status, said := s.say("192.0.2.1", "10ms")
		if status != 200 {
			t.Fatalf("a move failed: %d %s", status, said)
		}
		return said != first
	})
	pid, _ := strconv.Atoi(first)
	eventually(t, "the old engine is gone", func() bool { return gone(pid) })
}
