package simbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
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
}

func (b *Bridge) newLane(n int) *lane {
	lim := &b.cfg.Limits
	return &lane{
		b:     b,
		log:   b.cfg.Log.With("engine", n),
		pause: pause{least: lim.BackoffMin, most: lim.BackoffMax},
		cause: "boot",
	}
}

// run returns when ctx is done, or if the very first engine cannot be executed.
func (l *lane) run(ctx context.Context) error {
	for sleep(ctx, l.pause.next()) {
		first := l.cause == "boot"
		l.b.countStart(l.cause)
		process, err := l.b.start()
		if err != nil {
			l.b.engines.giveUp()
			l.report(err, "", "")
			if first && isStartError(err) {
				return err
			}
			l.cause = "failed_start"
			continue
		}
		l.keep(ctx, newEngine(ctx, &l.b.cfg, l.log.With("pid", process.pid), process))
	}
	return nil
}

// keep has one engine play until it fails or ctx is done.
func (l *lane) keep(ctx context.Context, e *engine) {
	born := time.Now()
	if err := e.greet(); err != nil {
		if errors.Is(err, errStopped) {
			e.stop()
			return
		}
		e.kill()
		l.b.engines.giveUp()
		l.cause = "failed_start"
		l.bury(e, born, fmt.Errorf("start: %w", err))
		return
	}
	l.b.engines.came()
	e.log.Info("engine is up", "echoes_ids", e.echoes, "after", time.Since(born))
	err := l.serve(ctx, e)
	l.b.engines.went()
	if errors.Is(err, errStopped) {
		e.stop()
		return
	}
	e.kill()
	switch {
	case errors.Is(err, errEnded):
		l.cause = "exit"
	case errors.Is(err, errTimeout):
		l.cause = "timeout"
	default:
		l.cause = "protocol"
	}
	if time.Since(born) >= l.b.cfg.Limits.Healthy {
		l.last = ""
		if e.replies > 0 {
			l.pause.reset()
		}
	}
	l.bury(e, born, err)
}

// serve plays turns until the engine fails or ctx is done, and returns why it is
// to be dropped.
func (l *lane) serve(ctx context.Context, e *engine) error {
	idle := time.NewTimer(0)
	defer idle.Stop()
	for {
		idle.Reset(l.b.cfg.Limits.IdlePing)
		var err error
		select {
		case t := <-l.b.turns:
			err = l.play(e, t)
		case <-e.process.exited:
			err = errEnded
		case <-idle.C:
			err = e.ping()
		case <-ctx.Done():
			err = errStopped
		}
		if err != nil {
			return err
		}
	}
}

// play has the engine answer one turn, gives its slot back and tells its caller.
// It returns what is wrong with the engine, if anything is.
func (l *lane) play(e *engine, t *turn) error {
	if t.ctx.Err() != nil { // its caller left while it waited
		<-l.b.slots
		return nil
	}
	if err := e.quiet(); err != nil {
		l.b.giveBack(t)
		return err
	}
	begun := time.Now()
	line, a, err := e.play(t.line)
	r := result{reply: Reply{Line: line, Rejected: a.rejected, Wait: begun.Sub(t.came), Think: time.Since(begun)}}
	switch {
	case err == nil:
	case errors.Is(err, errStopped):
		r.err = ErrEngineDown
	case errors.Is(err, errTimeout):
		l.b.poison.endedEngine(t.line.hash)
		r.err = fmt.Errorf("%w: %w", ErrEngineTimeout, err)
	default:
		l.b.poison.endedEngine(t.line.hash)
		r.err = fmt.Errorf("%w: %w", ErrEngineFailed, err)
	}
	<-l.b.slots
	t.done <- r
	return err
}

// bury logs the end of an engine.
func (l *lane) bury(e *engine, born time.Time, err error) {
	said := ""
	if e.process.stderr != nil {
		said = e.process.stderr.last()
	}
	status := "not reaped"
	if e.process.hasExited() {
		status = e.process.status
	}
	l.report(err, status, said, "pid", e.process.pid, "lived", time.Since(born))
}

// report logs a failure; one that repeats itself is logged once.
func (l *lane) report(err error, status, stderr string, more ...any) {
	level := slog.LevelWarn
	if err.Error() == l.last {
		level = slog.LevelDebug
	}
	l.last = err.Error()
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
