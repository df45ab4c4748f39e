package main

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kiribashiri/internal/ratelimit"
)

var alice = netip.MustParseAddr("192.0.2.1")

func newLimiter(t *testing.T, rate, burst float64) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{PerSecond: rate, Burst: burst, Clients: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// With answers at once the pace is the limit to the nanosecond.
func TestPaceIsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l, begin := newPace(), newLimiter(t, 2, 2), time.Now()
		for n := range 10_000 {
			if err := p.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := time.Duration(max(n-1, 0)) * 500 * time.Millisecond
			if got := time.Since(begin); got != want {
				t.Fatalf("move %d after %v, want %v", n, got, want)
			}
			if !l.Take(alice).Allowed() {
				t.Fatalf("move %d is refused", n)
			}
			p.spent(quota{})
		}
	})
}

// However long a move takes to the server and its answer back, and however many
// players share the address, no move is refused, and none is lost.
func TestPaceIsNeverRefused(t *testing.T) {
	for _, row := range []struct {
		name        string
		rate, burst float64
		policy      string // as the server writes it
		players     int
		delay       time.Duration // at most, each way
	}{
		{"as nobody has configured it", 2, 2, `"ip";q=2;w=1`, 1, 300 * time.Millisecond},
		{"slower than the limit", 2, 2, `"ip";q=2;w=1`, 1, 3 * time.Second},
		{"six at one address", 2, 2, `"ip";q=2;w=1`, 6, 300 * time.Millisecond},
		{"six at a fast one", 100, 50, `"ip";q=50;w=1`, 6, 30 * time.Millisecond},
		{"two fifths a second", 0.4, 2, `"ip";q=2;w=5`, 2, 300 * time.Millisecond},
		{"a burst of one", 0.3, 1, `"ip";q=1;w=4`, 3, 300 * time.Millisecond},
		{"a burst of one and a half", 3, 1.5, `"ip";q=1;w=1`, 3, 300 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, l := newPace(), newLimiter(t, row.rate, row.burst)
				said := readQuota(row.policy)
				p.bucket.Capacity, p.bucket.Rate, p.bucket.Tokens = said.capacity, said.rate, said.capacity
				const each = 500
				begin := time.Now()
				var playing sync.WaitGroup
				for i := range row.players {
					draw := rand.New(rand.NewPCG(1, uint64(i)))
					delay := func() { time.Sleep(time.Duration(draw.Int64N(int64(row.delay)))) }
					playing.Go(func() {
						for range each {
							if p.wait(context.Background()) != nil {
								t.Error("a wait has ended early")
							}
							delay()
							if !l.Take(alice).Allowed() {
								t.Errorf("refused after %v", time.Since(begin))
							}
							delay()
							p.spent(said)
						}
					})
				}
				playing.Wait()
				if p.flying != 0 {
					t.Errorf("%d moves are still booked as under way", p.flying)
				}
			})
		})
	}
}

// Players who share a pace take turns.
func TestPaceIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		counts := make([]int, 6)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var playing sync.WaitGroup
		for i := range counts {
			playing.Go(func() {
				for p.wait(ctx) == nil {
					counts[i]++
					time.Sleep(time.Millisecond)
					p.spent(quota{})
				}
			})
		}
		playing.Wait()
		for _, n := range counts {
			if n < 199 || n > 201 {
				t.Fatalf("moves by player: %v, want about 200 each", counts)
			}
		}
	})
}

// A server that refuses knows better: its bucket is empty, so the pace's is too.
func TestPaceAfterARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		p.wait(t.Context())
		p.refused(quota{})
		begin := time.Now()
		p.wait(t.Context())
		if got := time.Since(begin); got != 500*time.Millisecond {
			t.Errorf("the next move may go after %v, want 500ms", got)
		}
	})
}

func TestPaceFollowsTheServersPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		p.wait(t.Context())
		p.spent(quota{capacity: 4, rate: 0.5})
		for _, want := range []time.Duration{0, 2 * time.Second, 2 * time.Second} {
			begin := time.Now()
			p.wait(t.Context())
			p.spent(quota{})
			if got := time.Since(begin); got != want {
				t.Errorf("the next move may go after %v, want %v", got, want)
			}
		}
	})
}

func TestPaceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		if p.wait(done(errOver)) != errOver {
			t.Error("a context that is done lets a move go")
		}
		p.wait(t.Context())
		p.wait(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if p.wait(ctx) == nil {
			t.Error("a third move goes beside two that the server may still charge")
		}
	})
}

func TestReadQuota(t *testing.T) {
	for policy, want := range map[string]quota{
		`"ip";q=2;w=1`:           {2, 2},
		`"ip";q=2;w=5`:           {2, 0.4},
		`"ip";q=1000;w=1`:        {1000, 1000},
		``:                       {},
		`"ip";q=0;w=1`:           {},
		`"ip";q=2;w=0`:           {},
		`"other";q=2;w=1`:        {},
		`"ip";q=-2;w=1`:          {},
		`"ip";q=1e9;w=1, "x";q=`: {},
	} {
		if got := readQuota(policy); got != want {
			t.Errorf("%s: %v, want %v", policy, got, want)
		}
	}
}
