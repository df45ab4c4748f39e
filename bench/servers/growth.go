package servers

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"kiribashiri/bench/measure"
)

// Growth is the face "what grows with the clients".
var Growth = measure.Face{Name: "growth", Title: "What grows with the clients", Run: runGrowth}

// growing are how many clients there are, each waiting for its answer all the time.
var growing = []int{1, 10, 100, 1000, 10000}

// room is a queue that has place for all of them.
const room = "16384"

func runGrowth(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	server, engine, err := prepare(ctx, b)
	if err != nil {
		return err
	}
	reply, err := replyFile(b.Dir, 200)
	if err != nil {
		return err
	}
	lasts, counts := 3*time.Second, growing
	if b.Smoke {
		lasts, counts = 20*time.Millisecond, growing[:3]
	}
	sim := []string{engine, "-core", strconv.Itoa(otherCore), reply}
	starts := map[string]func() (*child, error){
		ours: func() (*child, error) { return startServer(ctx, b, serverCore, server, sim, "KIRI_QUEUE="+room) },
		node: func() (*child, error) { return startNode(ctx, b, serverCore, sim, "object", "PEER_QUEUE="+room) },
	}
	name := func(who string, clients int) string { return fmt.Sprintf("%s, %d", who, clients) }
	var contestants []measure.Contestant
	for _, who := range []string{ours, node} {
		for _, clients := range counts {
			contestants = append(contestants, measure.Contestant{Name: name(who, clients), Run: func(ctx context.Context) (measure.Sample, error) {
				c, err := starts[who]() // anew each time: what memory it holds is of this crowd
				if err != nil {
					return nil, err
				}
				defer c.stop()
				l := &load{core: otherCore, clients: clients, request: turnRequest(moveBody(200)), status: 200, lasts: lasts}
				sample, err := c.bear(ctx, l)
				if err != nil {
					return nil, err
				}
				held, err := c.memory()
				sample["most"] = float64(held.most) / 1e6
				return sample, err
			}})
		}
	}
	rounds := b.RoundsOr(5)
	b.Log("growth: %d rounds of %d runs", rounds, len(contestants))
	got, err := measure.Interleave(ctx, rounds, contestants)
	if err != nil {
		return err
	}

	s.Say("Each client has a connection and an address of its own and sends its next move of 200 bytes when it has the answer; the queue has room for "+
		"all of them (`KIRI_QUEUE=%s`), and the engine answers at once. The server is started anew for each run of %v. Medians of %d rounds "+
		"(quartiles).", room, lasts, rounds)
	var rows [][]string
	for _, who := range []string{ours, node} {
		for i, clients := range counts {
			n := name(who, clients)
			each := "–"
			if i > 0 {
				each = perClient(got, name(who, counts[i-1]), n, clients-counts[i-1]).Format("%.1f")
			}
			rows = append(rows, []string{who, strconv.Itoa(clients),
				got.Of(n, "rate").Format("%.0f"), got.Of(n, "cpu").Format("%.1f"), got.Of(n, "p50").Times(1e-3).Brief("%.2f"),
				got.Of(n, "most").Format("%.1f"), each})
		}
	}
	s.Table([]string{"", "clients", "moves/s", "CPU µs a move", "p50 ms", "most resident, MB", "KB for each client more"}, rows)

	last := len(counts) - 1
	few, many, most := name(ours, counts[last-2]), name(ours, counts[last-1]), name(ours, counts[last])
	s.Promise(
		measure.AtMost(fmt.Sprintf("a client more costs no more memory at %d clients than at %d, by a fifth", counts[last], counts[last-1]), "%.2f",
			ratio(perClient(got, many, most, counts[last]-counts[last-1]), perClient(got, few, many, counts[last-1]-counts[last-2])), 1.2, ""),
		measure.AtMost(fmt.Sprintf("a move costs no more CPU at %d clients than at %d, by a half", counts[last], counts[1]), "%.2f",
			got.Ratio(most, name(ours, counts[1]), "cpu"), 1.5,
			"A connection costs 55 KB, and 10,000 of them are in no cache of the processor: every request finds its memory cold. From 100 clients to "+
				"10,000 a move costs a third more, where Node's costs a quarter more."),
	)
	return nil
}

// perClient is how many KB of memory each of the clients costs by which two runs
// differ.
func perClient(got measure.Samples, few, many string, clients int) measure.Spread {
	return got.Difference(many, few, "most").Times(1e3 / float64(clients))
}

// ratio is that of two medians, which has no quartiles of its own.
func ratio(a, b measure.Spread) measure.Spread { return measure.Exactly(a.Median / b.Median) }
