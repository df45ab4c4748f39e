package servers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"kiribashiri/bench/measure"
)

// Move is the face "our own cost a move".
var Move = measure.Face{Name: "move", Title: "Our own cost a move", Run: runMove}

const (
	ours     = "kiribashiri"
	beside   = "kiribashiri, the build beside it"
	node     = "node"
	nodeLine = "node, line handed on"
	bareName = "bare pipe"
)

// What the profiles of 2026-12-01 showed to stand in the way.
const (
	ownCost = "In the profile of 2026-12-01, with 32 clients, half of a move is system calls: the answer 23 %, the line to the engine 13 %, the request 10 % (with " +
		"net/http's look whether the client has left), the log 3 %. Memory and its collection are 11 %, the log line's text 7 %, net/http's reading 5 % and " +
		"its writing of a header 5 %, reading and checking the move 4 % and the reply 2 %. Node makes as many of the system calls that cost most."
	reading = "In the profile of 2026-12-01 a third of such a move is reading it: that no name stands twice in any of its objects is 17 %. " +
		"The bare pipe reads no HTTP and parses nothing of what it carries."
)

// crowds are how many clients there are.
var crowds = []int{1, 8, 32}

func runMove(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	server, engine, err := prepare(ctx, b)
	if err != nil {
		return err
	}
	lasts, warmups := 500*time.Millisecond, 3
	if b.Smoke {
		lasts, warmups = 20*time.Millisecond, 1
	}
	rounds := b.RoundsOr(15)
	s.Say("The engine answers at once and runs on the other core together with the clients, so that what is booked to the server's "+
		"process is the server's alone: all checks, headers, metrics, and one log line to a file. Node is `peers/server.mjs`; "+
		"“line handed on” is the same without writing the engine's reply anew. A client sends its next move when it has the answer. "+
		"Medians of %d rounds (quartiles). The clients' part of their core says whether they were what limited the rate. One client's "+
		"latency is measured once more with everything on any core, as it is where nobody has said where things run; the bare pipe is a line "+
		"written to the engine and its reply read, in lockstep.", rounds)
	for _, size := range sizes {
		reply, err := replyFile(b.Dir, size.bytes)
		if err != nil {
			return err
		}
		m := &moves{
			rounds: rounds, warmups: warmups, lasts: lasts, size: size.name,
			server: server, body: moveBody(size.bytes),
		}
		s.Say("Moves of %s:", size.name)
		var rows [][]string
		m.core, m.sim = serverCore, []string{engine, "-core", strconv.Itoa(otherCore), reply}
		err = m.compare(ctx, b, crowds, func(clients int, got measure.Samples) {
			rows = append(rows, moveRows(strconv.Itoa(clients), got)...)
			s.Promise(measure.AtMost(fmt.Sprintf("%s, clients: %d: CPU a move at most 0.8 of Node's", size.name, clients), "%.2f", got.Ratio(ours, node, "cpu"), 0.8, ownCost))
		})
		if err != nil {
			return err
		}
		m.core, m.sim = anyCore, []string{engine, reply}
		err = m.compare(ctx, b, []int{1}, func(_ int, got measure.Samples) {
			rows = append(rows, moveRows("1, any core", got)...)
			s.Promise(
				measure.AtMost(size.name+", one client: median latency below Node's", "%.2f", got.Ratio(ours, node, "p50"), 1, ""),
				measure.AtMost(size.name+", one client: median latency at most 100 µs above the bare pipe's round trip", "%.0f µs", got.Difference(ours, bareName, "p50"), 100, reading),
			)
		})
		if err != nil {
			return err
		}
		s.Table([]string{"", "clients", "CPU µs a move", "by Node's", "moves/s", "by Node's", "p50 µs", "p99 µs", "clients' core"}, rows)
	}
	return nil
}

// moves are of one size.
type moves struct {
	rounds, warmups int
	lasts           time.Duration
	size            string
	server          string
	sim             []string
	core            int // of the servers; the clients are on the other
	body            []byte
}

