package advsim

import "slices"

// Whether something can ever come about cannot be found out by trying every set
// of flags: a story with forty has 2⁴⁰. What makes it quick nevertheless:
//
// Flags are only ever set, places are closed by what somebody lacks and by
// nothing else, and ways lead both ways. So a player is wherever the flags let
// anybody be, and only the flags matter. Setting one can do harm in two ways:
// by an unless, or by making a telling hold that stands above the one that is
// wanted. A flag that can be set now and does no such harm to anything still
// wanted may as well be set at once: whatever could come about before still can,
// in the same order. So a search has to try one way and another only where
// flags do stand in each other's way, which in a story they seldom do.
//
// All three searches below are exact as long as they end within their bound.

// How many sets of flags a search looks at before it gives up.
const (
	mostInCheck = 100_000
	mostInMove  = 500 // a move's share of a millisecond; Shiranari's look at some twenty
)

// mostOpen is of how many flags of one act alwaysEnds tries all subsets.
const mostOpen = 12

// An event comes about at a place when its condition holds and none of those
// above it does.
type event struct {
	act *act // nil if it is no telling
	at  int  // index of the place, or anywhere
	when
	above []when
	sets  flags
	ends  string // id of the ending
}

const anywhere = -1 // what placeIndex returns of an act without a place

// A world is a story as searches see it.
type world struct {
	story  *story
	start  int     // index of the place
	ways   [][]int // by index of the place: those of its ways
	events []event // those that set a flag and let the story go on
	ends   []event
}

func newWorld(s *story) *world {
	w := &world{story: s, start: s.placeIndex(s.start)}
	for _, p := range s.places {
		var ways []int
		for _, id := range p.ways {
			ways = append(ways, s.placeIndex(id))
		}
		w.ways = append(w.ways, ways)
	}
	for i := range s.acts {
		for n := range s.acts[i].tellings {
			switch e := s.acts[i].event(s, n); {
			case e.ends != "":
				w.ends = append(w.ends, e)
			case e.sets != 0:
				w.events = append(w.events, e)
			}
		}
	}
	return w
}

// event returns the nth telling of an act as an event.
func (a *act) event(s *story, n int) event {
	t := a.tellings[n]
	e := event{act: a, at: s.placeIndex(a.at), when: t.when, sets: t.sets, ends: t.ends}
	for _, t := range a.tellings[:n] {
		e.above = append(e.above, t.when)
	}
	return e
}

// open returns, by index, the places where a player who has these flags can be.
func (w *world) open(have flags) []bool {
	open := make([]bool, len(w.story.places))
	open[w.start] = true
	for queue := []int{w.start}; len(queue) > 0; queue = queue[1:] {
		for _, next := range w.ways[queue[0]] {
			if !open[next] && have.cover(w.story.places[next].needs) {
				open[next] = true
				queue = append(queue, next)
			}
		}
	}
	return open
}

// way returns the shortest way between two places, the first place excepted: an
// open one if there is one, otherwise one that is closed somewhere.
func (w *world) way(from, to string, have flags) []*place {
	start, end := w.story.placeIndex(from), w.story.placeIndex(to)
	for _, onlyOpen := range []bool{true, false} {
		before := make([]int, len(w.story.places)) // on the shortest way there, counted from 1
		before[start] = start + 1
		for queue := []int{start}; len(queue) > 0 && before[end] == 0; queue = queue[1:] {
			for _, next := range w.ways[queue[0]] {
				if before[next] == 0 && (!onlyOpen || have.cover(w.story.places[next].needs)) {
					before[next] = queue[0] + 1
					queue = append(queue, next)
				}
			}
		}
		if before[end] == 0 {
			continue
		}
		var way []*place
		for at := end; at != start; at = before[at] - 1 {
			way = append(way, &w.story.places[at])
		}
		slices.Reverse(way)
		return way
	}
	return nil
}

// comes reports whether e comes about for a player who has these flags.
func (e *event) comes(have flags, open []bool) bool {
	return (e.at == anywhere || open[e.at]) && e.holds(have) &&
		!slices.ContainsFunc(e.above, func(w when) bool { return w.holds(have) })
}

// harmedBy returns the flags that could keep e from coming about, now or later,
// if they were set, and whether it is too late for e in any case.
func (e *event) harmedBy(have flags) (harm flags, late bool) {
	if e.unless&have != 0 {
		return 0, true
	}
	harm = e.unless
	for _, a := range e.above {
		if a.unless&have != 0 {
			continue
		}
		harm |= a.needs &^ have
		late = late || a == when{}
	}
	return harm, late
}

// A verdict is what a search makes of a set of flags.
type verdict int

const (
	goOn    verdict = iota
	leaveIt         // nothing that comes after it is of interest
	found
)

// A search is for a set of flags that some player has.
type search struct {
	among   flags  // only these are set
	wanted  *event // sets that make no difference to whether it can come are passed over
	lasting bool   // those that make none to which flags can be had in the end are, too
	most    int    // how many sets it looks at before it gives up
}

