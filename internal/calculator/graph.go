package calculator

import (
	"math"
	"strconv"

	"kiribashiri/internal/ratelimit"
)

// A graph is the burst as a drawing: the bucket's level over time, and under it,
// on the same axis of time, what the bucket's relatives do.
//
// Places across are in percent of the drawing and places down in pixels, so that
// it fits any window while letters, lines and marks keep their size.
type graph struct {
	Height int
	Axis   int // down to the axis of time
	Full   int // down to the capacity
	Lines  []line
	Drops  []line // of an allowed request
	Hopes  []line // towards the end of a wait
	Marks  []mark
	Levels []tick // on the axis of tokens
	Times  []tick // on the axis of time
	Lanes  []lane
	Dense  bool // so many requests that their marks must be small

	span float64 // seconds from side to side
}

// A place is where an element stands, as its attributes of the same names.
type place struct{ X, Y string }

// A line is from where to where an element goes, likewise.
type line struct{ X1, X2, Y1, Y2 string }

// A mark is one request, or the end of a wait.
type mark struct {
	Row   int // of the table, from 1; 0 for the end of a wait
	Shape string
	Place place
}

type tick struct {
	Place place
	Text  string
}

// A lane is one relative's row of marks.
type lane struct {
	Y       int
	Name    string
	Says    string
	Windows []line
	Spots   []spot
	Delays  []line
}

// A spot is what a lane says about the requests of one instant.
type spot struct {
	Shape string
	Place place
	Count int
}

const (
	shapeAllowed = "allowed"
	shapeDenied  = "denied"
	shapeEnough  = "enough"
)

// Down, in pixels.
const (
	plotTop    = 26
	plotHeight = 168
	plotBottom = plotTop + plotHeight
	lanesTop   = plotBottom + 56
	laneHeight = 60

	// Within a lane.
	laneAllowed = 22
	laneDenied  = 38
)

// draw draws what a bucket does at each step. end is the last moment that must be
// on it.
func draw(in Input, steps []step, end float64) *graph {
	span := spanOf(in, end)
	g := &graph{Axis: plotBottom, Height: plotBottom + 28, Dense: len(steps) > 40, span: span}
	down := func(level float64) float64 { return plotBottom - min(level/in.Capacity, 1)*plotHeight }
	g.Full = plotTop

	bucket := ratelimit.Bucket{Capacity: in.Capacity, Rate: in.RefillRate, Tokens: min(in.Tokens, in.Capacity)}
	last := 0.0
	// rise draws the level from last to t, with a bend where it is full.
	rise := func(t float64) {
		level := bucket.Tokens
		reached := bucket.Take(t-last, in.Capacity).Available
		if fullAt := bucket.Take(0, in.Capacity).Wait; reached == in.Capacity && fullAt > 0 && last+fullAt < t {
			g.Lines = append(g.Lines, g.line(last, last+fullAt, down(level), down(reached)))
			level, last = reached, last+fullAt
		}
		if t > last {
			g.Lines = append(g.Lines, g.line(last, t, down(level), down(reached)))
		}
		last = t
	}
	for i, s := range steps {
		rise(s.at)
		shape := shapeDenied
		if s.Allowed {
			shape = shapeAllowed
			g.Drops = append(g.Drops, g.line(s.at, s.at, down(s.Available), down(s.Remaining)))
		}
		g.Marks = append(g.Marks, mark{i + 1, shape, g.point(s.at, down(s.Remaining))})
		bucket.Tokens = s.Remaining
	}
	rise(span)
	if s := steps[len(steps)-1]; s.Wait > 0 && s.at+s.Wait <= span {
		over, enough := s.at+s.Wait, down(in.RequestCount)
		g.Marks = append(g.Marks, mark{0, shapeEnough, g.point(over, enough)})
		g.Hopes = append(g.Hopes, g.line(over, over, enough, plotBottom))
	}
	for _, level := range []float64{0, in.Capacity / 2, in.Capacity} {
		g.Levels = append(g.Levels, tick{place{"-8", pixels(down(level))}, short(level)})
	}
	if in.Capacity/2 == 0 { // the smallest double has no half
		g.Levels = g.Levels[1:]
	}
	for _, t := range ticks(span) {
		if t/span < 0.93 { // there stands the unit
			g.Times = append(g.Times, tick{g.point(t, plotBottom), short(t)})
		}
	}
	return g
}

