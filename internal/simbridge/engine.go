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

	"kiribashiri/internal/nonblock"
)

// An engine is one process from its start to its end. Its lane alone writes to
// it and reads from it, and drops it at the first doubt.
type engine struct {
	cfg     *Config
	log     *slog.Logger
	ctx     context.Context // of the lane; once done, no line is waited for
	process *process
	born    time.Time

	in      *bufio.Reader // of the process's stdout
	out     []byte        // the line that is being written
	sent    uint64        // bytes written to it so far
	broken  error         // why it takes no further line, if it does not
	room    int           // bytes that a line may have if another is in its input too; 0 if none may
	stray   []byte        // room for what it may write unasked
	echoes  bool          // it bears our ids in its replies
	id      uint64        // of the last move
	replies int           // good ones, of moves
	last    uint64        // hash of the last move that it answered and has not outlived yet; 0 for none

	release func()         // called at the end, if there is something else to let go
	unhook  func() bool    // undoes what ctx's end would do to the pipes
	stderr  sync.WaitGroup // the goroutine that reads stderr
}

// Why an engine is given up. Everything that is none of these is a protocol
// failure.
var (
	errEnded   = errors.New("it ended") // the process, or only its output
	errTimeout = errors.New("it did not answer in time")
	errStopped = errors.New("the bridge stops")
	errBehind  = errors.New("the move before broke the protocol")
)

const readBuffer = 32 << 10 // bytes; most replies fit, longer ones are put together

// newEngine takes over a started process. The lane ends it with stop or kill.
func newEngine(ctx context.Context, cfg *Config, log *slog.Logger, p *process) *engine {
	e := &engine{
		cfg:     cfg,
		log:     log,
		ctx:     ctx,
		process: p,
		born:    time.Now(),
		in:      bufio.NewReaderSize(p.stdout, readBuffer),
		room:    min(cfg.Limits.AheadBytes, pipeSize(p.stdin)/2),
		stray:   make([]byte, cfg.Limits.LogText),
	}
	e.unhook = context.AfterFunc(ctx, func() {
		p.stdout.SetReadDeadline(time.Now())
		p.stdin.SetWriteDeadline(time.Now())
	})
	if p.stderr != nil {
		e.stderr.Go(func() { p.stderr.read(cfg, log) })
	}
	return e
}

// greet asks a new engine whether it lives. What it prints before its first JSON
// line is a banner; that line may be a greeting of its own; the line after it, or
// it, is the answer, which tells whether the engine echoes ids.
func (e *engine) greet() error {
	lim := &e.cfg.Limits
	if err := e.write(0, []byte(pingLine), lim.SimReply); err != nil {
		return err
	}
	e.readFor(lim.SimReply)
	late := time.AfterFunc(lim.IdlePong, func() {
		e.log.Warn("engine has not answered its first ping yet", "limit_ms", lim.SimReply.Milliseconds())
	})
	defer late.Stop()
	greeted := false
	for banner := 0; ; {
		line, err := e.read()
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
			if e.echoes {
				return nil
			}
			return e.count()
		}
	}
}

// count makes sure that an engine without ids writes one line for each of ours: a
// line too many at the start, such as a banner in JSON, would make every later
// reply that of the move before.
func (e *engine) count() error {
	if err := e.ping(); err != nil {
		return err
	}
	e.readFor(e.cfg.Limits.Grace)
	switch line, err := e.read(); {
	case errors.Is(err, errTimeout):
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("it wrote a line too many, and has no ids to tell which: %q", clip(string(line), e.cfg.Limits.LogText))
	}
}

// ping asks an idle engine whether it lives.
func (e *engine) ping() error {
	if err := e.quiet(); err != nil {
		return err
	}
	_, _, err := e.ask(0, []byte(pingLine), e.cfg.Limits.IdlePong)
	return err
}

// give writes a turn's line. Its answer comes after those of the lines before it.
func (e *engine) give(t *turn) error {
	t.from = e.sent
	if e.broken = e.write(e.id+1, t.line.rest, e.cfg.Limits.SimReply); e.broken != nil {
		return e.broken
	}
	e.id++
	t.id = e.id
	return nil
}

// answer returns what the engine makes of t, whose turn it is.
func (e *engine) answer(t *turn) (Reply, error) {
	line, a, err := e.receive(t.id, e.cfg.Limits.SimReply)
	if err == nil {
		e.replies++
	}
	return Reply{Line: line, Rejected: a.rejected, State: a.state}, err
}

// unbegun reports whether an engine that is given up has read nothing of the line that
// it was given for t. It kills the engine, so that this stays true.
func (e *engine) unbegun(t *turn) bool {
	e.process.kill()
	return e.process.endsWithin(e.cfg.Limits.ReapTime) && unread(e.process.stdin, e.sent-t.from)
}

