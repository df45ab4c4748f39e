package simbridge

import (
	"context"
	"os"
	"time"
)

// A Bare is an engine without a bridge: the process that a lane would start, with
// nobody who checks what it writes, for who wants to look at an engine closely.
// It is for one goroutine.
type Bare struct{ e *engine }

// StartBare starts the engine of cfg as a lane does. Once ctx is done, nothing waits
// for it any more. It is ended by Kill, in any case.
func StartBare(ctx context.Context, cfg Config) (*Bare, error) {
	p, err := startProcess(&cfg, newReaper())
	if err != nil {
		return nil, err
	}
	return &Bare{newEngine(ctx, &cfg, cfg.Log, p)}, nil
}

// Write writes b to the engine's stdin. If the engine does not take it within limit
// the error is os.ErrDeadlineExceeded.
func (b *Bare) Write(bytes []byte, limit time.Duration) error {
	stdin := b.e.process.stdin
	stdin.SetWriteDeadline(time.Now().Add(limit))
	if b.e.ctx.Err() != nil { // the end may have come just before the deadline was set
		return os.ErrDeadlineExceeded
	}
	_, err := stdin.Write(bytes)
	return err
}

// Read reads what the engine writes to its stdout. If nothing comes within limit, or
// for a moment once the process has ended, the error is os.ErrDeadlineExceeded.
func (b *Bare) Read(bytes []byte, limit time.Duration) (int, error) {
	b.e.readFor(limit)
	return b.e.process.stdout.Read(bytes)
}

// CloseStdin ends the engine's input.
func (b *Bare) CloseStdin() { b.e.process.stdin.Close() }

// CloseStdout leaves the engine without a reader.
func (b *Bare) CloseStdout() { b.e.process.stdout.Close() }

// Exited reports whether the process has ended.
func (b *Bare) Exited() bool { return b.e.process.hasExited() }

// EndsWithin reports whether the process ends within limit.
func (b *Bare) EndsWithin(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(b.e.ctx, limit)
	defer cancel()
	select {
	case <-b.e.process.exited:
		return true
	case <-ctx.Done():
		return b.Exited()
	}
}

// Terminate asks the process and its children to leave, by SIGTERM.
func (b *Bare) Terminate() { b.e.process.terminate() }

// Kill ends the engine at once and returns when nothing of it is left. It says how
// the process ended, and the last that it wrote to stderr.
func (b *Bare) Kill() (status, stderr string) {
	b.e.kill()
	if b.e.process.hasExited() {
		status = b.e.process.status
	}
	return status, b.e.process.stderr.last()
}

// An Answer is what the bridge reads in a reply line.
type Answer struct {
	HasID    bool
	ID       uint64
	Rejected bool // "ok":false
	Ready    bool // "ready":true, the greeting that some engines send first
}

// ReadAnswer checks one reply line, without its line break, as the bridge does.
func ReadAnswer(line []byte) (Answer, error) {
	a, err := readAnswer(line)
	return Answer{HasID: a.hasID, ID: a.id, Rejected: a.rejected, Ready: a.ready}, err
}

// Line returns m as an engine gets it under this id, newline included. A ping is a
// move of kind "ping" with id 0.
func (m Move) Line(id uint64) ([]byte, error) {
	line, err := newLine(m)
	return appendLine(nil, id, line.rest), err
}