// spanOf returns how many seconds a drawing shows whose last event is at end.
func spanOf(in Input, end float64) float64 {
	if end == 0 { // everything happens at once: show how the bucket fills again
		end = in.bucketEmpty().Take(0, in.Capacity).Wait
	}
	if end == 0 {
		end = 1
	}
	if wide := end * 1.08; wide > end && !math.IsInf(wide, 1) {
		return wide
	}
	return end
}

func (in Input) bucketEmpty() ratelimit.Bucket {
	return ratelimit.Bucket{Capacity: in.Capacity, Rate: in.RefillRate}
}

// ticks returns a few round times from 0 to span.
func ticks(span float64) []float64 {
	const most = 5
	unit := math.Pow(10, math.Floor(math.Log10(span/most)))
	for _, m := range []float64{1, 2, 5, 10} {
		step := unit * m
		if step > 0 && !math.IsInf(step, 1) && span/step <= most {
			all := []float64{}
			for i := range int(span/step) + 1 {
				all = append(all, float64(i)*step)
			}
			return all
		}
	}
	return []float64{0, span} // where doubles end
}

// line is from one moment and height to another.
func (g *graph) line(t1, t2, y1, y2 float64) line {
	return line{g.across(t1), g.across(t2), pixels(y1), pixels(y2)}
}

func (g *graph) point(t, y float64) place {
	return place{g.across(t), pixels(y)}
}

// across writes a moment as a part of the drawing's width.
func (g *graph) across(t float64) string {
	return strconv.FormatFloat(math.Round(min(t/g.span, 1)*1e4)/1e2, 'f', -1, 64) + "%"
}

func pixels(y float64) string { return strconv.FormatFloat(math.Round(y*10)/10, 'f', -1, 64) }

// addLane puts one relative's verdicts under the graph. Requests of one instant
// share a spot, with their number beside it; verdicts are in the order of time.
func (g *graph) addLane(name string, verdicts []verdict, steps []step, delay func(units int64) float64) *lane {
	l := lane{Y: lanesTop + len(g.Lanes)*laneHeight, Name: name}
	latest := make(map[string]int) // spot of each shape
	put := func(shape string, at float64, y int) {
		if at > g.span {
			return
		}
		p := g.point(at, float64(l.Y+y))
		if i, ok := latest[shape]; ok && l.Spots[i].Place == p {
			l.Spots[i].Count++
			return
		}
		latest[shape] = len(l.Spots)
		l.Spots = append(l.Spots, spot{shape, p, 1})
	}
	for i, v := range verdicts {
		at := steps[i].at
		if !v.allowed {
			put(shapeDenied, at, laneDenied)
			continue
		}
		leaves := at + delay(v.delay)
		put(shapeAllowed, leaves, laneAllowed)
		if leaves > at {
			y := float64(l.Y + laneAllowed)
			l.Delays = append(l.Delays, g.line(at, leaves, y, y))
		}
	}
	g.Lanes = append(g.Lanes, l)
	g.Height = l.Y + laneHeight
	return &g.Lanes[len(g.Lanes)-1]
}

// addWindows draws where a lane's windows meet, if they can be told apart.
func (g *graph) addWindows(l *lane, window float64) {
	const most = 40
	for i := 1; i <= most && float64(i)*window < g.span; i++ {
		at := float64(i) * window
		l.Windows = append(l.Windows, g.line(at, at, float64(l.Y+laneAllowed-9), float64(l.Y+laneDenied+8)))
	}
	if len(l.Windows) == most {
		l.Windows = nil
	}
}
