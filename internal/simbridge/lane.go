package simbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A lane keeps one engine: it starts it, gives it one turn after the other, drops
// it at the first doubt and starts the next. The lane's goroutine alone uses the
// engine.
type lane struct {
	b     *Bridge
	log   *slog.Logger
	pause pause
	cause string // why the next engine is started
	last  string // what was last logged as the reason for an end, so that a loop is logged once
	state atomic.Int32

	swap   chan struct{}  // 1-buffered: the engine is to be replaced by a new one
	coming *newcomer      // the one that will replace it; nil unless one is on its way
	aside  sync.WaitGroup // of the engines that are on their way in or out
}

// A newcomer is an engine that is being started beside the one that plays.
type newcomer struct {
	ready  chan *engine // 1-buffered; nil comes out if it has failed
	cancel context.CancelFunc
}

// states are what a lane may be doing.
var states = [...]string{"starting", "idle", "playing", "pausing"}

const (
	starting = iota
	idle
	playing
	pausing
)

func (b *Bridge) newLane(n int) *lane {
	lim := &b.cfg.Limits
	return &lane{
		b:     b,
		log:   b.cfg.Log.With("engine", n),
		pause: pause{least: lim.BackoffMin, most: lim.BackoffMax},
		cause: "boot",
		swap:  make(chan struct{}, 1),
	}
}

// run returns when ctx is done, or if the very first engine cannot be executed.
// Then nothing of its engines is left.
func (l *lane) run(ctx context.Context) error {
	defer l.tidy()
	for {
		e, err := l.nextEngine(ctx)
		switch {
		case ctx.Err() != nil:
			if e != nil {
				e.stop()
			}
			return nil
		case err != nil:
			l.b.engines.giveUp()
			if l.cause == "boot" && isMistake(err) {
				return err
			}
			l.cause = "failed_start"
			continue
		}
		l.b.engines.came()
		e, err = l.serve(ctx, e)
		l.b.engines.went()
		l.end(e, err)
	}
}

// nextEngine returns an engine that has answered the ping: the one that was on
// its way, or else a new one, after a pause if there have been many.
func (l *lane) nextEngine(ctx context.Context) (*engine, error) {
	if e := l.takeComing(); e != nil {
		return e, nil
	}
	l.state.Store(pausing)
	if !sleep(ctx, l.pause.next()) {
		return nil, errStopped
	}
	l.state.Store(starting)
	select {
	case <-l.swap: // what is started now is as new as can be
	default:
	}
	return l.begin(ctx, l.cause)
}

// begin starts an engine and waits until it answers the ping. What goes wrong is
// logged here.
func (l *lane) begin(ctx context.Context, cause string) (*engine, error) {
	l.b.countStart(cause)
	process, err := l.b.start()
	if err != nil {
		l.report(cause, err, "", "")
		return nil, err
	}
	e := newEngine(ctx, &l.b.cfg, l.log.With("pid", process.pid), process)
	if err := e.greet(); err != nil {
		if errors.Is(err, errStopped) {
			e.stop()
			return nil, err
		}
		e.kill()
		l.bury(cause, e, fmt.Errorf("start: %w", err))
		return nil, err
	}
	e.log.Info("engine is up", "echoes_ids", e.echoes, "after_ms", time.Since(e.born).Milliseconds())
	if !e.echoes {
		e.log.Warn("engine does not echo ids: a second line to one move may reach the next player")
	}
	return e, nil
}

// serve plays turns until the engine fails or ctx is done. It returns the engine,
// which may have been replaced meanwhile, and why it is to be dropped.
func (l *lane) serve(ctx context.Context, e *engine) (*engine, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l.state.Store(idle)
		timer.Reset(l.b.cfg.Limits.IdlePing)
		swap, ready := l.swap, (chan *engine)(nil)
		if l.coming != nil {
			swap, ready = nil, l.coming.ready // one after the other
		}
		var err error
		select {
		case t := <-l.b.turns:
			l.state.Store(playing)
			err = l.play(ctx, e, t)
		case <-e.process.exited:
			err = errEnded
		case <-timer.C:
			if err = e.ping(); err == nil {
				l.acquit(e)
			}
		case <-swap:
			l.prepare(ctx, causeSwap)
		case fresh := <-ready:
			l.coming = nil
			if fresh == nil {
				l.log.Warn("the new engine did not come up; the old one stays")
				break
			}
			l.retire(e)
			e = fresh
		case <-ctx.Done():
			err = errStopped
		}
		if err != nil {
			return e, err
		}
	}
}

