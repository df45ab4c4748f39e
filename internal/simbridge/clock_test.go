package simbridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kiribashiri/internal/limits"
)

// The rows in which time is the point run in a bubble, where a minute passes at
// once and to the nanosecond. There the engine is a goroutine behind a pipe.

// inBubble runs a bridge on engines that are played by act, which gets each
// engine's number and its two ends, and returns when the engine ends.
func inBubble(t *testing.T, act func(n int, in *bufio.Reader, out net.Conn), test func(t *testing.T, b *Bridge)) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Limits: limits.Default(), Log: slog.New(slog.DiscardHandler)})
		n := 0
		var acts sync.WaitGroup
		b.start = func() (*process, error) {
			n++
			if act == nil {
				return nil, errors.New("no engine today")
			}
			ours, theirs := net.Pipe()
			answers, replies := net.Pipe()
			p := &process{stdin: ours, stdout: answers, terminate: func() {}, exited: make(chan struct{})}
			p.kill = sync.OnceFunc(func() { theirs.Close(); replies.Close() })
			number := n
			acts.Go(func() {
				defer close(p.exited)
				defer p.kill()
				act(number, bufio.NewReader(theirs), replies)
			})
			return p, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := b.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		test(t, b)
		cancel()
		running.Wait()
		acts.Wait()
	})
}

// reply answers one line as a well-behaved engine does, and reports whether it could.
func reply(in *bufio.Reader, out net.Conn) bool {
	line, err := in.ReadString('\n')
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(line, `"id":`)
	id, _, _ := strings.Cut(rest, ",")
	_, err = fmt.Fprintf(out, "{\"id\":%s}\n", id)
	return err == nil
}

func serve(in *bufio.Reader, out net.Conn) {
	for reply(in, out) {
	}
}

// hang reads on and never answers.
func hang(in *bufio.Reader) {
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
	}
}

// took claims how long something takes.
func took(t *testing.T, want time.Duration, what string, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if got := time.Since(began); got != want {
		t.Errorf("%s took %v, want %v", what, got, want)
	}
}

func failsWith(t *testing.T, b *Bridge, m Move, want error) {
	t.Helper()
	if _, err := b.Play(t.Context(), m); !errors.Is(err, want) {
		t.Errorf("Play = %v, want %v", err, want)
	}
}

func TestReplyLimitIsThirtySeconds(t *testing.T) {
	inBubble(t, func(n int, in *bufio.Reader, out net.Conn) {
		if n > 1 {
			serve(in, out)
			return
		}
		reply(in, out) // the ping
		hang(in)
	}, func(t *testing.T, b *Bridge) {
		took(t, 30*time.Second, "the hanging move", func() { failsWith(t, b, Move{Kind: "look"}, ErrEngineTimeout) })
		took(t, 0, "the next", func() { failsWith(t, b, Move{Kind: "look"}, nil) })
	})
}

// Waiting does not count: the limit begins when the engine has the line.
func TestReplyLimitBeginsAtTheMovesTurn(t *testing.T) {
	inBubble(t, func(_ int, in *bufio.Reader, out net.Conn) {
		reply(in, out)
		for {
			time.Sleep(29 * time.Second)
			if !reply(in, out) {
				return
			}
		}
	}, func(t *testing.T, b *Bridge) {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { failsWith(t, b, Move{Kind: "look"}, nil) })
		}
		took(t, 87*time.Second, "three moves of 29 seconds", wg.Wait)
	})
}

func TestEngineThatDoesNotTakeTheLine(t *testing.T) {
	inBubble(t, func(n int, in *bufio.Reader, out net.Conn) {
		reply(in, out)
		if n == 1 {
			time.Sleep(time.Hour) // and reads nothing
			return
		}
		serve(in, out)
	}, func(t *testing.T, b *Bridge) {
		synctest.Wait()
		took(t, 30*time.Second, "the move", func() { failsWith(t, b, Move{Kind: "look"}, ErrEngineTimeout) })
		time.Sleep(2 * time.Hour)
	})
}

