// Package limits holds every number that bounds the server: one struct, each
// field with its unit and its reason. Nothing else in the code is a bare number.
//
// The fields with an env tag are the operator's to set; the others are bounds
// that no operator needs to move, and stand here so that tests can shorten them
// and readers find them.
package limits

import (
	"fmt"
	"math"
	"time"
)

// Limits is every bound of one server. [Default] fills it.
type Limits struct {
	// One client.

	// PerIPPerSec is how many tokens a client earns a second. A person who types
	// never meets two a second; a script that does not wait does.
	PerIPPerSec float64 `env:"KIRI_PER_IP_PER_SEC"`
	// PerIPBurst is how many tokens a bucket holds, so how many moves may come at once.
	PerIPBurst float64 `env:"KIRI_PER_IP_BURST"`
	// Clients is how many clients the limiter remembers at once, at about 40 bytes
	// each. Beyond it those nearest to a full bucket are forgotten first.
	Clients int `env:"KIRI_CLIENTS"`

	// A store that several servers share.

	// StoreTime is how long one move waits for the shared store's answer. A store on
	// the same network answers in a fraction of a millisecond.
	StoreTime time.Duration
	// StoreCalls is how many moves ask the store at once; more are not worth a wait.
	StoreCalls int
	// StoreDial bounds each step of reaching the store, which no move waits for.
	StoreDial time.Duration
	// StorePause is how long a store that is away is left alone before it is tried
	// again.
	StorePause time.Duration

	// One move.

	// BodyBytes bounds a request's body. A state is a few KiB.
	BodyBytes int64 `env:"KIRI_BODY_BYTES"`
	// InputChars bounds what a player types, in Unicode code points.
	InputChars int `env:"KIRI_INPUT_CHARS"`
	// BrowserIDChars bounds a browser's name for itself, in code points; it is only logged.
	BrowserIDChars int
	// Depth bounds the nesting of a move's JSON, its own object being level 1: an
	// engine's parser may recurse.
	Depth int

	// The queue and the engines.

	// Queue is how many moves may be unanswered in all, those being played
	// included. At 15 ms a move the last of 32 waits half a second.
	Queue int `env:"KIRI_QUEUE"`
	// SimEngines is how many engine processes share the one queue.
	SimEngines int `env:"KIRI_SIM_ENGINES"`
	// SimReply is how long an engine may think about one line, from the moment it
	// has it, and how long it may take to accept the line before that.
	SimReply time.Duration `env:"KIRI_SIM_REPLY"`
	// AheadBytes bounds a line that is written while the engine still plays another.
	// Two of them fit into a pipe, so that writing never waits for an engine that
	// waits for us to read.
	AheadBytes int
	// ReplyBytes bounds one reply line, its newline not counted.
	ReplyBytes int
	// BannerLines is how many lines an engine may print before its first JSON line.
	BannerLines int
	// Grace is how long an engine that does not echo ids is watched at its start for
	// a line too many.
	Grace time.Duration
	// IdlePing is how long an engine may be idle before it is asked whether it lives.
	IdlePing time.Duration
	// IdlePong is how long an idle engine may take to answer that. It is shorter
	// than SimReply, since a player who comes meanwhile waits for it too.
	IdlePong time.Duration
	// EngineGone is for how long moves wait for the next engine once the last one
	// has gone; after that they are refused.
	EngineGone time.Duration
	// BackoffMin and BackoffMax bound the random pause before an engine is started
	// again, from the second start in a row on; the first comes at once.
	BackoffMin, BackoffMax time.Duration
	// Healthy is how long an engine must have been up, with at least one good
	// reply, for the pauses to begin anew.
	Healthy time.Duration
	// StopStep is how long an engine is given to leave after each of the polite
	// steps: closed stdin, then SIGTERM.
	StopStep time.Duration
	// EngineMoves is after how many moves an engine is replaced by a fresh one, with
	// no move lost: one that leaks a kilobyte a move stays within 100 MB.
	EngineMoves int
	// PipeLinger is how long after an engine's exit its pipes are still read:
	// something that has left its process group may hold them open for ever.
	PipeLinger time.Duration
	// ReapTime is how long a killed process may take to disappear before it is
	// given up, which only a process stuck in the kernel does.
	ReapTime time.Duration
	// PoisonFor is for how long a move that ended two engines is refused, and
	// within how long the two must have ended.
	PoisonFor time.Duration
	// PoisonMoves is how many moves that ended an engine are remembered.
	PoisonMoves int
	// StderrTail is how many bytes of an engine's stderr are kept to explain its end.
	StderrTail int
	// StderrLine is how many bytes of one stderr line reach the log.
	StderrLine int
	// StderrPerSec and StderrBurst bound how many of its stderr lines reach the log.
	StderrPerSec, StderrBurst float64

	// HTTP.

	// Conns is how many connections there may be at once, besides those whose moves
	// are in the queue. One that is too many has the one closed that has let the
	// server wait longest. Idle, one costs 20 KiB or so; with a header and a body as
	// large as they may be, about 150 KiB: all of them at their worst fit into the
	// memory of the unit that we ship.
	Conns int
	// SendBuffer is how many bytes of answers that nobody reads the kernel keeps for one
	// connection. Left to itself it keeps megabytes.
	SendBuffer int
	// AdminConns is the same for the admin listener.
	AdminConns int
	// EngineFiles is how many files one engine needs, with another one that is being
	// started beside it; OtherFiles is for all the rest but connections.
	EngineFiles, OtherFiles int
	// HeaderBytes bounds a request's header.
	HeaderBytes int
	// HeaderTime bounds the arrival of a request's header.
	HeaderTime time.Duration
	// RequestTime bounds the arrival of a whole request.
	RequestTime time.Duration
	// WriteTime bounds each wait of an answer for its reader, of which there are three
	// at most.
	WriteTime time.Duration
	// IdleTime bounds the pause between two requests on one connection. It must be
	// longer than the proxy's, or a move meets a connection that is just closing.
	IdleTime time.Duration
	// Renders is how many pages of the calculator are made at once. One takes
	// milliseconds, spends no token, and must not take the processor from the moves.
	Renders int
	// LogText is how many bytes of a text that a stranger chose reach one log line.
	LogText int

	// Starting and stopping.

	// StartWait is how long, at the start, connections wait for the first engine
	// instead of being told that there is none: behind a socket that outlives the
	// server, a restart then costs a wait and no move. A page waits as long for a move.
	StartWait time.Duration

	// DrainClose is for how long answers carry "Connection: close" before the
	// listener closes. It must be longer than the proxy keeps idle connections.
	DrainClose time.Duration
	// DrainWait bounds the wait for the moves that are still being played.
	DrainWait time.Duration
	// HealthTime bounds one question of `server health`.
	HealthTime time.Duration

	// Checking an engine.

	// CheckQuiet is how long `server check` watches an engine that it has asked
	// nothing for a line that nobody asked for: its timers may be slow.
	CheckQuiet time.Duration
	// CheckMoves is how many moves it plays to see an engine in ordinary play.
	CheckMoves int
	// CheckStates is how many spoilt states it sends: a few for each member of one.
	CheckStates int
	// CheckBytes bounds the large state that it sends, where BodyBytes allows more.
	CheckBytes int64
	// PageWait is how long the page waits for an answer; web/app.js has it too.
	PageWait time.Duration
	// PageOffers is how many offers of one kind the page shows; web/shelf.js has it too.
	PageOffers int
}

