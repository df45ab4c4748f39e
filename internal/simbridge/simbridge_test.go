package simbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// What one broken move costs: itself, and nothing else.
func TestOneBrokenMoveFailsAlone(t *testing.T) {
	for _, row := range []struct {
		order string
		want  error
		cause string
	}{
		{"hang", ErrEngineTimeout, "timeout"},
		{"sleep 4s", ErrEngineTimeout, "timeout"}, // late: its reply has nowhere to go
		{"crash", ErrEngineFailed, "exit"},
		{"crash-in-reply", ErrEngineFailed, "exit"},
		{"crash-before-newline", ErrEngineFailed, "exit"},
		{"close-stdout", ErrEngineFailed, "exit"},
		{"print loading…", ErrEngineFailed, "protocol"},
		{"print ", ErrEngineFailed, "protocol"}, // a blank line
		{"print null", ErrEngineFailed, "protocol"},
		{"print [1]", ErrEngineFailed, "protocol"},
		{`print {"id":1,"ok":true} {}`, ErrEngineFailed, "protocol"},
		{`print {"id":999,"ok":true}`, ErrEngineFailed, "protocol"},
		{`print {"ok":true}`, ErrEngineFailed, "protocol"}, // it has echoed ids before
		{`print {"id":1,"ok":1}`, ErrEngineFailed, "protocol"},
		{`print {"id":"1","ok":true}`, ErrEngineFailed, "protocol"},
		{`print {"id":1,"id":1}`, ErrEngineFailed, "protocol"},
		{"print {\"id\":1,\"text\":\"\\ud800\"}", ErrEngineFailed, "protocol"},
		{"invalid-utf8", ErrEngineFailed, "protocol"},
		{"endless", ErrEngineFailed, "protocol"},
		{"exactly 1048577", ErrEngineFailed, "protocol"}, // a byte more than a reply may have
	} {
		t.Run(row.order, func(t *testing.T) {
			t.Parallel()
			s := onStage(t, "", shortReply)
			s.failed(say(row.order), row.want)
			if got := s.played(say("next")); got != "next" {
				t.Errorf("the next move got %q", got)
			}
			if got := s.Status().Starts[row.cause]; got != 1 {
				t.Errorf("starts %v, want one because of %s", s.Status().Starts, row.cause)
			}
		})
	}
}

func TestGoodRepliesOfEveryShape(t *testing.T) {
	s := onStage(t, "", nil)
	for i, line := range []string{
		`{"id":%d}`,
		`{"ok":true,"id":%d}`,
		` { "id" : %d , "text" : "広い 空" } `,
		`{"id":%d,"state":{"a":1,"a":2}}`, // doubled below the top is the engine's affair
		"{\"id\":%d,\"text\":\"a\u2028b\"}",
		`{"id":%d,"text":"\u0000\n"}` + "\r",
		`{"id":%d,"n":` + strings.Repeat("9", 60_000) + `}`,
	} {
		line := fmt.Sprintf(line, i+1)
		reply, err := s.Play(t.Context(), say("print "+line))
		if err != nil {
			t.Fatalf("%s: %v", clip(line, 80), err)
		}
		if got := string(reply.Line); got != strings.TrimSuffix(line, "\r") {
			t.Errorf("the line came as %q, want %q", clip(got, 80), clip(line, 80))
		}
	}
}

func TestLongAndSplitReplies(t *testing.T) {
	s := onStage(t, "", nil)
	for _, length := range []int{64 << 10, 64<<10 + 1, 1 << 20} {
		reply, err := s.Play(t.Context(), say(fmt.Sprintf("exactly %d", length)))
		if err != nil || len(reply.Line) != length {
			t.Errorf("a reply of %d bytes came as %d, %v", length, len(reply.Line), err)
		}
	}
	if got := s.played(say("split")); got != "霧" {
		t.Errorf("a character that came in two parts became %q", got)
	}
}

// A second line to one move must not reach the player of the next.
func TestTwoReplies(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"", "no ids"} {
		t.Run("start "+start, func(t *testing.T) {
			s := onStage(t, start, nil)
			if got := s.played(say(`also {"ok":true,"text":"stray"}`)); got == "stray" {
				t.Fatal("the second line came first")
			}
			time.Sleep(500 * time.Millisecond) // it comes while nobody asks
			if got := s.played(say("next")); got != "next" {
				t.Errorf("the next player got %q", got)
			}
			if got := s.Status().Starts["protocol"]; got != 1 {
				t.Errorf("%d engines replaced, want 1", got)
			}
		})
	}
}

