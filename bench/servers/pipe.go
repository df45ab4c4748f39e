package servers

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"kiribashiri/bench/measure"
)

// Pipe is the face "the engine never waits for us".
var Pipe = measure.Face{Name: "pipe", Title: "The engine never waits for us", Run: runPipe}

// thoughts are the engines of this face: how they pass their time, and which share
// of its rate an engine must keep.
var thoughts = []struct {
	how   string
	think time.Duration
	keeps float64
	lasts time.Duration // a run, so long that one move more or less does not count
}{
	{"sleep", time.Millisecond, 0.98, time.Second},
	{"busy", time.Millisecond, 0.98, time.Second},
	{"sleep", 15 * time.Millisecond, 0.99, 2500 * time.Millisecond},
	{"busy", 15 * time.Millisecond, 0.99, 2500 * time.Millisecond},
}

// waiting is how many clients wait for the engine in this face.
var waiting = []int{8, 32}

func runPipe(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	server, engine, err := prepare(ctx, b)
	if err != nil {
		return err
	}
	const bytes = 200
	reply, err := replyFile(b.Dir, bytes)
	if err != nil {
		return err
	}
	body := moveBody(bytes)
	var contestants []measure.Contestant
	add := func(name string, c *child, core, clients int, lasts time.Duration) {
		l := &load{addr: c.addr, core: core, clients: clients, request: turnRequest(body), status: 200, lasts: lasts}
		contestants = append(contestants, measure.Contestant{Name: name, Run: func(ctx context.Context) (measure.Sample, error) {
			return c.bear(ctx, l)
		}})
	}
	for _, t := range thoughts {
		lasts := t.lasts
		if b.Smoke {
			lasts = 20 * time.Millisecond
		}
		think := fmt.Sprintf("%s %v", t.how, t.think)
		sim := []string{engine, "-core", strconv.Itoa(otherCore), "-" + t.how, strconv.FormatInt(t.think.Microseconds(), 10), reply}
		pipe := &bare{core: serverCore, engine: sim, line: engineLine(body), ahead: 4, lasts: lasts}
		contestants = append(contestants, measure.Contestant{Name: bareName + ", " + think, Run: pipe.run})
		c, err := startServer(ctx, b, "pipe", server, strings.Join(sim, " "))
		if err != nil {
			return err
		}
		defer c.stop()
		for _, clients := range waiting {
			// With an engine that keeps its core busy, the clients stay on the server's.
			add(fmt.Sprintf("%s, %s, %d", ours, think, clients), c, serverCore, clients, lasts)
		}

		// Two engines may run wherever the kernel finds a core.
		free := []string{engine, "-" + t.how, sim[4], reply}
		for _, engines := range []string{"1", "2"} {
			c, err := startServerOn(ctx, b, "pipe", anyCore, server, strings.Join(free, " "), "KIRI_SIM_ENGINES="+engines)
			if err != nil {
				return err
			}
			defer c.stop()
			add(fmt.Sprintf("%s engines, %s", engines, think), c, anyCore, 32, lasts)
		}
	}

	rounds := b.RoundsOr(11)
	b.Log("the engine never waits for us: %d rounds of %d runs", rounds, len(contestants))
	got, err := measure.Interleave(ctx, rounds, contestants)
	if err != nil {
		return err
	}

	s.Say("An engine that thinks for as long as it says, asleep or busy, has one core for itself; the server and its clients have the other. "+
		"The bare pipe is the same engine with its next lines always in the pipe. Each client sends its next move when it has the answer, so "+
		"all of them but one wait. Moves of %d bytes; medians of %d rounds (quartiles).", bytes, rounds)
	var rows [][]string
	for _, t := range thoughts {
		think := fmt.Sprintf("%s %v", t.how, t.think)
		base := bareName + ", " + think
		rows = append(rows, []string{think, "bare pipe", fmt.Sprintf("%.1f", got.Of(base, "rate").Median), "–", "–"})
		for _, clients := range waiting {
			n := fmt.Sprintf("%s, %s, %d", ours, think, clients)
			kept := got.Ratio(n, base, "rate")
			rows = append(rows, []string{think, fmt.Sprintf("%d clients", clients), fmt.Sprintf("%.1f", got.Of(n, "rate").Median), kept.Times(100).Format("%.1f %%"), got.Of(n, "cpu").Format("%.0f")})
			s.Promise(measure.AtLeast(fmt.Sprintf("%s, %d clients: keeps %.0f %% of the bare pipe's rate", think, clients, 100*t.keeps), "%.1f %%", kept.Times(100), 100*t.keeps, ""))
		}
	}
	s.Table([]string{"engine", "", "moves/s", "of the bare pipe", "CPU µs a move"}, rows)

	s.Say("Two engines beside one, 32 clients, everything on any core. Two busy engines on %d cores leave none for the server and its clients, who then "+
		"take their share from the engines.", runtime.NumCPU())
	rows = nil
	for _, t := range thoughts {
		think := fmt.Sprintf("%s %v", t.how, t.think)
		gain := got.Ratio("2 engines, "+think, "1 engines, "+think, "rate")
		rows = append(rows, []string{think, fmt.Sprintf("%.1f", got.Of("1 engines, "+think, "rate").Median), fmt.Sprintf("%.1f", got.Of("2 engines, "+think, "rate").Median), gain.Format("%.2f")})
		if t.how == "sleep" || runtime.NumCPU() > 2 || t.think > 10*time.Millisecond {
			s.Promise(measure.AtLeast(think+": two engines play at least 1.9 × as many moves as one", "%.2f", gain, 1.9, ""))
		}
	}
	s.Table([]string{"engine", "one, moves/s", "two, moves/s", "gain"}, rows)
	return nil
}