func TestMovesWaitASecondForTheNextEngine(t *testing.T) {
	inBubble(t, func(n int, in *bufio.Reader, out net.Conn) {
		switch n {
		case 1: // ends during its first move
			reply(in, out)
			in.ReadString('\n')
		case 2: // answers the ping after 900 ms
			time.Sleep(900 * time.Millisecond)
			reply(in, out)
			in.ReadString('\n')
		default: // after more than a second
			time.Sleep(1500 * time.Millisecond)
			serve(in, out)
		}
	}, func(t *testing.T, b *Bridge) {
		failsWith(t, b, Move{Kind: "a"}, ErrEngineFailed)
		synctest.Wait()
		took(t, 900*time.Millisecond, "a move that the second engine gets", func() { failsWith(t, b, Move{Kind: "b"}, ErrEngineFailed) })
		synctest.Wait()
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { failsWith(t, b, Move{Kind: "c"}, ErrEngineDown) })
		}
		synctest.Wait()
		failsWith(t, b, Move{Kind: "c"}, ErrQueueFull) // exact also while no engine is up
		took(t, time.Second, "the wait for nothing", wg.Wait)
		took(t, 0, "a refusal afterwards", func() { failsWith(t, b, Move{Kind: "c"}, ErrEngineDown) })
		time.Sleep(10 * time.Second)
		failsWith(t, b, Move{Kind: "c"}, nil)
	})
}

func TestFailedStartEndsTheWait(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *Bridge) {
		took(t, 0, "the refusal", func() { failsWith(t, b, Move{Kind: "look"}, ErrEngineDown) })
	})
}

// Thirty seconds without a start, then a few more in an hour.
func TestCrashLoopSchedule(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *Bridge) {
		starts := func() (n uint64) {
			for _, count := range b.Status().Starts {
				n += count
			}
			return n
		}
		time.Sleep(10 * time.Second)
		early := starts()
		time.Sleep(time.Hour)
		t.Logf("%d starts in the first 10 s, %d in the hour after them", early, starts()-early)
		if early < 3 || early > 30 {
			t.Errorf("%d starts in the first 10 s, want a few", early)
		}
		if late := starts() - early; late < 120 || late > 600 {
			t.Errorf("%d starts in the next hour, want about one in 15 s", late)
		}
	})
}

// After a crash loop an engine has to prove itself: ten seconds and a reply, and
// the next one is started at once.
func TestHealthySpellEndsThePauses(t *testing.T) {
	const healthy = 6 // which engine is
	ends, begins := make(chan time.Time, 1), make(chan time.Time, 1)
	inBubble(t, func(n int, in *bufio.Reader, out net.Conn) {
		switch {
		case n < healthy:
			reply(in, out) // and crashes
		case n == healthy:
			reply(in, out)
			reply(in, out)
			time.Sleep(10 * time.Second)
			ends <- time.Now()
		default:
			begins <- time.Now()
			serve(in, out)
		}
	}, func(t *testing.T, b *Bridge) {
		for b.Status().Starts["exit"] < healthy-1 || b.Status().Up == 0 {
			time.Sleep(time.Millisecond)
		}
		failsWith(t, b, Move{Kind: "look"}, nil)
		time.Sleep(11 * time.Second)
		if end, begin := <-ends, <-begins; !begin.Equal(end) {
			t.Errorf("the next engine began %v after the end, want at once", begin.Sub(end))
		}
	})
}

// Somebody who sends one move after the other that ends an engine does not keep the
// others waiting: engines that play are started again soon.
func TestKillerMovesDoNotLengthenThePauses(t *testing.T) {
	inBubble(t, func(_ int, in *bufio.Reader, out net.Conn) {
		reply(in, out)
		reply(in, out)
		in.ReadString('\n')
	}, func(t *testing.T, b *Bridge) {
		began := time.Now()
		for n := range 12 {
			failsWith(t, b, Move{Kind: "good"}, nil)
			failsWith(t, b, Move{Kind: fmt.Sprint("killer", n)}, ErrEngineFailed)
		}
		if took := time.Since(began); took > 12*400*time.Millisecond {
			t.Errorf("twelve engines took %v to come and go, want at most 400 ms each", took)
		}
	})
}

// A caller who has left already is not played, even if a lane is free.
func TestCallerWhoHasLeft(t *testing.T) {
	var moves atomic.Int32
	inBubble(t, func(_ int, in *bufio.Reader, out net.Conn) {
		for reply(in, out) {
			moves.Add(1)
		}
	}, func(t *testing.T, b *Bridge) {
		synctest.Wait()
		before := moves.Load()
		ctx, leave := context.WithCancel(t.Context())
		leave()
		for range 100 {
			if _, err := b.Play(ctx, Move{Kind: "look"}); !errors.Is(err, context.Canceled) {
				t.Fatalf("Play = %v, want context.Canceled", err)
			}
		}
		synctest.Wait()
		if got := moves.Load() - before; got != 0 {
			t.Errorf("%d of a hundred moves were played for nobody", got)
		}
		if got := b.Status().Waiting; got != 0 {
			t.Errorf("%d slots are still taken", got)
		}
	})
}

