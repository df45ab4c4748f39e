package simbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

// A logBuffer collects a bridge's log.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// stage is a running bridge with a puppet behind it.
type stage struct {
	*Bridge
	t    *testing.T
	log  *logBuffer
	stop func() // ends Run and waits for it
}

// onStage runs a bridge whose engine starts as start says; change may shorten
// its limits.
func onStage(t *testing.T, start string, change func(*limits.Limits)) *stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return runBridge(t, []string{self}, start, change)
}

func runBridge(t *testing.T, command []string, start string, change func(*limits.Limits)) *stage {
	t.Helper()
	lim := limits.Default()
	lim.EngineGone = 30 * time.Second // a busy machine may need more than a second to start a process
	if change != nil {
		change(&lim)
	}
	log := new(logBuffer)
	b := New(Config{
		Command: command,
		Env:     append(os.Environ(), puppetVariable+"="+start, "GORACE=atexit_sleep_ms=0"),
		Limits:  lim,
		Log:     slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	s := &stage{Bridge: b, t: t, log: log}
	s.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("Run does not return")
		}
		if n := b.Status().Waiting; n != 0 {
			t.Errorf("%d slots are still taken at the end", n)
		}
		if t.Failed() {
			t.Log(log)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func say(input string) Move { return Move{Kind: "say", Input: &input} }

// played claims that a move is answered, and returns the reply's text.
func (s *stage) played(m Move) string {
	s.t.Helper()
	reply, err := s.Play(s.t.Context(), m)
	if err != nil {
		s.t.Fatalf("Play(%q): %v", *m.Input, err)
	}
	return text(s.t, reply)
}

// failed claims that a move ends with want.
func (s *stage) failed(m Move, want error) error {
	s.t.Helper()
	reply, err := s.Play(s.t.Context(), m)
	if !errors.Is(err, want) {
		s.t.Fatalf("Play(%q) = %s, %v; want %v", *m.Input, reply.Line, err, want)
	}
	return err
}

func text(t *testing.T, reply Reply) string {
	t.Helper()
	var body struct{ Text string }
	if err := json.Unmarshal(reply.Line, &body); err != nil {
		t.Fatalf("reply %q: %v", reply.Line, err)
	}
	return body.Text
}

// eventually claims that something becomes true within ten seconds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 10 s still not: %s", what)
		}
	}
}

// gone reports whether a process has ended (a zombie has).
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(state, []byte("Z"))
}

func shortReply(lim *limits.Limits) { lim.SimReply = 3 * time.Second }

func TestPlay(t *testing.T) {
	s := onStage(t, "", nil)
	if got := s.played(say("こんにちは")); got != "こんにちは" {
		t.Errorf("reply %q", got)
	}
	reply, err := s.Play(t.Context(), say("reject"))
	if err != nil || !reply.Rejected {
		t.Errorf("a rejected move: %+v, %v; want Rejected and no error", reply, err)
	}
	if want := `{"id":2,"ok":false,"error":"not here"}`; string(reply.Line) != want {
		t.Errorf("the engine's line became %s, want %s", reply.Line, want)
	}
	status := s.Status()
	if status.Engines != 1 || status.Up != 1 || status.Waiting != 0 || status.Starts["boot"] != 1 {
		t.Errorf("status %+v", status)
	}
}

func TestTheEngineGetsOneLine(t *testing.T) {
	s := onStage(t, "", nil)
	input := "echo-line \"\\\u2028霧\u007f"
	reply := s.played(Move{Kind: "say", Input: &input, State: []byte("{\r\n\t\"a\": \"\\n\",\n \"b\":[1,\n2]}")})
	want := `{"id":1,"kind":"say","input":"echo-line \"\\` + "\u2028霧\u007f" + `","state":{  ` + "\t" + `"a": "\n",  "b":[1, 2]}}` + "\n"
	if reply != want {
		t.Errorf("the engine got\n%q, want\n%q", reply, want)
	}
	if _, err := s.Play(t.Context(), Move{Kind: "new"}); err != nil {
		t.Errorf("a move of nothing but its kind: %v", err)
	}
}

