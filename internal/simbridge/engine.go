package simbridge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// An engine is one process from its start to its end. Its lane alone uses it, and
// drops it at the first doubt.
type engine struct {
	cfg     *Config
	log     *slog.Logger
	process *process

	lines  chan readResult // from the reader; an error is the last of them
	closed chan struct{}   // closed when nobody takes lines any more
	pipes  sync.WaitGroup  // the goroutines that read the pipes
	timer  *time.Timer     // of the answer that is awaited
	out    []byte          // the line that is being written
	echoes bool            // it bears our ids in its replies
	id     uint64          // of the last move
}

type readResult struct {
	line []byte
	err  error
}

// Why an engine is given up. Everything that is none of these is a protocol
// failure.
var (
	errEnded   = errors.New("it ended") // the process, or only its output
	errTimeout = errors.New("it did not answer in time")
	errStopped = errors.New("the bridge stops")
)

const readBuffer = 32 << 10 // bytes; most replies fit, longer ones are put together

// newEngine takes over a started process.
func newEngine(cfg *Config, log *slog.Logger, p *process) *engine {
	e := &engine{
		cfg:     cfg,
		log:     log,
		process: p,
		lines:   make(chan readResult),
		closed:  make(chan struct{}),
		timer:   time.NewTimer(time.Hour),
	}
	e.timer.Stop()
	e.pipes.Go(e.read)
	if p.stderr != nil {
		e.pipes.Go(func() { p.stderr.read(cfg, log) })
	}
	return e
}

// read hands on the engine's lines, one ahead at the most, until its output ends
// or nobody wants them.
func (e *engine) read() {
	defer e.process.stdout.Close()
	in := bufio.NewReaderSize(e.process.stdout, readBuffer)
	for {
		line, err := readLine(in, e.cfg.Limits.ReplyBytes)
		select {
		case e.lines <- readResult{line, err}:
		case <-e.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// greet asks a new engine whether it lives. What it prints before its first JSON
// line is a banner; that line may be a greeting of its own; the line after it, or
// it, is the answer, which tells whether the engine echoes ids.
func (e *engine) greet(ctx context.Context) error {
	lim := &e.cfg.Limits
	if err := e.write(0, []byte(pingLine), lim.SimReply); err != nil {
		return err
	}
	e.timer.Reset(lim.SimReply)
	defer e.timer.Stop()
	greeted := false
	for banner := 0; ; {
		line, err := e.next(ctx)
		if err != nil {
			return err
		}
		a, err := readAnswer(line)
		switch {
		case err != nil && !bytes.HasPrefix(line, []byte("{\"")):
			if banner++; banner > lim.BannerLines {
				return fmt.Errorf("it printed more than %d lines before its first JSON line", lim.BannerLines)
			}
			e.log.Info("engine says", "banner", clip(string(line), lim.LogText))
		case err != nil:
			return fmt.Errorf("its answer to the ping: %w", err)
		case a.ready && !a.hasID && !greeted:
			greeted = true
		case a.hasID && a.id != 0:
			return fmt.Errorf("it answered the ping with id %d, want 0", a.id)
		default:
			e.echoes = a.hasID
			return nil
		}
	}
}

// ping asks an idle engine whether it lives.
func (e *engine) ping(ctx context.Context) error {
	_, _, err := e.ask(ctx, 0, []byte(pingLine), e.cfg.Limits.IdlePong)
	return err
}

// play has the engine answer a move.
func (e *engine) play(ctx context.Context, line moveLine) ([]byte, answer, error) {
	e.id++
	return e.ask(ctx, e.id, line.rest, e.cfg.Limits.SimReply)
}

// ask writes one line and returns its answer. After an error the engine is of no
// more use.
func (e *engine) ask(ctx context.Context, id uint64, rest []byte, limit time.Duration) ([]byte, answer, error) {
	if err := e.quiet(); err != nil {
		return nil, answer{}, err
	}
	if err := e.write(id, rest, limit); err != nil {
		return nil, answer{}, err
	}
	e.timer.Reset(limit)
	defer e.timer.Stop()
	line, err := e.next(ctx)
	if err != nil {
		return nil, answer{}, err
	}
	a, err := readAnswer(line)
	switch {
	case err != nil:
		return nil, a, fmt.Errorf("its reply is %q: %w", clip(string(line), e.cfg.Limits.LogText), err)
	case a.hasID && a.id != id:
		return nil, a, fmt.Errorf("its reply bears id %d, want %d", a.id, id)
	case e.echoes && !a.hasID:
		return nil, a, fmt.Errorf("its reply bears no id, want %d", id)
	}
	return line, a, nil
}

// quiet returns an error if the engine has ended or has written something that
// nobody asked for. Nothing is written to one that is not quiet.
func (e *engine) quiet() error {
	select {
	case r := <-e.lines:
		return e.unasked(r)
	default:
		return nil
	}
}

// write hands the engine one line. One that does not take it within the limit has
// got a part of it and is of no more use.
func (e *engine) write(id uint64, rest []byte, limit time.Duration) error {
	e.out = appendLine(e.out[:0], id, rest)
	e.process.stdin.SetWriteDeadline(time.Now().Add(limit))
	switch _, err := e.process.stdin.Write(e.out); {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: it does not read", errTimeout)
	default:
		return fmt.Errorf("%w: %w", errEnded, err)
	}
}

// next returns the engine's next line. The caller has set the timer.
func (e *engine) next(ctx context.Context) ([]byte, error) {
	select {
	case r := <-e.lines:
		if r.err != nil {
			return nil, e.ended(r.err)
		}
		return r.line, nil
	case <-e.timer.C:
		return nil, errTimeout
	case <-ctx.Done():
		return nil, errStopped
	}
}

// unasked says what is wrong with an engine that wrote, or ended, unasked.
func (e *engine) unasked(r readResult) error {
	if r.err != nil {
		return e.ended(r.err)
	}
	return fmt.Errorf("it wrote a line that nobody asked for: %q", clip(string(r.line), e.cfg.Limits.LogText))
}

func (e *engine) ended(err error) error {
	if errors.Is(err, errLineTooLong) {
		return err
	}
	return fmt.Errorf("%w: %w", errEnded, err)
}

// stop asks the engine to leave, in two steps, and kills it if it does not.
func (e *engine) stop() {
	step := e.cfg.Limits.StopStep
	e.process.stdin.Close()
	if !e.gone(step) {
		e.process.terminate()
		if !e.gone(step) {
			e.log.Warn("engine does not leave and is killed")
		}
	}
	e.kill()
}

// kill ends the engine and its children at once, and returns when nothing of
// them is left: no process, no goroutine, no file.
func (e *engine) kill() {
	e.process.kill()
	e.process.stdin.Close()
	if !e.gone(e.cfg.Limits.ReapTime) {
		e.log.Error("engine does not die; something in the kernel holds it")
		e.process.stdout.Close()
		if e.process.stderr != nil {
			e.process.stderr.file.Close()
		}
	}
	close(e.closed)
	e.pipes.Wait()
}

// gone reports whether the process ended within limit.
func (e *engine) gone(limit time.Duration) bool {
	e.timer.Reset(limit)
	defer e.timer.Stop()
	for {
		select {
		case <-e.process.exited:
			return true
		case <-e.timer.C:
			return false
		case r := <-e.lines: // make way for its last words, so that it can leave
			if r.err != nil {
				e.lines = nil
			}
		}
	}
}