// The same while others wait: "both" is one write of two lines.
func TestTwoRepliesWhileOthersWait(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"", "no ids"} {
		t.Run("start "+start, func(t *testing.T) {
			s := onStage(t, start, func(lim *limits.Limits) { lim.BackoffMax = lim.BackoffMin })
			var clients sync.WaitGroup
			for client := range 8 {
				clients.Go(func() {
					for n := range 12 {
						mark := fmt.Sprintf("%d-%d", client, n)
						order := mark
						if n%4 == 3 {
							order = "both " + mark
						}
						reply, err := s.Play(t.Context(), say(order))
						if errors.Is(err, ErrEngineFailed) {
							continue
						}
						if err != nil {
							t.Errorf("%s: %v", mark, err)
						} else if got := text(t, reply); !strings.HasSuffix(got, mark) {
							t.Errorf("%s got the reply of %q", mark, got)
						}
					}
				})
			}
			clients.Wait()
		})
	}
}

// An engine that echoes no ids and prints a line of JSON before its answers would be
// one reply behind for ever; it must not come up.
func TestBannerInJSON(t *testing.T) {
	for _, start := range []string{"json banner, no ids", "json banner"} {
		t.Run(start, func(t *testing.T) {
			s := onStage(t, start, func(lim *limits.Limits) { lim.EngineGone = time.Second })
			s.failed(say("move"), ErrEngineDown)
			if s.Status().Up != 0 {
				t.Error("it is up")
			}
		})
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

func TestStarts(t *testing.T) {
	for _, row := range []struct {
		start  string
		echoes bool
	}{{"", true}, {"no ids", false}, {"banner", true}, {"greeting", true}} {
		t.Run("start "+row.start, func(t *testing.T) {
			s := onStage(t, row.start, nil)
			for range 3 {
				s.played(say("move"))
			}
			if want := fmt.Sprintf("echoes_ids=%v", row.echoes); !strings.Contains(s.log.String(), want) {
				t.Errorf("the log does not say %s:\n%s", want, s.log)
			}
			if row.start == "banner" && !strings.Contains(s.log.String(), "version 7") {
				t.Error("the banner is not in the log")
			}
		})
	}
}

func TestBadStarts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ start, says string }{
		{"exits", "no data file"},
		{"silent", "did not answer in time"},
		{"chatter", "more than 100 lines"},
	} {
		t.Run(row.start, func(t *testing.T) {
			s := onStage(t, row.start, func(lim *limits.Limits) {
				lim.SimReply, lim.EngineGone = 3*time.Second, time.Second
			})
			began := time.Now()
			s.failed(say("move"), ErrEngineDown)
			if waited := time.Since(began); waited > 5*time.Second {
				t.Errorf("refused after %v, want about a second at most", waited)
			}
			eventually(t, "the log says why", func() bool { return strings.Contains(s.log.String(), row.says) })
			began = time.Now()
			s.failed(say("move"), ErrEngineDown)
			if waited := time.Since(began); waited > 500*time.Millisecond {
				t.Errorf("while no engine is to be expected, refused after %v, want at once", waited)
			}
			if got := s.Status().Up; got != 0 {
				t.Errorf("%d engines up, want 0", got)
			}
		})
	}
}

// A crash loop costs a few starts in the first seconds.
func TestCrashLoopBacksOff(t *testing.T) {
	t.Parallel()
	s := onStage(t, "exits", nil)
	time.Sleep(3 * time.Second)
	starts := uint64(0)
	for _, n := range s.Status().Starts {
		starts += n
	}
	if starts < 3 || starts > 25 {
		t.Errorf("%d starts in three seconds, want a few", starts)
	}
	if said := strings.Count(s.log.String(), "level=WARN"); said != 1 {
		t.Errorf("the log warns %d times, want once", said)
	}
}

func TestProgramThatCannotBeExecuted(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, row := range []struct {
		name, path string
		want       error
	}{
		{"missing", filepath.Join(folder, "nothing"), os.ErrNotExist},
		{"not executable", write("plain", "#!/bin/sh\n", 0o644), os.ErrPermission},
		{"not a program", write("text", "hello", 0o755), syscall.ENOEXEC},
		{"a folder", folder, os.ErrPermission},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := New(Config{Command: []string{row.path}, Limits: limits.Default(), Log: slog.New(slog.DiscardHandler)})
			if err := b.Run(t.Context()); !errors.Is(err, row.want) {
				t.Errorf("Run = %v, want %v", err, row.want)
			}
		})
	}
}

// The program is gone later, when the engine has to be started anew: that is no
// reason to give up.
func TestProgramThatGoesAway(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "engine")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	s := runBridge(t, []string{path}, "", nil)
	s.played(say("move"))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.failed(say("crash"), ErrEngineFailed)
	s.failed(say("move"), ErrEngineDown)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an engine is up again", func() bool { return s.Status().Up == 1 })
	s.played(say("move"))
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

