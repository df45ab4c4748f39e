package simbridge

import (
	"sync"
	"time"
)

// presence knows how many engines are up, and whether moves may wait for one
// while none is: for a moment after the last one went, unless a start fails.
type presence struct {
	patience time.Duration

	mu    sync.Mutex
	up    int
	none  chan struct{} // closed while moves may not wait
	first chan struct{} // closed once the first engine has come, or has failed to
	ended bool          // for good
	timer *time.Timer   // closes none; nil unless it runs
}

func (p *presence) init(patience time.Duration) {
	p.patience = patience
	p.none = make(chan struct{})
	p.first = make(chan struct{})
}

// gone returns a channel that is closed once no engine is to be expected.
func (p *presence) gone() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.none
}

func (p *presence) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

// expect lets moves wait for an engine that is about to come.
func (p *presence) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitLocked()
}

func (p *presence) came() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up++
	p.settleLocked()
	p.openLocked()
}

func (p *presence) went() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up--
	if p.up == 0 {
		p.waitLocked()
	}
}

// giveUp ends the waiting, unless an engine is up.
func (p *presence) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settleLocked()
	p.closeLocked()
}

// end ends the waiting for good, also if an engine is up.
func (p *presence) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.settleLocked()
		p.openLocked()
		p.ended = true
		close(p.none)
	}
}

func (p *presence) waitLocked() {
	p.openLocked()
	if p.ended {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(p.patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.timer == timer { // otherwise an engine has come meanwhile
			p.closeLocked()
		}
	})
	p.timer = timer
}

func (p *presence) openLocked() {
	p.stopTimerLocked()
	if p.ended {
		return
	}
	select {
	case <-p.none:
		p.none = make(chan struct{})
	default:
	}
}

func (p *presence) closeLocked() {
	p.stopTimerLocked()
	if p.up > 0 {
		return
	}
	select {
	case <-p.none:
	default:
		close(p.none)
	}
}

func (p *presence) settleLocked() {
	select {
	case <-p.first:
	default:
		close(p.first)
	}
}

func (p *presence) stopTimerLocked() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}