// prepare starts an engine beside the one that plays, to take its place.
func (l *lane) prepare(ctx context.Context, cause string) {
	ctx, cancel := context.WithCancel(ctx)
	n := &newcomer{make(chan *engine, 1), cancel}
	l.coming = n
	l.aside.Go(func() { // ends when the engine has answered the ping, or failed, or ctx is done
		e, err := l.begin(ctx, cause)
		if err != nil {
			cancel()
		} else {
			e.release = cancel
		}
		n.ready <- e
	})
}

// takeComing returns the engine that is on its way, if it comes soon enough for the
// moves that wait; otherwise it is given up.
func (l *lane) takeComing() *engine {
	n := l.coming
	if n == nil {
		return nil
	}
	l.coming = nil
	l.state.Store(starting)
	timer := time.NewTimer(l.b.cfg.Limits.EngineGone)
	defer timer.Stop()
	select {
	case e := <-n.ready:
		return e
	case <-timer.C:
	}
	l.log.Warn("the new engine does not come up in time; another one is started")
	l.dismiss(n)
	return nil
}

// dismiss ends a newcomer, whether it has come up meanwhile or not.
func (l *lane) dismiss(n *newcomer) {
	n.cancel()
	l.aside.Go(func() { // bounded by the steps of a stop
		if e := <-n.ready; e != nil {
			e.stop()
		}
	})
}

// retire stops an engine that has nothing left to do.
func (l *lane) retire(e *engine) {
	e.log.Info("engine is replaced", "replies", e.replies, "lived_ms", time.Since(e.born).Milliseconds())
	l.aside.Go(e.stop) // bounded by its steps
}

// tidy ends what is still aside.
func (l *lane) tidy() {
	if l.coming != nil {
		l.dismiss(l.coming)
	}
	l.aside.Wait()
}

// end takes leave of an engine because of err, and decides how the next one is
// started.
func (l *lane) end(e *engine, err error) {
	if errors.Is(err, errStopped) {
		e.stop()
		return
	}
	l.accuse(e)
	e.kill()
	switch {
	case errors.Is(err, errEnded):
		l.cause = "exit"
	case errors.Is(err, errTimeout):
		l.cause = "timeout"
	default:
		l.cause = "protocol"
	}
	if time.Since(e.born) >= l.b.cfg.Limits.Healthy {
		l.last = ""
	}
	switch {
	case e.replies == 0:
	case time.Since(e.born) >= l.b.cfg.Limits.Healthy:
		l.pause.reset()
	default: // no crash loop, but perhaps somebody who sends moves that end engines
		l.pause.ease()
	}
	l.bury(l.cause, e, err)
}

// play has the engine answer t, and whoever waits behind it as long as somebody
// does. It returns what is wrong with the engine, if anything is.
func (l *lane) play(ctx context.Context, e *engine, t *turn) error {
	for t != nil {
		if t.id == 0 { // it was not written ahead
			if l.passesOver(t) {
				return nil
			}
			if err := e.quiet(); err != nil {
				l.b.giveBack(t)
				return err
			}
		}
		begun := time.Now()
		next, reply, err := l.exchange(ctx, e, t)
		reply.Wait, reply.Think = begun.Sub(t.came), time.Since(begun)
		l.settle(e, t, reply, err)
		if err != nil {
			if next != nil {
				l.release(e, next, err)
			}
			return err
		}
		if e.replies%l.b.cfg.Limits.EngineMoves == 0 && l.coming == nil {
			l.prepare(ctx, causeRecycle)
		}
		t = next
	}
	return nil
}

// exchange has the engine answer t, and takes the turn behind it meanwhile. One whose
// line could not be written is still there for other engines until t is answered.
func (l *lane) exchange(ctx context.Context, e *engine, t *turn) (next *turn, reply Reply, err error) {
	if t.id == 0 {
		if err := e.give(t); err != nil {
			return nil, Reply{}, err
		}
	}
	next = l.lookAhead(ctx, e, t)
	if next != nil && next.id == 0 {
		takeBack := l.b.lend(next)
		defer func() { next = takeBack() }()
	}
	reply, err = e.answer(t)
	return next, reply, err
}

// lookAhead takes the turn that waits behind t, if one does, and writes its line
// before t is answered, so that the engine goes on at once and never waits for us.
// Engines work strictly in order: until t is answered, the other has not begun.
//
// A turn that must not share the engine's input is taken and not written. Nor is one
// that the engine does not take any more; the next look at the engine tells why.
func (l *lane) lookAhead(ctx context.Context, e *engine, t *turn) *turn {
	if !e.echoes || !l.shares(e, t) || l.isWanted(ctx) {
		return nil
	}
	for {
		select {
		case next := <-l.b.turns:
			if l.passesOver(next) {
				continue
			}
			if l.shares(e, next) {
				next.ahead = e.give(next) == nil
			}
			return next
		default:
			return nil
		}
	}
}