// explore calls visit with the sets of flags that players come to have, and with
// what can be set next, until one is found.
func (w *world) explore(s search, visit func(have, next flags) verdict) (isFound, gaveUp bool) {
	seen := map[flags]bool{0: true}
	for stack := []flags{0}; len(stack) > 0; {
		have := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		open := w.open(have)
		var next, lasts, harmful flags
		if s.wanted != nil {
			harmful, _ = s.wanted.harmedBy(have)
		}
		for i := range w.events {
			e := &w.events[i]
			if e.sets&^have&s.among == 0 {
				continue
			}
			harm, late := e.harmedBy(have)
			if late {
				continue
			}
			harm &= s.among &^ e.sets // what e sets comes too late to harm it
			harmful |= harm
			if e.comes(have, open) {
				next |= e.sets
				if harm == 0 {
					lasts |= e.sets
				}
			}
		}
		switch visit(have, next) {
		case found:
			return true, false
		case leaveIt:
			continue
		}
		free := next &^ harmful
		if s.lasting {
			free &= lasts
		}
		try := func(more flags) {
			if to := have | more; !seen[to] {
				seen[to] = true
				stack = append(stack, to)
			}
		}
		if free != 0 {
			try(free)
		} else {
			for f := flags(1); f != 0; f <<= 1 {
				if next&f != 0 {
					try(f)
				}
			}
		}
		if len(seen) > s.most {
			return false, true
		}
	}
	return false, false
}

// canCome reports whether a player can bring e about.
func (w *world) canCome(e event) (can, gaveUp bool) {
	// Whoever sets only what helps can still do all that leads to e: fewer flags
	// mean fewer reasons against it.
	helps := func(e *event) flags {
		f := e.needs
		for _, a := range e.above {
			f |= a.unless
		}
		return f
	}
	helping := w.closure(helps(&e), helps)
	return w.explore(search{among: helping, wanted: &e, most: mostInCheck}, func(have, _ flags) verdict {
		if e.comes(have, w.open(have)) {
			return found
		}
		return goOn
	})
}

// closure returns flags, what opens places, and with each flag all that of
// returns for the events that set it.
func (w *world) closure(flags flags, of func(*event) flags) flags {
	for _, p := range w.story.places {
		flags |= p.needs
	}
	for before := ^flags; before != flags; {
		before = flags
		for i := range w.events {
			if w.events[i].sets&flags != 0 {
				flags |= of(&w.events[i])
			}
		}
	}
	return flags
}

// canHaveHappened reports whether some player can have exactly these flags, the
// story still going on. Of a set so entangled that the search does not end it
// says yes: no player's own state is ever refused.
func (w *world) canHaveHappened(want flags) bool {
	happened, gaveUp := w.explore(search{among: want, most: mostInMove}, func(have, _ flags) verdict {
		if have == want {
			return found
		}
		return goOn
	})
	return happened || gaveUp
}

// canHaveEnded reports whether an ending can have come about at a place, by
// index, for a player who has these flags.
func (w *world) canHaveEnded(ending string, at int, have flags) bool {
	open := w.open(have)
	return slices.ContainsFunc(w.ends, func(e event) bool {
		return e.ends == ending && (e.at == anywhere || e.at == at) && e.comes(have, open)
	}) && w.canHaveHappened(have)
}

// deadEnd returns flags with which a player can neither end the story nor set
// another flag that matters to that, if there are any. There are if and only if
// some player can be where no ending can be reached any more: whoever is there
// can go on setting flags until none is left to set.
func (w *world) deadEnd() (dead flags, isFound, gaveUp bool) {
	mentioned := func(e *event) flags {
		f := e.needs | e.unless
		for _, a := range e.above {
			f |= a.needs | a.unless
		}
		return f
	}
	var matter flags
	for i := range w.ends {
		matter |= mentioned(&w.ends[i])
	}
	matter = w.closure(matter, mentioned)
	isFound, gaveUp = w.explore(search{among: matter, lasting: true, most: mostInCheck}, func(have, next flags) verdict {
		open := w.open(have)
		switch {
		case slices.ContainsFunc(w.ends, func(e event) bool { return e.comes(have, open) && w.alwaysEnds(e.act, have) }):
			return leaveIt
		case next != 0 || slices.ContainsFunc(w.ends, func(e event) bool { return e.comes(have, open) }):
			return goOn
		}
		dead = have
		return found
	})
	return dead, isFound, gaveUp
}

// alwaysEnds reports whether an act ends the story for a player who has these
// flags, whatever others are set beforehand. In doubt it says no.
func (w *world) alwaysEnds(a *act, have flags) bool {
	var more flags
	for _, t := range a.tellings {
		more |= (t.needs | t.unless) &^ have
	}
	if more.count() > mostOpen {
		return false
	}
	// All subsets of more, from the whole to nothing.
	for some := more; ; some = (some - 1) & more {
		if t := a.telling(have | some); t == nil || t.ends == "" {
			return false
		}
		if some == 0 {
			return true
		}
	}
}