func TestPauseGrowsAndBeginsAnew(t *testing.T) {
	p := pause{least: 100 * time.Millisecond, most: 30 * time.Second}
	for round := range 3 {
		if round == 0 {
			p.next() // the very first start
		}
		if got := p.next(); got != 0 {
			t.Errorf("the first start after a good spell waits %v, want 0", got)
		}
		last := p.least
		for range 50 {
			got := p.next()
			if got < p.least || got > min(p.most, 4*last) {
				t.Fatalf("pause %v after %v", got, last)
			}
			last = got
		}
		p.reset()
	}
}

func TestIdlePing(t *testing.T) {
	var pings atomic.Int32
	inBubble(t, func(n int, in *bufio.Reader, out net.Conn) {
		for reply(in, out) {
			if pings.Add(1) == 3 && n == 1 {
				hang(in)
				return
			}
		}
	}, func(t *testing.T, b *Bridge) {
		time.Sleep(time.Minute + time.Second)
		// At 0 s the first, at 15 and 30 s two more; the one at 45 s hangs until 50 s.
		if got := pings.Load(); got != 4 {
			t.Errorf("%d pings answered, want 4", got)
		}
		if got := b.Status().Starts["timeout"]; got != 1 {
			t.Errorf("%d engines replaced, want 1", got)
		}
		failsWith(t, b, Move{Kind: "look"}, nil)
	})
}

// While the new engine is asked, the old one plays; one that does not answer never
// takes over.
// A newcomer that hangs does not keep the next engine away when the old one dies.
func TestEngineDiesWhileANewcomerHangs(t *testing.T) {
	inBubble(t, func(n int, in *bufio.Reader, out net.Conn) {
		switch n {
		case 1:
			reply(in, out)
			reply(in, out)
			in.ReadString('\n') // ends during this move
		case 2:
			hang(in)
		default:
			serve(in, out)
		}
	}, func(t *testing.T, b *Bridge) {
		failsWith(t, b, Move{Kind: "a"}, nil)
		b.Swap()
		synctest.Wait()
		failsWith(t, b, Move{Kind: "b"}, ErrEngineFailed)
		time.Sleep(2 * time.Second)
		took(t, 0, "a move two seconds later", func() { failsWith(t, b, Move{Kind: "c"}, nil) })
	})
}

func TestSwapToASilentEngine(t *testing.T) {
	inBubble(t, func(n int, in *bufio.Reader, out net.Conn) {
		if n == 2 {
			hang(in)
			return
		}
		for {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			if _, err := fmt.Fprintf(out, "{\"text\":\"%d\"}\n", n); err != nil {
				return
			}
		}
	}, func(t *testing.T, b *Bridge) {
		by := func() string {
			reply, err := b.Play(t.Context(), Move{Kind: "look"})
			if err != nil {
				t.Fatal(err)
			}
			return text(t, reply)
		}
		by()
		b.Swap()
		for range 29 {
			time.Sleep(time.Second)
			if got := by(); got != "1" {
				t.Fatalf("engine %s plays while the second has not answered", got)
			}
		}
		time.Sleep(2 * time.Second) // the second is given up
		if got := by(); got != "1" {
			t.Errorf("engine %s plays, want the old one", got)
		}
		b.Swap()
		time.Sleep(time.Second) // it has no ids, so it is watched for a moment
		if got := by(); got != "3" {
			t.Errorf("engine %s plays, want the third", got)
		}
		if got := b.Status(); got.Starts[causeSwap] != 2 || got.Up != 1 {
			t.Errorf("status %+v, want two swaps and one engine up", got)
		}
	})
}

func TestPoisonIsForgottenAfterTenMinutes(t *testing.T) {
	inBubble(t, func(_ int, in *bufio.Reader, out net.Conn) {
		for {
			line, err := in.ReadString('\n')
			if err != nil || strings.Contains(line, "poison") {
				return
			}
			fmt.Fprintln(out, `{"ok":true}`)
		}
	}, func(t *testing.T, b *Bridge) {
		bad := Move{Kind: "poison"}
		failsWith(t, b, bad, ErrEngineFailed)
		time.Sleep(11 * time.Minute)
		failsWith(t, b, bad, ErrEngineFailed) // the first one is too long ago
		time.Sleep(9 * time.Minute)
		failsWith(t, b, bad, ErrEngineFailed)
		time.Sleep(10*time.Minute - 1)
		failsWith(t, b, bad, ErrPoisonMove)
		time.Sleep(time.Nanosecond)
		failsWith(t, b, bad, ErrEngineFailed)
	})
}

func TestPoisonMemoryIsBounded(t *testing.T) {
	var p poison
	p.init(time.Minute, 3)
	for hash := range uint64(100) {
		p.endedEngine(hash)
	}
	if len(p.moves) != 3 {
		t.Errorf("%d moves remembered, want 3", len(p.moves))
	}
}
