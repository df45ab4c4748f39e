package calculator

import "math/bits"

// The token bucket's relatives, each with the same promise in the long run: as
// much at once as the capacity, and the capacity again in each window, which is
// the time that an empty bucket takes to fill. They are here to be looked at; the
// server asks none of them.
//
// All count in the whole numbers of a burst (see whole), where a window is as
// long as the capacity is deep. What the bucket had spent before the burst, each
// has let pass at time 0.

// A verdict is what one of them does with one request.
type verdict struct {
	allowed bool
	delay   int64 // until an allowed request is let go; only a queue has one
}

// A relative decides about a burst, request by request.
type relative interface {
	take(now, cost int64) verdict
}

// judge has r decide about the whole burst.
func (w *whole) judge(r relative) []verdict {
	all := make([]verdict, len(w.earned))
	for i, now := range w.earned {
		all[i] = r.take(now, w.cost)
	}
	return all
}

// spent is what is gone from the bucket before the burst.
func (w *whole) spent() int64 { return w.capacity - w.tokens }

// A meter is a leaky bucket that is looked at: requests fill it, time empties it,
// and what would make it run over is refused. Its level is what the token bucket
// lacks, so both decide the same.
type meter struct{ capacity, level, last int64 }

func (m *meter) take(now, cost int64) verdict {
	m.level, m.last = max(m.level-(now-m.last), 0), now
	if cost > m.capacity-m.level {
		return verdict{}
	}
	m.level += cost
	return verdict{allowed: true}
}

// A queue is a leaky bucket that requests stand in: it lets them go at the rate
// of its leak, each when those before it have drained.
type queue struct{ meter }

func (q *queue) take(now, cost int64) verdict {
	v := q.meter.take(now, cost)
	if v.allowed {
		v.delay = q.level - cost
	}
	return v
}

// A fixedWindow counts anew at each multiple of the window.
type fixedWindow struct{ capacity, used, index int64 }

func (f *fixedWindow) take(now, cost int64) verdict {
	if index := now / f.capacity; index != f.index {
		f.index, f.used = index, 0
	}
	if cost > f.capacity-f.used {
		return verdict{}
	}
	f.used += cost
	return verdict{allowed: true}
}

// A slidingLog remembers each request that it let pass for one window.
type slidingLog struct {
	capacity, used int64
	entries        []entry
}

type entry struct{ at, cost int64 }

func (l *slidingLog) take(now, cost int64) verdict {
	for len(l.entries) > 0 && now-l.entries[0].at >= l.capacity {
		l.used -= l.entries[0].cost
		l.entries = l.entries[1:]
	}
	if cost > l.capacity-l.used {
		return verdict{}
	}
	l.used += cost
	l.entries = append(l.entries, entry{now, cost})
	return verdict{allowed: true}
}

// A slidingCounter keeps two counts, of this window and of the one before, and
// takes of the latter the part that a window ending now would still cover.
type slidingCounter struct{ capacity, used, before, index int64 }

func (c *slidingCounter) take(now, cost int64) verdict {
	switch index := now / c.capacity; index {
	case c.index:
	case c.index + 1:
		c.index, c.before, c.used = index, c.used, 0
	default:
		c.index, c.before, c.used = index, 0, 0
	}
	free := c.capacity - c.used - cost
	covered := c.capacity - now%c.capacity
	// before × covered ÷ capacity ≤ free, without a division that rounds
	if free < 0 || less(free, c.capacity, c.before, covered) {
		return verdict{}
	}
	c.used += cost
	return verdict{allowed: true}
}

// less reports whether a × b is less than c × d. None is below 0.
func less(a, b, c, d int64) bool {
	high1, low1 := bits.Mul64(uint64(a), uint64(b))
	high2, low2 := bits.Mul64(uint64(c), uint64(d))
	return high1 < high2 || high1 == high2 && low1 < low2
}

// relatives returns all of them, as they stand before the burst.
func (w *whole) relatives() (m *meter, q *queue, f *fixedWindow, l *slidingLog, c *slidingCounter) {
	m = &meter{capacity: w.capacity, level: w.spent()}
	q = &queue{*m}
	f = &fixedWindow{capacity: w.capacity, used: w.spent()}
	l = &slidingLog{capacity: w.capacity, used: w.spent(), entries: []entry{{0, w.spent()}}}
	c = &slidingCounter{capacity: w.capacity, used: w.spent()}
	return
}
