// Package simbridge plays moves on the engine: a child process that reads one
// JSON line and writes one JSON line for each move, in order.
//
// One goroutine, a lane, owns each process. The engine keeps nothing between
// moves, so whenever it dies, stalls or breaks the protocol its lane kills it
// and starts another; only the turn that was being played fails, and it is never
// played again by us. The one thing that must not happen is that a reply reaches
// a caller who did not ask for it: the process that could send a late one is dead
// before the next line is written, and one that echoes our ids cannot send a wrong
// one unnoticed. An engine without ids is watched for stray lines, but one that
// comes while the next move is already being played cannot be told from its reply.
package simbridge

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"kiribashiri/internal/limits"
)

// What a move can meet instead of a reply. They may come wrapped with a detail
// that is for the log, not for the caller's client.
var (
	ErrEngineDown    = errors.New("no engine is up")
	ErrQueueFull     = errors.New("the queue is full")
	ErrPoisonMove    = errors.New("this move has ended two engines")
	ErrEngineFailed  = errors.New("the engine failed")
	ErrEngineTimeout = errors.New("the engine was too slow")
)

// Config is what a [Bridge] needs to know. All fields must be set.
type Config struct {
	Command []string // the engine's program and arguments; looked up as by a shell at every start
	Env     []string // its whole environment, as "NAME=value"
	Limits  limits.Limits
	Log     *slog.Logger
}

// A Move is what a player asks of the engine.
type Move struct {
	Kind  string
	Input *string // nil if there is none
	State []byte  // one valid JSON value, handed on as it came; nil if there is none
}

// A Reply is what came of a move.
type Reply struct {
	// Line is the engine's line as it came, without its newline.
	Line []byte
	// Rejected says that the engine refuses the move by its rules ("ok":false).
	Rejected bool
	// State is where the value of "state" stands in Line; empty if there is none.
	State Span
	// Wait is how long the move waited for an engine, and Think how long that took
	// to answer. They are set as far as the move came, also beside an error.
	Wait, Think time.Duration
}

// A Span is a part of a line, from a byte to before another.
type Span struct{ From, To int }

// A Bridge plays moves on one or more engines that share a queue. [Bridge.Run]
// keeps the engines; any number of goroutines may call [Bridge.Play].
type Bridge struct {
	cfg   Config
	start func() (*process, error) // starts an engine's process; tests put a pipe in its place

	// A move holds a slot from the moment it is taken until it is answered or, if
	// no engine has it yet, its caller leaves.
	slots chan struct{}
	turns chan *turn // unbuffered: callers wait in it, first come, first served

	returned sync.WaitGroup // of turns that wait again for a lane

	reaper *reaper

	lanes   []*lane
	engines presence
	poison  poison
	starts  [len(causes)]atomic.Uint64
}

// A turn is one move on its way through the queue and the engine.
type turn struct {
	ctx  context.Context // of the caller; once done, nobody waits for the turn
	line moveLine
	came time.Time
	done chan result // 1-buffered, so that a lane never waits for a caller

	// Of the lane that has it.
	id       uint64 // under which its engine has the line; 0 while it has not
	from     uint64 // where the line begins in what its engine was sent
	ahead    bool   // the line was written while another move was being played
	returned bool   // another lane had it, and its engine ended before it was begun
}

type result struct {
	reply Reply
	err   error
}

// New returns a bridge without an engine; Run starts them, and moves that come
// before it wait.
func New(cfg Config) *Bridge {
	b := &Bridge{
		cfg:   cfg,
		slots: make(chan struct{}, cfg.Limits.Queue),
		turns: make(chan *turn),

		reaper: newReaper(),
	}
	b.start = func() (*process, error) { return startProcess(&b.cfg, b.reaper) }
	for n := range cfg.Limits.SimEngines {
		b.lanes = append(b.lanes, b.newLane(n))
	}
	b.engines.init(cfg.Limits.EngineGone)
	b.poison.init(cfg.Limits.PoisonFor, cfg.Limits.PoisonMoves)
	return b
}

// Run starts the engines and keeps them running until ctx is done; then it stops
// them and returns nil once they are gone. Before that it returns only if the
// engine's program cannot be executed at all at the first start.
//
// Moves that are still being played when ctx ends fail with ErrEngineDown, so
// callers end the moves first and Run after them.
func (b *Bridge) Run(ctx context.Context) error {
	b.engines.expect()
	defer b.returned.Wait()
	defer b.engines.end()
	defer context.AfterFunc(ctx, b.engines.end)() // who waits is told at once
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range b.lanes {
		group.Go(func() error { return l.run(ctx) })
	}
	group.Go(func() error { b.reaper.reapOrphans(ctx); return nil })
	return group.Wait()
}

