package advsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomStory returns a small story whose flags stand in each other's way as
// often as not. Its texts are empty: only what can be reached matters.
func randomStory(r *rand.Rand) *story {
	const flagCount, placeCount = 6, 4
	s := &story{start: "p0"}
	for i := range flagCount {
		s.flags = append(s.flags, fmt.Sprint("f", i))
	}
	some := func(most int) flags {
		var f flags
		for range r.IntN(most + 1) {
			f |= 1 << r.IntN(flagCount)
		}
		return f
	}
	for i := range placeCount {
		p := place{id: fmt.Sprint("p", i)}
		if i > 0 {
			before := r.IntN(i)
			p.ways = []string{s.places[before].id}
			p.needs = some(1)
			s.places[before].ways = append(s.places[before].ways, p.id)
		}
		s.places = append(s.places, p)
	}
	for range 3 + r.IntN(4) {
		var a act
		if i := r.IntN(placeCount + 1); i < placeCount {
			a.at = s.places[i].id
		}
		for range 1 + r.IntN(3) {
			t := telling{when: when{needs: some(1), unless: some(1)}}
			switch r.IntN(6) {
			case 0:
				t.ends = "end"
			case 1, 2, 3, 4:
				t.sets = 1 << r.IntN(flagCount)
			}
			a.tellings = append(a.tellings, t)
		}
		s.acts = append(s.acts, a)
	}
	return s
}

// playedOut returns every set of flags that players of s come to have while the
// story goes on, found by doing whatever can be done, and, of those, the sets
// from which no ending can be reached.
func playedOut(s *story, w *world) (reached map[flags]bool, dead map[flags]bool) {
	reached = map[flags]bool{0: true}
	ends := map[flags]bool{}
	next := map[flags][]flags{}
	for queue := []flags{0}; len(queue) > 0; queue = queue[1:] {
		have := queue[0]
		open := w.open(have)
		for i := range s.acts {
			a := &s.acts[i]
			if at := s.placeIndex(a.at); at != anywhere && !open[at] {
				continue
			}
			t := a.telling(have)
			switch {
			case t == nil:
			case t.ends != "":
				ends[have] = true
			default:
				to := have | t.sets
				next[have] = append(next[have], to)
				if !reached[to] {
					reached[to] = true
					queue = append(queue, to)
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for have := range reached {
			if !ends[have] && slices.ContainsFunc(next[have], func(to flags) bool { return ends[to] }) {
				ends[have], changed = true, true
			}
		}
	}
	dead = map[flags]bool{}
	for have := range reached {
		if !ends[have] {
			dead[have] = true
		}
	}
	return reached, dead
}

// The searches, which pass over most sets of flags, find what trying all does.
func TestSearchesAreExact(t *testing.T) {
	came, never, deadEnds := 0, 0, 0
	for seed := range uint64(3000) {
		s := randomStory(rand.New(rand.NewPCG(seed, 1)))
		w := newWorld(s)
		reached, dead := playedOut(s, w)

		for f := range flags(1 << len(s.flags)) {
			if got := w.canHaveHappened(f); got != reached[f] {
				t.Fatalf("story %d: flags %b: can have happened %v, want %v", seed, f, got, reached[f])
			}
		}
		for i := range s.acts {
			for n := range s.acts[i].tellings {
				e := s.acts[i].event(s, n)
				want := false
				for f := range reached {
					want = want || e.comes(f, w.open(f))
				}
				if got, gaveUp := w.canCome(e); got != want || gaveUp {
					t.Fatalf("story %d: act %d, telling %d: can come %v (gave up: %v), want %v", seed, i, n, got, gaveUp, want)
				}
				if want {
					came++
				} else {
					never++
				}
			}
		}
		f, found, gaveUp := w.deadEnd()
		if found != (len(dead) > 0) || gaveUp || found && !dead[f] {
			t.Fatalf("story %d: dead end %b found %v (gave up: %v), want one of %v", seed, f, found, gaveUp, dead)
		}
		if found {
			deadEnds++
		}
	}
	t.Logf("%d tellings come, %d never do, %d stories have dead ends", came, never, deadEnds)
}

// A search that cannot end in time says so, and a state is not refused for it.
func TestEntangledFlags(t *testing.T) {
	// Of each pair of flags, the one keeps the other from being set.
	s := &story{start: "p", places: []place{{id: "p"}}}
	for i := range maxFlags {
		s.flags = append(s.flags, fmt.Sprint("f", i))
		s.acts = append(s.acts, act{tellings: []telling{{when: when{unless: 1 << (i ^ 1)}, sets: 1 << i}}})
	}
	w := newWorld(s)
	all := ^flags(0)
	if can, gaveUp := w.canCome(event{at: anywhere, when: when{needs: all}}); can || !gaveUp {
		t.Errorf("can come %v, gave up %v", can, gaveUp)
	}
	if !w.canHaveHappened(all) {
		t.Error("flags are refused without having been looked into")
	}
	if !w.canHaveHappened(all/3) || w.canHaveHappened(3) {
		t.Error("one of each pair can have happened, and no whole pair")
	}
}

// Forty flags that leave each other alone are no work.
func TestManyFlags(t *testing.T) {
	s := &story{start: "p", places: []place{{id: "p"}}}
	for i := range 40 {
		s.flags = append(s.flags, fmt.Sprint("f", i))
		s.acts = append(s.acts, act{tellings: []telling{{when: when{unless: 1 << i}, sets: 1 << i}}})
	}
	w := newWorld(s)
	looked := 0
	w.explore(search{among: ^flags(0), lasting: true, most: mostInCheck}, func(_, _ flags) verdict { looked++; return goOn })
	if looked > 2 {
		t.Errorf("looked at %d sets of flags", looked)
	}
}
