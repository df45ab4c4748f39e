package main

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
)

// A quota is what a server grants one client: the bucket that it keeps for it.
type quota struct {
	capacity float64 // tokens
	rate     float64 // tokens a second
}

// defaultQuota is that of a server that nobody has configured. It holds until the
// server has said what its own is.
func defaultQuota() quota {
	l := limits.Default()
	return quota{capacity: l.PerIPBurst, rate: l.PerIPPerSec}
}

// readQuota reads a RateLimit-Policy of the server: q moves in w seconds. Both are
// rounded to the safe side there, so that a bucket of q tokens that fills in w
// seconds is never ahead of the server's. What it cannot read is the zero quota.
func readQuota(policy string) quota {
	var q, w uint64
	if n, err := fmt.Sscanf(policy, `"ip";q=%d;w=%d`, &q, &w); n != 2 || err != nil || q == 0 || w == 0 {
		return quota{}
	}
	return quota{capacity: float64(q), rate: float64(q) / float64(w)}
}

// A pace keeps the moves of one client address inside the server's limit: it
// lets one go only when the server's bucket for that address, worked out by the
// server's own function, must have a token for it.
//
// When the server took the token of a move is not known: at some moment between
// sending it and hearing of it. A token that is taken later is back later, so the
// pace books it at the answer, and counts a move under way as if it were charged
// right now. So clocks, routes and busy machines can make it slower than the
// limit, never faster.
type pace struct {
	turn   chan struct{} // held by the one player who waits for a token; the others come after, in order
	landed chan struct{} // 1-buffered: a move has been answered since

	mu     sync.Mutex
	bucket ratelimit.Bucket // as it was at the time at
	at     time.Time
	flying int // moves sent and not answered yet
}

func newPace() *pace {
	q := defaultQuota()
	return &pace{
		turn:   make(chan struct{}, 1),
		landed: make(chan struct{}, 1),
		bucket: ratelimit.Bucket{Capacity: q.capacity, Rate: q.rate, Tokens: q.capacity},
		at:     time.Now(),
	}
}

// wait returns nil when one move may be sent; whoever sends it tells the pace of
// its end by spent or refused. It returns the context's error if that is done first.
func (p *pace) wait(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	for ctx.Err() == nil {
		wait, ok := p.take()
		if ok {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-p.landed:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return context.Cause(ctx)
}

// take lets one move go if there must be a token for it, beside one for each move
// under way. Otherwise it returns how long until there is, if no move lands before.
func (p *pace) take() (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.bucket.Take(time.Since(p.at).Seconds(), float64(p.flying+1))
	switch {
	case out.Allowed:
		p.flying++
		return 0, true
	case !out.CanSatisfy: // before a move lands
		return math.MaxInt64, false
	}
	return time.Duration(min(math.Ceil(out.Wait*1e9), math.MaxInt64/2)), false
}

// spent books a move that has cost a token, or may have: it was answered, or got
// lost. said is the quota that the answer named; a zero one changes nothing.
func (p *pace) spent(said quota) {
	p.land(said, func(available float64) float64 { return max(available-1, 0) })
}

// refused takes note that the server's bucket was empty, whatever it was here:
// somebody else uses the same address.
func (p *pace) refused(said quota) {
	p.land(said, func(float64) float64 { return 0 })
}

func (p *pace) land(said quota, left func(available float64) float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.bucket.Tokens = left(p.bucket.Take(now.Sub(p.at).Seconds(), 1).Available)
	p.at = now
	p.flying--
	if said != (quota{}) {
		p.bucket.Capacity, p.bucket.Rate = said.capacity, said.rate
	}
	select {
	case p.landed <- struct{}{}:
	default:
	}
}