// Swap replaces every engine by one newly started from the same command, without
// failing a move: the new one plays once it has answered the ping, and the old one
// leaves. If the new one does not come up, the old one stays and the log says why.
// Swap does not wait for any of this.
func (b *Bridge) Swap() {
	for _, l := range b.lanes {
		select {
		case l.swap <- struct{}{}:
		default: // one is asked for already, and has not begun
		}
	}
}

// Settled returns a channel that is closed once the start has shown how it goes:
// an engine is up, or one has failed to come up, or Run has ended.
func (b *Bridge) Settled() <-chan struct{} { return b.engines.first }

// Play has an engine answer m and returns its reply. It returns one of this
// package's errors, or the cause of ctx's end if the caller left first; an engine
// that already has the move finishes it all the same, and keeps its slot so long.
func (b *Bridge) Play(ctx context.Context, m Move) (Reply, error) {
	line, err := newLine(m)
	if err != nil {
		return Reply{}, err
	}
	select {
	case <-b.engines.gone():
		return Reply{}, ErrEngineDown
	default:
	}
	select {
	case b.slots <- struct{}{}:
	default:
		return Reply{}, ErrQueueFull
	}
	if b.poison.refuses(line.hash) {
		<-b.slots
		return Reply{}, ErrPoisonMove
	}

	t := &turn{ctx: ctx, line: line, came: time.Now(), done: make(chan result, 1)}
	if err := b.handOver(t, nil); err != nil {
		<-b.slots
		return Reply{Wait: time.Since(t.came)}, err
	}
	select {
	case r := <-t.done:
		return r.reply, r.err
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
}

// handOver waits until a lane takes t, and its slot with it, or says why none will.
// Once keep is closed nobody waits any more: then it is errKept.
func (b *Bridge) handOver(t *turn, keep <-chan struct{}) error {
	select {
	case b.turns <- t:
		return nil
	case <-b.engines.gone():
		return ErrEngineDown
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	case <-keep:
		return errKept
	}
}

var errKept = errors.New("no lane has taken the turn so far")

// giveBack lets another engine have a turn that its lane has not begun. The lane
// does not wait for it.
func (b *Bridge) giveBack(t *turn) {
	t.id, t.ahead, t.returned = 0, false, true
	b.returned.Go(func() { // ends as handOver does, at the latest when Run ends
		if err := b.handOver(t, nil); err != nil {
			b.drop(t, err)
		}
	})
}

// lend lets another lane have a turn until takeBack is called, which returns it, or
// nil if it has gone.
func (b *Bridge) lend(t *turn) (takeBack func() *turn) {
	keep, kept := make(chan struct{}), make(chan *turn, 1)
	b.returned.Go(func() { // ends as handOver does, at the latest when it is taken back
		switch err := b.handOver(t, keep); {
		case errors.Is(err, errKept):
			kept <- t
		case err != nil:
			b.drop(t, err)
			fallthrough
		default:
			kept <- nil
		}
	})
	return func() *turn {
		close(keep)
		return <-kept
	}
}

// drop gives the slot of a turn back that no lane will take, and says why.
func (b *Bridge) drop(t *turn, err error) {
	<-b.slots
	t.done <- result{Reply{Wait: time.Since(t.came)}, err}
}

// A Status is what an operator wants to know of a bridge.
type Status struct {
	Engines int // that should be up
	Up      int // that are: they have answered, and nothing is known against them
	Waiting int // moves that are unanswered, those being played included
	// States counts the engines by what they are doing: "starting", "idle",
	// "playing" or "pausing" (none is there, and the next is not started yet).
	States map[string]int
	// Starts counts the engines started so far by why: "boot", "swap" (asked for),
	// "recycle" (the last one has played its share of moves), "exit" (it ended by
	// itself), "timeout", "protocol" (it was killed) or "failed_start".
	Starts map[string]uint64
}

// Status reports how the bridge is.
func (b *Bridge) Status() Status {
	s := Status{
		Engines: b.cfg.Limits.SimEngines,
		Up:      b.engines.count(),
		Waiting: len(b.slots),
		States:  make(map[string]int, len(states)),
		Starts:  make(map[string]uint64, len(causes)),
	}
	for _, name := range states {
		s.States[name] = 0
	}
	for _, l := range b.lanes {
		s.States[states[l.state.Load()]]++
	}
	for i, name := range causes {
		s.Starts[name] = b.starts[i].Load()
	}
	return s
}

// causes are the reasons to start an engine.
var causes = [...]string{"boot", causeSwap, causeRecycle, "exit", "timeout", "protocol", "failed_start"}

const (
	causeSwap    = "swap"
	causeRecycle = "recycle"
)

func (b *Bridge) countStart(cause string) {
	b.starts[slices.Index(causes[:], cause)].Add(1)
}