// compare runs everybody with each number of clients.
func (m *moves) compare(ctx context.Context, b *measure.Bench, crowds []int, say func(clients int, got measure.Samples)) error {
	first, err := startServer(ctx, b, m.core, m.server, m.sim)
	if err != nil {
		return err
	}
	defer first.stop()
	second, err := startNode(ctx, b, m.core, m.sim, "object")
	if err != nil {
		return err
	}
	defer second.stop()
	third, err := startNode(ctx, b, m.core, m.sim, "line")
	if err != nil {
		return err
	}
	defer third.stop()
	var another *child
	if b.Beside != "" {
		if another, err = startServer(ctx, b, m.core, b.Beside, m.sim); err != nil {
			return err
		}
		defer another.stop()
	}
	theirs := otherCore
	if m.core == anyCore {
		theirs = anyCore
	}
	for _, clients := range crowds {
		b.Log("move: %s, %d clients, %d rounds", m.size, clients, m.rounds)
		l := load{core: theirs, clients: clients, request: turnRequest(m.body), status: 200, lasts: m.lasts}
		contestants := []measure.Contestant{first.contest(ours, &l), second.contest(node, &l), third.contest(nodeLine, &l)}
		if another != nil {
			contestants = append(contestants, another.contest(beside, &l))
		}
		if clients == 1 {
			lockstep := &bare{core: m.core, engine: m.sim, line: engineLine(m.body), lasts: m.lasts}
			contestants = append(contestants, measure.Contestant{Name: bareName, Run: lockstep.run})
		}
		if _, err := measure.Interleave(ctx, m.warmups, contestants); err != nil {
			return err
		}
		got, err := measure.Interleave(ctx, m.rounds, contestants)
		if err != nil {
			return fmt.Errorf("%s, %d clients: %w", m.size, clients, err)
		}
		if b.Profiles != "" && m.core == serverCore {
			path := filepath.Join(b.Profiles, fmt.Sprintf("move-%d-%d.pprof", len(m.body), clients))
			if err := first.profile(ctx, path, l); err != nil {
				return err
			}
		}
		say(clients, got)
	}
	return nil
}

func moveRows(clients string, got measure.Samples) [][]string {
	var rows [][]string
	for _, who := range []string{ours, beside, node, nodeLine, bareName} {
		if len(got[who]) == 0 {
			continue
		}
		rows = append(rows, []string{
			who, clients,
			got.Of(who, "cpu").Format("%.1f"),
			got.Ratio(who, node, "cpu").Format("%.2f"),
			got.Of(who, "rate").Brief("%.0f"),
			got.Ratio(who, node, "rate").Format("%.2f"),
			got.Of(who, "p50").Format("%.0f"),
			got.Of(who, "p99").Brief("%.0f"),
			got.Of(who, "clients").Times(100).Brief("%.0f %%"),
		})
	}
	return rows
}

// contest returns the child under a load as a contestant.
func (c *child) contest(name string, l *load) measure.Contestant {
	return measure.Contestant{Name: name, Run: func(ctx context.Context) (measure.Sample, error) { return c.bear(ctx, l) }}
}

// bear puts a load on the child and returns its sample.
func (c *child) bear(ctx context.Context, l *load) (measure.Sample, error) {
	c.forget()
	own := *l
	own.addr, own.clock = c.addr, c.cpu
	t, err := own.run(ctx)
	if err != nil {
		return nil, err
	}
	return t.sample(), nil
}

// profile writes a profile of the child's processor time under a load.
func (c *child) profile(ctx context.Context, path string, l load) error {
	const seconds = 5
	l.lasts = (seconds + 1) * time.Second
	loaded := make(chan error, 1)
	go func() { // ends with the load
		_, err := c.bear(ctx, &l)
		loaded <- err
	}()
	response, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", c.admin, seconds))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return err
	}
	return <-loaded
}
