package simbridge

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

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

// Whoever waits for the start learns how it went, and not before.
func TestSettled(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		start string
		up    int
	}{{"", 1}, {"no ids", 1}, {"exits", 0}} {
		t.Run("start "+row.start, func(t *testing.T) {
			s := onStage(t, row.start, nil)
			<-s.Settled()
			if got := s.Status().Up; got != row.up {
				t.Errorf("%d engines are up, want %d", got, row.up)
			}
		})
	}
	never := New(Config{Command: []string{"true"}, Limits: limits.Default(), Log: slog.New(slog.DiscardHandler)})
	select {
	case <-never.Settled():
		t.Error("settled before the start")
	default:
	}
}
