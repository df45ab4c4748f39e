package calculator

import (
	"math"
	"strconv"
)

const largest = math.MaxFloat64

// A burst is the requests on the screen: those of the burst line, or the one of
// the five fields.
type burst struct {
	Single    bool // the one of the five fields
	Rows      []row
	Allowed   int
	Denied    int
	Graph     *graph
	Relatives []kin
}

// A row is one request in the table.
type row struct {
	Number    int
	At        string
	Available string
	Allowed   bool
	Remaining string
	Wait      string // "" if allowed
	Never     bool   // it can never be allowed
}

// point is where its mark in the drawing is.
func (r row) point() string { return "#" + pointID(r.Number) }

// pointID names a request's mark in the drawing.
func pointID(number int) string { return "point-" + strconv.Itoa(number) }

// A kin is a relative and what it does with the burst.
type kin struct {
	ID      string
	Name    string
	Allowed int
	Tally   string // when it lets requests pass
	More    int    // than the token bucket
	Fewer   int
	Differs bool    // it decides otherwise somewhere
	Slowest string  // the longest that a request waits in it, or ""
	Window  string  // how long its window is, or ""
	Edges   float64 // the same in seconds; 0 if it has no fixed one
}

func newBurst(in Input, times []float64) *burst {
	b := &burst{Single: len(times) == 0}
	if b.Single {
		times = []float64{in.Elapsed}
	}
	steps, w := fold(in, times)
	if b.Single { // exactly the answer above, to the last digit
		out := in.bucket().Take(in.Elapsed, in.RequestCount)
		if out.Allowed != steps[0].Allowed {
			w = nil // decimal numbers and doubles part here, and the others would be compared with neither
		}
		steps[0].Outcome = out
	}
	for i, s := range steps {
		if s.Allowed {
			b.Allowed++
		} else {
			b.Denied++
		}
		b.Rows = append(b.Rows, row{
			Number: i + 1, At: number(s.at), Available: number(s.Available), Allowed: s.Allowed,
			Remaining: number(s.Remaining), Wait: waitText(s.Wait), Never: !s.CanSatisfy,
		})
	}
	last := steps[len(steps)-1]
	end := near(last.at, last.at+last.Wait, b.Single)
	if w == nil {
		b.Graph = draw(in, steps, end)
		return b
	}
	seconds := func(units int64) float64 {
		switch {
		case units == 0:
			return 0
		case in.RefillRate == 0:
			return math.Inf(1)
		}
		return w.number(float64(units)) / in.RefillRate
	}
	b.compare(in, w, steps, end, seconds)
	return b
}

// near is far, or at if far is so much later that nothing could be told apart.
func near(at, far float64, always bool) float64 {
	const most = 4
	if far = min(far, largest); always || at == 0 || far/most <= at {
		return far
	}
	return at
}

// compare has the relatives decide about the burst.
func (b *burst) compare(in Input, w *whole, steps []step, end float64, seconds func(int64) float64) {
	meter, queue, fixed, log, counter := w.relatives()
	window := seconds(w.capacity)
	shown := ""
	if !math.IsInf(window, 1) {
		shown = up(window) + "秒"
	}
	own := make([]verdict, len(steps))
	for i, s := range steps {
		own[i].allowed = s.Allowed
	}
	queued := w.judge(queue)
	slowest := 0.0
	for i, v := range queued {
		slowest = max(slowest, seconds(v.delay))
		if leaves := steps[i].at + seconds(v.delay); !math.IsInf(leaves, 1) {
			end = max(end, near(steps[i].at, leaves, end == 0))
		}
	}
	b.Graph = draw(in, steps, end)
	for _, r := range []struct {
		kin
		verdicts []verdict
	}{
		{kin{ID: "bucket", Name: "トークンバケット"}, own},
		{kin{ID: "meter", Name: "リーキーバケット（水位計）"}, w.judge(meter)},
		{kin{ID: "queue", Name: "リーキーバケット（待ち行列）"}, queued},
		{kin{ID: "fixed", Name: "固定窓", Window: shown, Edges: window}, w.judge(fixed)},
		{kin{ID: "log", Name: "スライディングログ", Window: shown}, w.judge(log)},
		{kin{ID: "counter", Name: "スライディングカウンター", Window: shown, Edges: window}, w.judge(counter)},
	} {
		k := r.kin
		var passed []float64
		for i, v := range r.verdicts {
			if v.allowed {
				passed = append(passed, steps[i].at)
			}
			k.Differs = k.Differs || v.allowed != steps[i].Allowed
		}
		k.Allowed, k.Tally = len(passed), tally(passed, len(steps))
		k.More, k.Fewer = max(k.Allowed-b.Allowed, 0), max(b.Allowed-k.Allowed, 0)
		if k.ID == "queue" && slowest > 0 {
			k.Slowest = slowText(slowest)
		}
		lane := b.Graph.addLane(k.Name, r.verdicts, steps, seconds)
		lane.Says = "許可 " + strconv.Itoa(k.Allowed) + "/" + strconv.Itoa(len(steps))
		if k.Edges > 0 && !math.IsInf(k.Edges, 1) {
			b.Graph.addWindows(lane, k.Edges)
		}
		if k.ID != "bucket" {
			b.Relatives = append(b.Relatives, k)
		}
	}
}

// slowText is the longest wait in a queue, which may have no end.
func slowText(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "いつまでも"
	}
	return up(seconds) + "秒"
}
