package simbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

// inTurn sends moves so that each waits before the next one comes, behind one that is
// being played, and returns what came of each.
func (s *stage) inTurn(moves ...Move) []string {
	s.t.Helper()
	outcomes := make([]string, len(moves))
	var clients sync.WaitGroup
	send := func(m Move, outcome *string) {
		waiting := s.Status().Waiting
		answered := make(chan struct{})
		clients.Go(func() {
			defer close(answered)
			reply, err := s.Play(s.t.Context(), m)
			if err != nil {
				*outcome = err.Error()
				return
			}
			*outcome = text(s.t, reply)
		})
		eventually(s.t, "the move waits, or is refused", func() bool {
			select {
			case <-answered:
				return true
			default:
				return s.Status().Waiting == waiting+1
			}
		})
		time.Sleep(50 * time.Millisecond) // from its slot to the queue is a step more
	}
	gate := filepath.Join(s.t.TempDir(), "gate")
	var first string
	send(say("wait-for "+gate), &first)
	for i, m := range moves {
		send(m, &outcomes[i])
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	clients.Wait()
	return outcomes
}

// aShortWhile leaves a busy machine the time to queue a few moves.
func aShortWhile(lim *limits.Limits) { lim.SimReply = 6 * time.Second }

// An engine never waits for us: the next line is there before it has replied.
func TestNextLineIsThereBeforeTheReply(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		start string
		next  string
		want  string
	}{
		{"", "next", "another waits"},
		{"", strings.Repeat("x", 32<<10-100), "another waits"},
		{"", strings.Repeat("x", 32<<10), "alone"}, // two of them might not fit into the pipe
		{"no ids", "next", "alone"},                // what is left over would pass for its reply
	} {
		t.Run(fmt.Sprint("start ", row.start, ", a line of ", len(row.next)), func(t *testing.T) {
			t.Parallel()
			s := onStage(t, row.start, nil)
			got := s.inTurn(say("peek 1s"), say(row.next))
			if got[0] != row.want {
				t.Errorf("while it plays, the engine finds itself %q, want %q", got[0], row.want)
			}
			if got[1] != row.next {
				t.Errorf("the next move got %q", clip(got[1], 40))
			}
		})
	}
}

// The reply limit of a line that was written ahead begins when its turn comes.
func TestReplyLimitOfTheLineAhead(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", aShortWhile)
	got := s.inTurn(say("sleep 4s"), say("sleep 4001ms"))
	if got[0] != "sleep 4s" || got[1] != "sleep 4001ms" {
		t.Errorf("two moves of four seconds, each with a limit of six, got %q", got)
	}
}

// Who waits behind a move that ends its engine has not been played, line written or
// not, and is played by the next engine.
func TestLineAheadOutlivesTheEngine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		order string
		want  error
	}{
		{"crash-late", ErrEngineFailed},
		{"crash-in-reply", ErrEngineFailed},
		{"crash-before-newline", ErrEngineFailed},
		{"close-stdout", ErrEngineFailed},
		{"hang", ErrEngineTimeout},
	} {
		t.Run(row.order, func(t *testing.T) {
			t.Parallel()
			s := onStage(t, "", aShortWhile)
			got := s.inTurn(say(row.order), say("one"), say("two"), say("three"))
			if !strings.HasPrefix(got[0], row.want.Error()) {
				t.Errorf("the move itself: %s, want %v", got[0], row.want)
			}
			for i, want := range []string{"one", "two", "three"} {
				if got[i+1] != want {
					t.Errorf("%q, who waited behind it, got %q", want, got[i+1])
				}
			}
		})
	}
}

// Whose doing it is when an engine ends between two moves cannot be told if it had
// read both; then both are played alone the next time. So a killer is found out, and
// who happened to come behind it is never refused.
func TestKillerBehindItsReplyIsFoundOut(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", func(lim *limits.Limits) { lim.BackoffMax = lim.BackoffMin })
	for round, want := range [][]string{
		{"another waits", "the engine failed: it ended: EOF", "behind"},
		{"alone", "victim", "behind"},
		{"this move has ended two engines", "victim", "behind"},
	} {
		if got := s.inTurn(say("swallow-and-crash 1s"), say("victim"), say("behind")); !slices.Equal(got, want) {
			t.Errorf("round %d: %q, want %q", round, got, want)
		}
	}
}