func TestQueueIsExact(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", nil)
	s.played(say("warm"))
	const clients = 40
	var answered, refused int
	var mu sync.Mutex
	var wg sync.WaitGroup
	first := make(chan struct{})
	for i := range clients {
		wg.Go(func() {
			order := "sleep 50ms"
			if i > 0 {
				<-first
			} else {
				order = "sleep 1s"
			}
			began := time.Now()
			_, err := s.Play(t.Context(), say(order))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				answered++
			case errors.Is(err, ErrQueueFull):
				refused++
				if waited := time.Since(began); waited > time.Second {
					t.Errorf("refused after %v, want at once", waited)
				}
			default:
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	eventually(t, "the first move is being played", func() bool { return s.Status().Waiting == 1 })
	close(first)
	wg.Wait()
	if answered != 32 || refused != 8 {
		t.Errorf("%d answered and %d refused, want 32 and 8", answered, refused)
	}
}

func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", nil)
	pid := s.played(say("pid"))

	playing, leavePlaying := context.WithCancel(t.Context())
	waiting, leaveWaiting := context.WithCancelCause(t.Context())
	left := errors.New("closed the page")
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.Play(playing, say("sleep 600ms")); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left while playing got %v", err)
		}
	})
	eventually(t, "one move is being played", func() bool { return s.Status().Waiting == 1 })
	time.Sleep(50 * time.Millisecond)
	wg.Go(func() {
		if _, err := s.Play(waiting, say("crash")); !errors.Is(err, left) {
			t.Errorf("the one who left while waiting got %v, want the cause", err)
		}
	})
	eventually(t, "two moves are unanswered", func() bool { return s.Status().Waiting == 2 })
	leaveWaiting(left)
	eventually(t, "the waiting one's slot is free", func() bool { return s.Status().Waiting == 1 })
	leavePlaying()
	wg.Wait()
	if got := s.Status().Waiting; got != 1 {
		t.Errorf("%d slots taken while the engine still plays, want 1", got)
	}
	// The engine finished the one, never saw the other, and its next reply is right.
	if got := s.played(say("pid")); got != pid {
		t.Errorf("another engine (pid %s, before %s): one who left must not disturb it", got, pid)
	}
}

func TestRunStopsTheEngine(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"", "stop-reading"} {
		s := onStage(t, "", func(lim *limits.Limits) { lim.StopStep = 300 * time.Millisecond })
		pid, _ := strconv.Atoi(s.played(say("pid")))
		if order != "" {
			s.played(say(order))
		}
		s.stop()
		if !gone(pid) {
			t.Errorf("engine %d is left over", pid)
		}
		s.failed(say("late"), ErrEngineDown)
	}
}

func TestPoolPlaysSideBySide(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", func(lim *limits.Limits) { lim.SimEngines = 4 })
	eventually(t, "all are up", func() bool { return s.Status().Up == 4 })
	began := time.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { s.played(say("sleep 1s")) })
	}
	wg.Wait()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("four moves of a second took %v on four engines", took)
	}
}

// When Run ends, every move that it has taken is answered at once, also those that
// wait behind an engine that hangs.
func TestStopAnswersWhoWaits(t *testing.T) {
	s := onStage(t, "", nil)
	s.played(say("warm"))
	answers := make(chan error, 6)
	for range cap(answers) {
		go func() {
			_, err := s.Play(context.Background(), say("hang"))
			answers <- err
		}()
	}
	eventually(t, "all are taken", func() bool { return s.Status().Waiting == cap(answers) })
	go s.stop()
	for range cap(answers) {
		select {
		case err := <-answers:
			if !errors.Is(err, ErrEngineDown) {
				t.Errorf("Play = %v, want %v", err, ErrEngineDown)
			}
		case <-time.After(800 * time.Millisecond):
			t.Error("a move is not answered")
		}
	}
	s.stop()
}

// One engine's crash is no affair of the others'.
func TestPoolSurvivesACrash(t *testing.T) {
	s := onStage(t, "", func(lim *limits.Limits) { lim.SimEngines = 2 })
	eventually(t, "both are up", func() bool { return s.Status().Up == 2 })
	long := make(chan error, 1)
	go func() {
		_, err := s.Play(context.Background(), say("sleep 2s"))
		long <- err
	}()
	eventually(t, "one plays", func() bool { return s.Status().States["playing"] == 1 })
	for n := range 3 {
		s.failed(say(fmt.Sprint("crash ", n)), ErrEngineFailed)
		s.played(say("meanwhile"))
	}
	if err := <-long; err != nil {
		t.Errorf("the other engine's move: %v", err)
	}
}

// Nothing is left of fifty engines: no process, no file, no goroutine.
func TestNothingLeaks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts /proc/self/fd, which only Linux has")
	}
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	s := onStage(t, "", func(lim *limits.Limits) {
		lim.BackoffMin, lim.BackoffMax = time.Millisecond, 2*time.Millisecond
	})
	s.played(say("first"))
	before, goroutines := files(), runtime.NumGoroutine()
	for i := range 50 {
		s.failed(say(fmt.Sprintf("crash %d", i)), ErrEngineFailed)
		s.played(say("next"))
	}
	eventually(t, "as many files as before", func() bool { return files() <= before })
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// What a move costs the bridge in memory, beside the reply itself.
func TestAllocationsOfAMove(t *testing.T) {
	s := onStage(t, "", nil)
	m := say("look")
	s.played(m)
	got := testing.AllocsPerRun(500, func() {
		if _, err := s.Play(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.0f allocations", got)
	if got > 20 {
		t.Errorf("%.0f allocations, want at most 20", got)
	}
}
