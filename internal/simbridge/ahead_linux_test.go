package simbridge

import (
	"context"
	"errors"
	"fmt"
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
		time.Sleep(20 * time.Millisecond) // from its slot to the queue is a step more
	}
	var first string
	send(say("sleep 1s"), &first)
	for i, m := range moves {
		send(m, &outcomes[i])
	}
	clients.Wait()
	return outcomes
}

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
	s := onStage(t, "", shortReply)
	got := s.inTurn(say("sleep 2s"), say("sleep 2001ms"))
	if got[0] != "sleep 2s" || got[1] != "sleep 2001ms" {
		t.Errorf("two moves of two seconds, each with a limit of three, got %q", got)
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
			s := onStage(t, "", shortReply)
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