// Default returns the limits of a server that nobody has configured.
func Default() Limits {
	return Limits{
		PerIPPerSec: 2,
		PerIPBurst:  2,
		Clients:     1_000_000,

		StoreTime:  5 * time.Millisecond,
		StoreCalls: 512,
		StoreDial:  time.Second,
		StorePause: time.Second,

		BodyBytes:      64 << 10,
		InputChars:     200,
		BrowserIDChars: 64,
		Depth:          64,

		Queue:        32,
		SimEngines:   1,
		SimReply:     30 * time.Second,
		AheadBytes:   32 << 10,
		ReplyBytes:   1 << 20,
		BannerLines:  100,
		Grace:        100 * time.Millisecond,
		IdlePing:     15 * time.Second,
		IdlePong:     5 * time.Second,
		EngineGone:   time.Second,
		BackoffMin:   100 * time.Millisecond,
		BackoffMax:   30 * time.Second,
		Healthy:      10 * time.Second,
		StopStep:     time.Second,
		EngineMoves:  100_000,
		PipeLinger:   100 * time.Millisecond,
		ReapTime:     5 * time.Second,
		PoisonFor:    10 * time.Minute,
		PoisonMoves:  1024,
		StderrTail:   8 << 10,
		StderrLine:   1 << 10,
		StderrPerSec: 10,
		StderrBurst:  100,

		Conns:       1024,
		SendBuffer:  64 << 10,
		AdminConns:  32,
		EngineFiles: 16,
		OtherFiles:  64,
		HeaderBytes: 16 << 10,
		HeaderTime:  5 * time.Second,
		RequestTime: 15 * time.Second,
		WriteTime:   30 * time.Second,
		IdleTime:    2 * time.Minute,
		Renders:     1,
		LogText:     256,

		StartWait:  10 * time.Second,
		DrainClose: 2500 * time.Millisecond,
		DrainWait:  10 * time.Second,
		HealthTime: 3 * time.Second,

		CheckQuiet:  time.Second,
		CheckMoves:  40,
		CheckStates: 200,
		CheckBytes:  1 << 20,
		PageWait:    10 * time.Second,
		PageOffers:  60,
	}
}

// Mistakes returns one error for each value an operator may set that cannot
// serve, each with its variable's name.
func (l Limits) Mistakes() []error {
	var mistakes []error
	check := func(ok bool, name, rule string, got any) {
		if !ok {
			mistakes = append(mistakes, fmt.Errorf("%s: must be %s, got %v", name, rule, got))
		}
	}
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	check(finite(l.PerIPPerSec) && l.PerIPPerSec > 0, "KIRI_PER_IP_PER_SEC", "a finite number above 0", l.PerIPPerSec)
	check(finite(l.PerIPBurst) && l.PerIPBurst >= 1, "KIRI_PER_IP_BURST", "a finite number, at least 1", l.PerIPBurst)
	check(l.Clients >= 1 && l.Clients <= 1<<30, "KIRI_CLIENTS", "between 1 and 1073741824", l.Clients)
	check(l.BodyBytes >= 1 && l.BodyBytes <= 64<<20, "KIRI_BODY_BYTES", "between 1 and 67108864 bytes", l.BodyBytes)
	check(l.InputChars >= 1 && int64(l.InputChars) <= 64<<20, "KIRI_INPUT_CHARS", "between 1 and 67108864 characters", l.InputChars)
	check(l.Queue >= 1 && l.Queue <= 1<<20, "KIRI_QUEUE", "between 1 and 1048576 moves", l.Queue)
	check(l.SimEngines >= 1 && l.SimEngines <= 1<<10, "KIRI_SIM_ENGINES", "between 1 and 1024", l.SimEngines)
	check(l.SimReply >= time.Millisecond && l.SimReply <= time.Hour, "KIRI_SIM_REPLY", "between 1ms and 1h", l.SimReply)
	return mistakes
}
