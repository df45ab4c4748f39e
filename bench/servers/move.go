package servers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kiribashiri/bench/measure"
)

// Move is the face "our own cost a move".
var Move = measure.Face{Name: "move", Title: "Our own cost a move", Run: runMove}

const (
	ours     = "kiribashiri"
	node     = "node"
	nodeLine = "node, line handed on"
	bareName = "bare pipe"
)

// crowds are how many clients there are.
var crowds = []int{1, 8, 32}

func runMove(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	server, engine, err := prepare(ctx, b)
	if err != nil {
		return err
	}
	lasts, warm := 700*time.Millisecond, 3*time.Second
	if b.Smoke {
		lasts, warm = 50*time.Millisecond, 50*time.Millisecond
	}
	var contestants []measure.Contestant
	for _, size := range sizes {
		reply, err := replyFile(b.Dir, size.bytes)
		if err != nil {
			return err
		}
		sim := []string{engine, "-core", strconv.Itoa(otherCore), reply}
		body := moveBody(size.bytes)
		name := func(who string, clients int) string { return fmt.Sprintf("%s, %s, %d", who, size.name, clients) }

		starts := map[string]func() (*child, error){
			ours: func() (*child, error) {
				return startServer(ctx, b, "move", server, strings.Join(sim, " "))
			},
			node:     func() (*child, error) { return startNode(ctx, b, "node", sim, "object") },
			nodeLine: func() (*child, error) { return startNode(ctx, b, "node-line", sim, "line") },
		}
		for _, who := range []string{ours, node, nodeLine} {
			c, err := starts[who]()
			if err != nil {
				return err
			}
			defer c.stop()
			for _, clients := range crowds {
				l := &load{addr: c.addr, core: otherCore, clients: clients, request: turnRequest(body), status: 200, lasts: warm}
				if _, err := c.bear(ctx, l); err != nil {
					return fmt.Errorf("%s: %w", name(who, clients), err)
				}
				timed := *l
				timed.lasts = lasts
				contestants = append(contestants, measure.Contestant{Name: name(who, clients), Run: func(ctx context.Context) (measure.Sample, error) {
					return c.bear(ctx, &timed)
				}})
			}
			if who == ours && b.Profiles != "" {
				l := &load{addr: c.addr, core: otherCore, clients: 8, request: turnRequest(body), status: 200}
				if err := c.profile(ctx, filepath.Join(b.Profiles, fmt.Sprintf("move-%d.pprof", size.bytes)), l); err != nil {
					return err
				}
			}
		}
		lockstep := &bare{core: serverCore, engine: sim, line: engineLine(body), lasts: lasts}
		contestants = append(contestants, measure.Contestant{Name: name(bareName, 1), Run: lockstep.run})
	}

	rounds := b.RoundsOr(15)
	b.Log("our own cost a move: %d rounds of %d runs", rounds, len(contestants))
	got, err := measure.Interleave(ctx, rounds, contestants)
	if err != nil {
		return err
	}

	s.Say("The engine answers at once and runs on the other core together with the clients, so that what is booked to the server's "+
		"process is the server's alone: all checks, headers, metrics, and one log line to a file. Node is `peers/server.mjs`; "+
		"“line handed on” is the same without writing the engine's reply anew. A client sends its next move when it has the answer. "+
		"Medians of %d rounds (quartiles). The clients' share of their core says whether they were what limited the rate.", rounds)
	for _, size := range sizes {
		var rows [][]string
		for _, clients := range crowds {
			for _, who := range []string{ours, node, nodeLine} {
				n := fmt.Sprintf("%s, %s, %d", who, size.name, clients)
				base := fmt.Sprintf("%s, %s, %d", node, size.name, clients)
				rows = append(rows, []string{
					who, strconv.Itoa(clients),
					got.Of(n, "cpu").Format("%.1f"),
					got.Ratio(n, base, "cpu").Format("%.2f"),
					fmt.Sprintf("%.0f", got.Of(n, "rate").Median),
					got.Ratio(n, base, "rate").Format("%.2f"),
					fmt.Sprintf("%.0f", got.Of(n, "p50").Median),
					fmt.Sprintf("%.0f", got.Of(n, "p99").Median),
					fmt.Sprintf("%.0f %%", 100*got.Of(n, "clients").Median),
				})
			}
		}
		n := fmt.Sprintf("%s, %s, %d", bareName, size.name, 1)
		rows = append(rows, []string{"bare pipe, lockstep", "–", "–", "–", fmt.Sprintf("%.0f", got.Of(n, "rate").Median), "–", fmt.Sprintf("%.1f", got.Of(n, "p50").Median), "–", "–"})
		s.Say("Moves of %s:", size.name)
		s.Table([]string{"", "clients", "CPU µs a move", "by Node's", "moves/s", "by Node's", "p50 µs", "p99 µs", "clients' core"}, rows)

		for _, clients := range crowds {
			n := fmt.Sprintf("%s, %s, %d", ours, size.name, clients)
			base := fmt.Sprintf("%s, %s, %d", node, size.name, clients)
			s.Promise(measure.AtMost(fmt.Sprintf("%s, %d clients: CPU a move at most 0.8 of Node's", size.name, clients), "%.2f", got.Ratio(n, base, "cpu"), 0.8, ""))
		}
		one, peer := fmt.Sprintf("%s, %s, 1", ours, size.name), fmt.Sprintf("%s, %s, 1", node, size.name)
		s.Promise(
			measure.AtMost(size.name+", one client: median latency below Node's", "%.2f", got.Ratio(one, peer, "p50"), 1, ""),
			measure.AtMost(size.name+", one client: at most 100 µs above the bare pipe's round trip", "%.0f µs", got.Difference(one, n, "p50"), 100, ""),
		)
	}
	return nil
}

// bear puts a load on the child and returns its sample, with the processor time
// that each answer has cost the child, in microseconds.
func (c *child) bear(ctx context.Context, l *load) (measure.Sample, error) {
	c.forget()
	before, err := c.cpu()
	if err != nil {
		return nil, err
	}
	t, err := l.run(ctx)
	if err != nil {
		return nil, err
	}
	after, err := c.cpu()
	if err != nil {
		return nil, err
	}
	s := t.sample()
	s["cpu"] = float64(after-before) / float64(time.Microsecond) / float64(t.answers)
	return s, nil
}

// profile writes a profile of the child's processor time under a load.
func (c *child) profile(ctx context.Context, path string, l *load) error {
	const seconds = 5
	l.lasts = (seconds + 1) * time.Second
	loaded := make(chan error, 1)
	go func() { // ends with the load
		_, err := l.run(ctx)
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
