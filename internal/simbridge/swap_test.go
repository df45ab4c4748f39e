package simbridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

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

// A newcomer that fails while the old engine plays and ends: both are logged, from
// two goroutines.
func TestRecycleToABrokenEngine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "engine")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	s := runBridge(t, []string{path}, "", func(lim *limits.Limits) { lim.EngineMoves = 1 })
	eventually(t, "it is up", func() bool { return s.Status().Up == 1 })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 20 { // each asks for a newcomer, which there is not
		s.played(say("move"))
	}
	s.failed(say("crash"), ErrEngineFailed)
	eventually(t, "the log says that the old one stayed", func() bool {
		return strings.Contains(s.log.String(), "the old one stays")
	})
	if s.Status().Starts[causeRecycle] == 0 {
		t.Error("no newcomer was started")
	}
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