// saysNoMore reports whether an engine that was given up because of err has written
// no line in place of the answer that it owes, and so was still at that move. It
// kills the engine, unless the bridge stops.
func (e *engine) saysNoMore(err error) bool {
	switch {
	case errors.Is(err, errStopped):
		return true
	case !errors.Is(err, errEnded) && !errors.Is(err, errTimeout):
		return false
	}
	e.process.kill()
	if !e.process.endsWithin(e.cfg.Limits.ReapTime) {
		return false
	}
	n, _ := takeNow(e.process.stdout, e.stray)
	return n == 0
}

// ask writes one line to an engine that is quiet and returns its answer. After an
// error the engine is of no more use.
func (e *engine) ask(id uint64, rest []byte, limit time.Duration) ([]byte, answer, error) {
	if err := e.write(id, rest, limit); err != nil {
		return nil, answer{}, err
	}
	return e.receive(id, limit)
}

// receive returns the next line, which must be the answer to that with this id.
func (e *engine) receive(id uint64, limit time.Duration) ([]byte, answer, error) {
	e.readFor(limit)
	line, err := e.read()
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

// quiet returns an error if the engine has written something that nobody asked
// for, has ended, or takes no more. Nothing is written to one that is not quiet: where an engine
// does not echo ids, what is left over would pass for the next move's reply.
func (e *engine) quiet() error {
	if e.process.hasExited() {
		return errEnded
	}
	if e.broken != nil {
		return e.broken
	}
	stray, _ := e.in.Peek(e.in.Buffered())
	if len(stray) == 0 {
		n, err := takeNow(e.process.stdout, e.stray)
		if errors.Is(err, nonblock.ErrNotReady) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errEnded, err)
		}
		stray = e.stray[:n]
	}
	return fmt.Errorf("it wrote something that nobody asked for: %q", clip(string(stray), e.cfg.Limits.LogText))
}

// write hands the engine one line. One that does not take it within the limit has
// got a part of it and is of no more use.
func (e *engine) write(id uint64, rest []byte, limit time.Duration) error {
	e.out = appendLine(e.out[:0], id, rest)
	e.process.stdin.SetWriteDeadline(time.Now().Add(limit))
	if e.ctx.Err() != nil { // the end may have come just before the deadline was set
		return errStopped
	}
	n, err := e.process.stdin.Write(e.out)
	e.sent += uint64(n)
	switch {
	case err == nil:
		return nil
	case e.ctx.Err() != nil:
		return errStopped
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: it does not read", errTimeout)
	default:
		return fmt.Errorf("%w: %w", errEnded, err)
	}
}

// readFor sets how long the next lines may take to come. It is shorter once the
// process has ended, for then something else must be holding its pipe.
func (e *engine) readFor(limit time.Duration) {
	out := e.process.stdout
	out.SetReadDeadline(time.Now().Add(limit))
	if e.process.hasExited() {
		out.SetReadDeadline(time.Now().Add(e.cfg.Limits.PipeLinger))
	}
	if e.ctx.Err() != nil {
		out.SetReadDeadline(time.Now())
	}
}

// read returns the engine's next line.
func (e *engine) read() ([]byte, error) {
	line, err := readLine(e.in, e.cfg.Limits.ReplyBytes)
	switch {
	case err == nil, errors.Is(err, errLineTooLong):
		return line, err
	case e.ctx.Err() != nil:
		return nil, errStopped
	case errors.Is(err, os.ErrDeadlineExceeded) && !e.process.hasExited():
		return nil, errTimeout
	default:
		return nil, fmt.Errorf("%w: %w", errEnded, err)
	}
}

// stop asks the engine to leave, in two steps, and kills it if it does not.
func (e *engine) stop() {
	step := e.cfg.Limits.StopStep
	e.process.stdin.Close()
	if !e.process.endsWithin(step) {
		e.process.terminate()
		if !e.process.endsWithin(step) {
			e.log.Warn("engine does not leave and is killed")
		}
	}
	e.kill()
}

// kill ends the engine and its children at once, and returns when nothing of
// them is left: no process, no goroutine, no file.
func (e *engine) kill() {
	e.unhook()
	e.process.kill()
	e.process.stdin.Close()
	if !e.process.endsWithin(e.cfg.Limits.ReapTime) {
		e.log.Error("engine does not die; something in the kernel holds it")
		if e.process.stderr != nil {
			e.process.stderr.file.Close()
		}
	}
	e.process.stdout.Close()
	e.stderr.Wait()
	if e.release != nil {
		e.release()
	}
}
