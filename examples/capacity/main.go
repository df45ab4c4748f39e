// Command capacity says how many machines a number of players needs, by playing
// their moves through a model. docs/SCALING.md has its assumptions and its answers.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A model is what is assumed.
type model struct {
	pause  time.Duration // between a player's moves: reading, choosing, typing
	engine time.Duration // of a core, a move
	own    time.Duration // of a core, a move: the server and Caddy
	cores  int           // a machine, each with an engine
	queue  int           // unanswered moves a machine, as KIRI_QUEUE
	wait   time.Duration // of a hundred moves one may wait this long for an engine
}

// defaults are those of docs/SCALING.md. own is measured there.
var defaults = model{
	pause: 20 * time.Second, engine: 15 * time.Millisecond, own: 1200 * time.Microsecond,
	cores: 2, queue: 32, wait: 250 * time.Millisecond,
}

func main() {
	m := defaults
	flag.DurationVar(&m.pause, "pause", m.pause, "between a player's moves")
	flag.DurationVar(&m.engine, "engine", m.engine, "what a move takes an engine")
	flag.DurationVar(&m.own, "own", m.own, "what a move costs the server and Caddy")
	flag.IntVar(&m.cores, "cores", m.cores, "of a machine, each with an engine")
	flag.IntVar(&m.queue, "queue", m.queue, "unanswered moves of a machine (KIRI_QUEUE)")
	flag.DurationVar(&m.wait, "wait", m.wait, "the longest wait of 99 moves in 100")
	players := flag.String("players", "100,1000,10000,100000,1000000", "at once, with commas between")
	flag.Parse()
	var counts []int
	for entry := range strings.SplitSeq(*players, ",") {
		n, err := strconv.Atoi(entry)
		if err != nil || n < 1 || n > 100_000_000 {
			fmt.Fprintf(os.Stderr, "capacity: -players: %q is no number between 1 and 100000000\n", entry)
			os.Exit(2)
		}
		counts = append(counts, n)
	}
	if m.pause <= 0 || m.engine <= 0 || m.own < 0 || m.cores < 1 || m.queue < 1 || m.wait < 0 {
		fmt.Fprintln(os.Stderr, "capacity: every number must be above 0")
		os.Exit(2)
	}
	m.print(os.Stdout, counts)
}

// print writes a table with a row for each number of players.
func (m model) print(w io.Writer, players []int) {
	fmt.Fprintf(w, "%9s %9s %9s %15s %6s %11s\n", "players", "moves/s", "machines", "busiest has", "busy", "99 % wait")
	for _, n := range players {
		machines, r := m.fit(n)
		fmt.Fprintf(w, "%9d %9s %9d %15s %5.0f%% %8.0f ms\n", n, figure(float64(n)/m.pause.Seconds()), machines,
			figure(float64(m.busiest(n, machines)))+" players", 100*r.busy, r.wait*1000)
	}
}

// figure writes x with two digits that count.
func figure(x float64) string {
	if x < 10 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	step := math.Pow(10, math.Floor(math.Log10(x))-1)
	return strconv.FormatFloat(math.Round(x/step)*step, 'f', 0, 64)
}

// fit returns the fewest machines on which the players are served, and how the
// busiest of them fares.
func (m model) fit(players int) (machines int, r result) {
	machines = 1 + sort.Search(10*players, func(n int) bool { return m.serves(m.play(m.busiest(players, n+1))) })
	return machines, m.play(m.busiest(players, machines))
}

func (m model) serves(r result) bool {
	return r.refused == 0 && r.wait <= m.wait.Seconds() && r.busy <= mostBusy
}

// mostBusy leaves room for what is not in the model: a deploy, a crash, a machine less.
const mostBusy = 0.7

// busiest returns how many players the busiest of some machines has, where a hash of
// their addresses spreads them: more than its share by three standard deviations.
func (m model) busiest(players, machines int) int {
	n, p := float64(players), 1/float64(machines)
	return min(players, int(math.Ceil(n*p+3*math.Sqrt(n*p*(1-p)))))
}

// A result is how one machine fares.
type result struct {
	busy    float64 // part of the time, of its cores
	wait    float64 // of 99 moves in 100, at most, in seconds
	refused int     // because the queue was full
}

// simulated is how many moves are played, the first tenth only to fill the queue.
const simulated = 100_000

// play has a machine serve players: moves come at random (Poisson), each takes one of
// the cores for the same time, and who comes first is served first (M/D/c with a bound).
func (m model) play(players int) result {
	service := (m.engine + m.own).Seconds()
	rate := float64(players) / m.pause.Seconds()
	random := rand.New(rand.NewPCG(1, uint64(players)))
	// Moves take equally long, so they leave in the order in which they came: a move
	// begins when the one that came cores before it leaves, and it is refused if the one
	// that came queue before it has not left.
	left := make([]float64, 0, simulated) // of those that were let in
	leaves := func(before int) float64 {
		if i := len(left) - before; i >= 0 {
			return left[i]
		}
		return 0
	}
	var r result
	var waits []float64
	now := 0.0
	for i := range simulated {
		now += random.ExpFloat64() / rate
		if leaves(m.queue) > now {
			r.refused++
			if r.refused > simulated/100 {
				break // far too many; what follows would be more of it
			}
			continue
		}
		begins := max(now, leaves(m.cores))
		left = append(left, begins+service)
		if i >= simulated/10 {
			waits = append(waits, begins-now)
		}
	}
	r.busy = rate * service / float64(m.cores)
	if len(waits) > 0 {
		slices.Sort(waits)
		r.wait = waits[len(waits)*99/100]
	}
	return r
}
