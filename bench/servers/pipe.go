package servers

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"kiribashiri/bench/measure"
)

// Pipe is the face "the engine never waits for us".
var Pipe = measure.Face{Name: "pipe", Title: "The engine never waits for us", Run: runPipe}

// thoughts are the engines of this face: how they pass their time, and which share
// of its rate an engine must keep.
var thoughts = []struct {
	how    string
	shared string // the same where the engine has no core for itself
	think  time.Duration
	keeps  float64
	lasts  time.Duration // a run
}{
	{"sleep", "sleep", time.Millisecond, 0.98, 700 * time.Millisecond},
	{"busy", "work", time.Millisecond, 0.98, 700 * time.Millisecond},
	{"sleep", "sleep", 15 * time.Millisecond, 0.99, 1500 * time.Millisecond},
	{"busy", "work", 15 * time.Millisecond, 0.99, 1500 * time.Millisecond},
}

// pipeBytes is how large the moves of this face are.
const pipeBytes = 200

// waiting is how many clients wait for the engine in this face.
var waiting = []int{8, 32}

func runPipe(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	server, engine, err := prepare(ctx, b)
	if err != nil {
		return err
	}
	reply, err := replyFile(b.Dir, pipeBytes)
	if err != nil {
		return err
	}
	rounds := b.RoundsOr(11)
	var kept, gained [][]string
	for _, t := range thoughts {
		think := fmt.Sprintf("%s %v", t.how, t.think)
		b.Log("pipe: %s, %d rounds", think, rounds)
		lasts := t.lasts
		if b.Smoke {
			lasts = 20 * time.Millisecond
		}
		us := strconv.FormatInt(t.think.Microseconds(), 10)
		sim := []string{engine, "-core", strconv.Itoa(otherCore), "-" + t.how, us, reply}

		got, err := keep(ctx, b, rounds, server, sim, lasts)
		if err != nil {
			return fmt.Errorf("%s: %w", think, err)
		}
		kept = append(kept, []string{think, "bare pipe", got.Of(bareName, "rate").Brief("%.1f"), "–", "–"})
		for _, clients := range waiting {
			who := fmt.Sprintf("%d clients", clients)
			share := got.Ratio(who, bareName, "rate").Times(100)
			kept = append(kept, []string{think, who, got.Of(who, "rate").Brief("%.1f"), share.Format("%.1f %%"), got.Of(who, "cpu").Format("%.0f")})
			s.Promise(measure.AtLeast(fmt.Sprintf("%s, %s: keeps %.0f %% of the bare pipe's rate", think, who, 100*t.keeps), "%.1f %%", share, 100*t.keeps, ""))
		}

		if got, err = double(ctx, b, rounds, server, []string{engine, "-" + t.shared, us, reply}, lasts); err != nil {
			return fmt.Errorf("%s, two engines: %w", think, err)
		}
		gain := got.Ratio("2 engines", "1 engines", "rate")
		gained = append(gained, []string{think, got.Of("1 engines", "rate").Brief("%.1f"), got.Of("2 engines", "rate").Brief("%.1f"), gain.Format("%.2f")})
		// Two engines that work, a server and its clients need more than two cores, and
		// the more the faster the engines are.
		if t.how == "sleep" || t.think >= 10*time.Millisecond || runtime.NumCPU() > 2 {
			s.Promise(measure.AtLeast(think+": two engines play at least 1.9 × as many moves as one", "%.2f", gain, 1.9,
				"Where two engines are busy on two cores, the server and its clients take their part from both."))
		}
	}

	s.Say("An engine that thinks for as long as it says, asleep or busy, has one core for itself; the server and its clients have the other. "+
		"The bare pipe is the same engine with its next lines always in the pipe. Each client sends its next move when it has the answer, so "+
		"all of them but one wait. Moves of %d bytes; medians of %d rounds (quartiles).", pipeBytes, rounds)
	s.Table([]string{"engine", "", "moves/s", "of the bare pipe", "CPU µs a move"}, kept)
	s.Say("Two engines beside one, 32 clients, everything on any of the %d cores. Busy engines use so much processor time here, as real work does: "+
		"on two cores the server and its clients take their part from two of them, so with 1 ms a move 1.9 times cannot be.", runtime.NumCPU())
	s.Table([]string{"engine", "one, moves/s", "two, moves/s", "gain"}, gained)
	return nil
}

// keep measures how much of the bare pipe's rate an engine keeps.
func keep(ctx context.Context, b *measure.Bench, rounds int, server string, sim []string, lasts time.Duration) (measure.Samples, error) {
	c, err := startServer(ctx, b, serverCore, server, sim)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	body := moveBody(pipeBytes)
	pipe := &bare{core: serverCore, engine: sim, line: engineLine(body), ahead: 4, lasts: lasts}
	contestants := []measure.Contestant{{Name: bareName, Run: pipe.run}}
	for _, clients := range waiting {
		contestants = append(contestants, c.contest(fmt.Sprintf("%d clients", clients),
			// The clients stay on the server's core, since the engine may keep its own busy.
			&load{core: serverCore, clients: clients, request: turnRequest(body), status: 200, lasts: lasts}))
	}
	return measure.Interleave(ctx, rounds, contestants)
}

// double measures one engine and two.
func double(ctx context.Context, b *measure.Bench, rounds int, server string, sim []string, lasts time.Duration) (measure.Samples, error) {
	var contestants []measure.Contestant
	for _, engines := range []string{"1", "2"} {
		c, err := startServer(ctx, b, anyCore, server, sim, "KIRI_SIM_ENGINES="+engines)
		if err != nil {
			return nil, err
		}
		defer c.stop()
		contestants = append(contestants, c.contest(engines+" engines",
			&load{core: anyCore, clients: 32, request: turnRequest(moveBody(pipeBytes)), status: 200, lasts: lasts}))
	}
	return measure.Interleave(ctx, rounds, contestants)
}
