package simbridge

import (
	"sync"
	"time"
)

// poison remembers moves that have ended an engine. One that has ended two is
// refused for a while: each would cost everybody an engine. Moves are told apart by
// a keyed hash of their line without its id; engines are deterministic, so one that
// was survived is innocent.
type poison struct {
	period time.Duration // within which two ends count, and for which the move is then refused
	most   int           // moves remembered

	mu    sync.Mutex
	moves map[uint64]killer
}

type killer struct {
	last    time.Time // when it last ended an engine
	refused time.Time // until when it is refused; zero after one end
}

func (p *poison) init(period time.Duration, most int) {
	p.period, p.most = period, most
	p.moves = make(map[uint64]killer)
}

func (p *poison) refuses(hash uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.moves[hash].refused)
}

// suspects reports whether the move may have ended an engine lately.
func (p *poison) suspects(hash uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	move, known := p.moves[hash]
	return known && time.Since(move.last) <= p.period
}

// endedEngine notes that an engine ended while it played the move.
func (p *poison) endedEngine(hash uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	move, known := p.moves[hash]
	if known && now.Sub(move.last) <= p.period {
		move.refused = now.Add(p.period)
	}
	move.last = now
	if !known && len(p.moves) >= p.most {
		p.forgetOldest()
	}
	p.moves[hash] = move
}

// survived notes that an engine played the move and went on to something else.
func (p *poison) survived(hash uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.moves, hash)
}

func (p *poison) forgetOldest() {
	var oldest uint64
	var at time.Time
	for hash, move := range p.moves {
		if at.IsZero() || move.last.Before(at) {
			oldest, at = hash, move.last
		}
	}
	delete(p.moves, oldest)
}