// shares reports whether t may be in the engine's input together with another. A
// long one could fill the pipe, while the engine waits for us to read. One that may
// have ended an engine is played alone, so that the next end tells whose doing it
// is. So is one that has come back, which happens to it only once.
func (l *lane) shares(e *engine, t *turn) bool {
	return idBytes+len(t.line.rest) <= e.room && !t.returned && !l.b.poison.suspects(t.line.hash)
}

// isWanted reports whether something else than a move is to be done.
func (l *lane) isWanted(ctx context.Context) bool {
	return ctx.Err() != nil || len(l.swap) > 0 || l.coming != nil && len(l.coming.ready) > 0
}

// passesOver reports whether t needs no engine: its caller has left while it waited,
// or it has ended another engine meanwhile.
func (l *lane) passesOver(t *turn) bool {
	switch {
	case t.ctx.Err() != nil:
		<-l.b.slots
	case l.b.poison.refuses(t.line.hash):
		<-l.b.slots
		t.done <- result{Reply{Wait: time.Since(t.came)}, ErrPoisonMove}
	default:
		return false
	}
	return true
}

// settle gives t's slot back and tells its caller what came of it, or lets another
// engine have it if this one has ended without having begun it.
func (l *lane) settle(e *engine, t *turn, reply Reply, err error) {
	switch {
	case err == nil:
		l.acquit(e)
		e.last = t.line.hash
	case errors.Is(err, errStopped):
		err = ErrEngineDown
	case !errors.Is(err, errTimeout) && e.unbegun(t):
		l.b.giveBack(t)
		return
	case errors.Is(err, errBehind):
		err = fmt.Errorf("%w: %w", ErrEngineFailed, err)
	default:
		// Where the line was there already, it may be the doing of the move before, after
		// its reply: one end, held against both, but once if they are the same.
		if t.ahead && !errors.Is(err, errTimeout) && e.last != t.line.hash {
			l.accuse(e)
		} else {
			l.acquit(e)
		}
		l.b.poison.endedEngine(t.line.hash)
		kind := ErrEngineFailed
		if errors.Is(err, errTimeout) {
			kind = ErrEngineTimeout
		}
		err = fmt.Errorf("%w: %w", kind, err)
	}
	<-l.b.slots
	t.done <- result{reply, err}
}

// release lets another engine have the turn behind the one at which e has failed with
// err, unless e may have begun it.
func (l *lane) release(e *engine, next *turn, err error) {
	if next.id == 0 || e.saysNoMore(err) {
		l.b.giveBack(next)
		return
	}
	l.settle(e, next, Reply{Wait: time.Since(next.came)}, fmt.Errorf("%w: %w", errBehind, err))
}

// accuse holds the last move that was answered to account for the end of the engine.
func (l *lane) accuse(e *engine) {
	if e.last != 0 {
		l.b.poison.endedEngine(e.last)
		e.last = 0
	}
}

// acquit notes that the engine has outlived the last move that was answered.
func (l *lane) acquit(e *engine) {
	if e.last != 0 {
		l.b.poison.survived(e.last)
		e.last = 0
	}
}

// bury logs the end of an engine.
func (l *lane) bury(cause string, e *engine, err error) {
	said := ""
	if e.process.stderr != nil {
		said = e.process.stderr.last()
	}
	status := "not reaped"
	if e.process.hasExited() {
		status = e.process.status
	}
	l.report(cause, err, status, said, "pid", e.process.pid, "lived_ms", time.Since(e.born).Milliseconds())
}

// report logs a failure. One that repeats itself is logged once; that of a newcomer,
// which is started aside and not in a loop, is always logged.
func (l *lane) report(cause string, err error, status, stderr string, more ...any) {
	level := slog.LevelWarn
	if cause != causeSwap && cause != causeRecycle {
		said := err.Error() + "; " + status
		if said == l.last {
			level = slog.LevelDebug
		}
		l.last = said
	}
	l.log.Log(context.Background(), level, "engine failed", append(more, "err", err, "status", status, "stderr", stderr)...)
}

// pause is how long to wait before the next start: nothing before the first and
// the one after it, then a random time that grows with each, so that a crash loop
// costs little and several lanes do not start in step.
type pause struct {
	least, most time.Duration
	starts      int
	last        time.Duration
}

func (p *pause) next() time.Duration {
	p.starts++
	if p.starts <= 2 {
		return 0
	}
	ceiling := min(p.most, 4*max(p.last, p.least))
	p.last = p.least + rand.N(max(ceiling-p.least, 1))
	return p.last
}

// ease keeps the next pause short, so that moves which wait for it are played.
func (p *pause) ease() { p.last = 0 }

// reset has the pauses begin anew: the next start comes at once.
func (p *pause) reset() { p.starts, p.last = 1, 0 }

// sleep reports whether it slept for d, rather than that ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