func TestPoisonMove(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", nil)
	for range 2 {
		s.failed(say("crash"), ErrEngineFailed)
		s.played(say("between"))
	}
	s.failed(say("crash"), ErrPoisonMove)
	s.failed(say("crash again"), ErrEngineFailed) // another move is no poison yet
	s.played(say("after"))
}

// A move that waited while it became poison is not played either: one that ends
// engines, sent by many at once, ends two of them.
func TestPoisonMoveThatWaits(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", func(lim *limits.Limits) { lim.SimReply = 3 * time.Second })
	s.played(say("warm"))
	var failed, poison atomic.Int32
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			switch _, err := s.Play(t.Context(), say("hang")); {
			case errors.Is(err, ErrEngineTimeout):
				failed.Add(1)
			case errors.Is(err, ErrPoisonMove):
				poison.Add(1)
			default:
				t.Errorf("Play = %v", err)
			}
		})
	}
	clients.Wait()
	if failed.Load() != 2 || poison.Load() != 6 {
		t.Errorf("%d played and %d refused, want 2 and 6", failed.Load(), poison.Load())
	}
}

// Who ends the engine after his reply is held to account, and not who comes next;
// the next one's move is played all the same.
func TestCrashAfterTheReply(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what of a pipe has not been read")
	}
	s := onStage(t, "", nil)
	for _, order := range []string{"crash-after", "crash-soon"} {
		for range 2 {
			s.played(say(order))
			for range 3 {
				s.played(say("innocent"))
			}
		}
		s.failed(say(order), ErrPoisonMove)
		s.played(say("innocent"))
	}
}

// Accidents make no poison: a move that engines survive is innocent.
func TestSurvivedMoveIsInnocent(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", nil)
	for range 4 {
		pid, _ := strconv.Atoi(s.played(say("pid")))
		playing := make(chan error, 1)
		go func() {
			_, err := s.Play(context.Background(), say("sleep 300ms"))
			playing <- err
		}()
		eventually(t, "it is being played", func() bool { return s.Status().States["playing"] == 1 })
		time.Sleep(50 * time.Millisecond)
		syscall.Kill(pid, syscall.SIGKILL)
		if err := <-playing; !errors.Is(err, ErrEngineFailed) {
			t.Fatalf("the move that was being played: %v", err)
		}
		s.played(say("sleep 300ms"))
		s.played(say("another"))
	}
}

func TestEngineKilledInMidMove(t *testing.T) {
	s := onStage(t, "", nil)
	pid, _ := strconv.Atoi(s.played(say("pid")))
	time.AfterFunc(200*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGKILL) })
	s.failed(say("sleep 10s"), ErrEngineFailed)
	began := time.Now()
	s.played(say("next"))
	t.Logf("the next move was answered %v after the failure", time.Since(began))
	if !strings.Contains(s.log.String(), "signal: killed") {
		t.Error("the log does not say how the engine ended")
	}
}

func TestEngineThatExitsWhileIdle(t *testing.T) {
	s := onStage(t, "", nil)
	pid, _ := strconv.Atoi(s.played(say("pid")))
	syscall.Kill(pid, syscall.SIGKILL)
	eventually(t, "it is replaced without a move", func() bool {
		status := s.Status()
		return status.Starts["exit"] == 1 && status.Up == 1
	})
	s.played(say("next"))
}

// A terminal's Ctrl-C goes to our process group, and the engine is in another.
func TestEngineIsInAGroupOfItsOwn(t *testing.T) {
	s := onStage(t, "", nil)
	if got := s.played(say("group")); got != "true" {
		t.Errorf("the engine leads its process group: %s", got)
	}
}

func TestEngineIsSacrificedFirst(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("oom_score_adj is Linux's")
	}
	s := onStage(t, "", nil)
	if got := s.played(say("oom")); got != "1000<nil>" {
		t.Errorf("the engine's oom_score_adj is %s, want 1000", got)
	}
}

// The kernel kills an engine when the thread that started it ends; that thread
// must not be one that other goroutines come and go on.
func TestEngineOutlivesThreads(t *testing.T) {
	s := onStage(t, "", nil)
	pid := s.played(say("pid"))
	var threads sync.WaitGroup
	for range 200 {
		threads.Go(func() {
			runtime.LockOSThread() // and never unlocks: the thread ends with the goroutine
			time.Sleep(time.Millisecond)
		})
	}
	threads.Wait()
	runtime.GC()
	if got := s.played(say("pid")); got != pid {
		t.Errorf("engine %s was followed by %s", pid, got)
	}
}

