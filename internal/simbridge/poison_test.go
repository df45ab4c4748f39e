package simbridge

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

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
			_, err := s.Play(context.Background(), say("sleep 1500ms"))
			playing <- err
		}()
		eventually(t, "it is being played", func() bool { return s.Status().States["playing"] == 1 })
		time.Sleep(50 * time.Millisecond)
		syscall.Kill(pid, syscall.SIGKILL)
		if err := <-playing; !errors.Is(err, ErrEngineFailed) {
			t.Fatalf("the move that was being played: %v", err)
		}
		s.played(say("sleep 1500ms"))
		s.played(say("another"))
	}
}

// A wrong answer is the doing of the move that it answers, and not of the one before,
// whatever its id.
func TestWrongAnswerIsItsMovesDoing(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", nil)
	const wrong = `print {"id":0,"ok":false}`
	for range 2 {
		s.played(say("innocent"))
		s.failed(say(wrong), ErrEngineFailed)
	}
	s.played(say("innocent"))
	s.failed(say(wrong), ErrPoisonMove)
}