// A caller who leaves once the line is written has it played for nobody, and nobody
// else gets its reply.
func TestCallerOfTheLineAheadLeaves(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", nil)
	playing := make(chan struct{})
	go func() {
		defer close(playing)
		s.played(say("sleep 700ms"))
	}()
	eventually(t, "one is played", func() bool { return s.Status().Waiting == 1 })
	ctx, leave := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	clients.Go(func() { s.played(say("peek 1s")) })
	eventually(t, "it waits", func() bool { return s.Status().Waiting == 2 })
	time.Sleep(20 * time.Millisecond)
	clients.Go(func() {
		if _, err := s.Play(ctx, say("sleep 10ms")); !errors.Is(err, context.Canceled) {
			t.Errorf("Play = %v, want %v", err, context.Canceled)
		}
	})
	clients.Go(func() {
		<-playing
		leave()
		for _, mark := range []string{"a", "b", "c"} {
			if got := s.played(say(mark)); got != mark {
				t.Errorf("%s got the reply of %q", mark, got)
			}
		}
	})
	clients.Wait()
}

// So is one that writes something more after its reply, whoever was told of it.
func TestStrayLineBehindItsReplyIsFoundOut(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", func(lim *limits.Limits) { lim.BackoffMax = lim.BackoffMin })
	for round, want := range []string{"stray", "stray", ErrPoisonMove.Error()} {
		got := s.inTurn(say("both stray"), say("victim"), say("behind"))
		if got[0] != want && got[0] != "both "+want {
			t.Errorf("round %d: the move itself got %q, want %q", round, got[0], want)
		}
		if round > 0 && (got[1] != "victim" || got[2] != "behind") {
			t.Errorf("round %d: who came behind it got %q", round, got[1:])
		}
	}
}

// The end of one engine is one end, even if the same move was there twice.
func TestOneEndCountsOnce(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", nil)
	twice := say("swallow-and-crash 1s")
	if got := s.inTurn(twice, twice); got[0] != "another waits" || !strings.HasPrefix(got[1], ErrEngineFailed.Error()) {
		t.Fatalf("%q, want the first to be answered and the second to fail", got)
	}
	s.played(twice)
}

// held is a stage on which one move is being played, until the gate opens, and a long
// one waits right behind it, which the engine has not been given.
func held(t *testing.T, engines int) (s *stage, long context.CancelFunc, answered <-chan error, gate func()) {
	t.Helper()
	s = onStage(t, "", func(lim *limits.Limits) { lim.SimEngines = engines })
	eventually(t, "all are up", func() bool { return s.Status().Up == engines })
	folder := t.TempDir()
	open := func(name string) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	play := func(ctx context.Context, order string) <-chan error {
		waiting, done := s.Status().Waiting, make(chan error, 1)
		go func() {
			_, err := s.Play(ctx, say(order))
			done <- err
		}()
		eventually(t, "the move is taken", func() bool { return s.Status().Waiting == waiting+1 })
		time.Sleep(50 * time.Millisecond) // from its slot to the queue is a step more
		return done
	}
	var first <-chan error
	for n := range engines {
		done := play(t.Context(), "wait-for "+filepath.Join(folder, fmt.Sprint("first", n)))
		if n == 0 {
			first = done
		}
	}
	play(t.Context(), "wait-for "+filepath.Join(folder, "second"))
	ctx, cancel := context.WithCancel(t.Context())
	answered = play(ctx, strings.Repeat("x", 40<<10))
	open("first0")
	<-first // and its engine plays the second, and looks ahead
	time.Sleep(100 * time.Millisecond)
	return s, cancel, answered, func() {
		for n := 1; n < engines; n++ {
			open(fmt.Sprint("first", n))
		}
		if engines == 1 {
			open("second")
		}
	}
}

// A turn that an engine cannot be given yet is its caller's to take away.
func TestCallerOfAHeldTurnLeaves(t *testing.T) {
	t.Parallel()
	s, leave, answered, gate := held(t, 1)
	leave()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("Play = %v, want %v", err, context.Canceled)
	}
	eventually(t, "its slot is free", func() bool { return s.Status().Waiting == 1 })
	gate()
	s.played(say("next"))
}

// And another engine's to play.
func TestHeldTurnGoesToAnIdleEngine(t *testing.T) {
	t.Parallel()
	_, leave, answered, gate := held(t, 2)
	defer leave()
	gate() // the other engine is idle now, and the one that has the turn still plays
	select {
	case err := <-answered:
		if err != nil {
			t.Errorf("Play = %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for its engine, while another one is idle")
	}
}