func TestEngineIsRecycled(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", func(lim *limits.Limits) { lim.EngineMoves = 10 })
	engines := map[string]bool{}
	for range 100 {
		engines[s.played(say("pid"))] = true
		time.Sleep(5 * time.Millisecond)
	}
	if len(engines) < 2 || s.Status().Starts[causeRecycle] < 1 {
		t.Errorf("%d engines played a hundred moves, starts %v", len(engines), s.Status().Starts)
	}
}

func TestEngineThatStopsReading(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", shortReply)
	s.played(say("stop-reading"))
	input := strings.Repeat("long ", 60_000) // more than a pipe holds
	s.failed(say(input), ErrEngineTimeout)
	s.played(say("next"))
}

func TestIdleEngineIsAsked(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", func(lim *limits.Limits) {
		lim.IdlePing, lim.IdlePong = 100*time.Millisecond, 3*time.Second
	})
	s.played(say("stop-reading")) // answers this, and then nothing any more
	eventually(t, "it is replaced before a player meets it", func() bool {
		return s.Status().Starts["timeout"] == 1 && s.Status().Up == 1
	})
	s.played(say("next"))
}

func TestStderrFloodDoesNotHoldTheEngine(t *testing.T) {
	s := onStage(t, "", nil)
	s.played(say("noise")) // 120 MB
	if logged := len(s.log.String()); logged > 1<<20 {
		t.Errorf("%d bytes of it are in the log, want them bounded", logged)
	}
	if !strings.Contains(s.log.String(), "noise") {
		t.Error("nothing of it is in the log")
	}
}

// A grandchild that holds the pipes open must not hold us; in the engine's group
// it goes with the engine.
func TestGrandchildHoldsThePipes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"kept", "escaped"} {
		t.Run(kind, func(t *testing.T) {
			s := onStage(t, "", nil)
			child, err := strconv.Atoi(s.played(say("orphan " + kind)))
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Kill(child, syscall.SIGKILL)
			s.failed(say("exit"), ErrEngineFailed)
			s.played(say("next"))
			if kind == "kept" {
				eventually(t, "the grandchild is gone", func() bool { return gone(child) })
			}
		})
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

// Twenty times new engines under a steady load, and no move fails.
func TestSwapUnderLoad(t *testing.T) {
	s := onStage(t, "", func(lim *limits.Limits) { lim.SimEngines = 2 })
	eventually(t, "both are up", func() bool { return s.Status().Up == 2 })
	var moves atomic.Int64
	over := make(chan struct{})
	var load sync.WaitGroup
	for range 8 {
		load.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if _, err := s.Play(context.Background(), say("sleep 1ms")); err != nil {
					t.Errorf("a move failed: %v", err)
					return
				}
				moves.Add(1)
			}
		})
	}
	for n := range uint64(20) {
		s.Swap()
		eventually(t, "both have been replaced", func() bool {
			status := s.Status()
			return status.Starts[causeSwap] == 2*(n+1) && strings.Count(s.log.String(), "engine is replaced") == int(2*(n+1))
		})
	}
	close(over)
	load.Wait()
	t.Logf("%d moves over 20 swaps of 2 engines", moves.Load())
	s.stop()
	if left := children(t); len(left) != 0 {
		t.Errorf("processes left over: %v", left)
	}
}

func TestSwapToABrokenEngine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "engine")
	put := func(target string) {
		os.Remove(path)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	put(self)
	s := runBridge(t, []string{path}, "", nil)
	first := s.played(say("pid"))
	for i, broken := range []string{"/bin/false", "/nowhere"} {
		put(broken)
		s.Swap()
		eventually(t, "the log says why", func() bool {
			return strings.Count(s.log.String(), "the old one stays") == i+1
		})
		if got := s.played(say("pid")); got != first {
			t.Errorf("after a swap to %s another engine plays", broken)
		}
	}
	put(self)
	s.Swap()
	eventually(t, "a good engine takes over", func() bool { return s.played(say("pid")) != first })
}

// An engine that dies while the new one is on its way is followed by that one.
func TestEngineDiesDuringASwap(t *testing.T) {
	s := onStage(t, "", nil)
	s.played(say("warm"))
	s.Swap()
	s.Play(t.Context(), say("crash"))
	s.played(say("next"))
	if starts := s.Status().Starts; starts["boot"]+starts["swap"]+starts["exit"] > 3 {
		t.Errorf("starts %v", starts)
	}
}

func TestStopDuringASwap(t *testing.T) {
	for range 5 {
		s := onStage(t, "", nil)
		s.played(say("warm"))
		s.Swap()
		s.stop()
		if left := children(t); len(left) != 0 {
			t.Errorf("processes left over: %v", left)
		}
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
