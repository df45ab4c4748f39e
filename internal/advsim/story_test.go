package advsim

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxStateBytes is promised of every state: browsers keep them.
const maxStateBytes = 2 << 10

// maxLabel is what fits a button on a phone, in code points.
const maxLabel = 12

// A node is a state of the story with how it was reached, turns aside.
type node struct {
	answer answer
	next   []string // keys of the states that an offered move leads to
}

// walk plays every offered move from every state, and returns all states by
// place, flags and ending.
func walk(t *testing.T, e *engine) map[string]*node {
	t.Helper()
	first := send(t, e, `{"id":1,"kind":"new"}`)
	nodes := map[string]*node{stateKey(t, e, first): {answer: first}}
	for queue := []string{stateKey(t, e, first)}; len(queue) > 0; queue = queue[1:] {
		n := nodes[queue[0]]
		for _, o := range append(n.answer.Choices, n.answer.Places...) {
			a := play(t, e, n.answer.State, o.Kind, o.Input)
			key := stateKey(t, e, a)
			n.next = append(n.next, key)
			if nodes[key] == nil {
				nodes[key] = &node{answer: a}
				queue = append(queue, key)
			}
		}
	}
	return nodes
}

// stateKey identifies a state without its turn; it checks that the state is
// accepted on its way back in.
func stateKey(t *testing.T, e *engine, a answer) string {
	t.Helper()
	s, err := e.decodeState(a.State)
	if err != nil {
		t.Fatalf("the engine rejects its own state %s: %v", a.State, err)
	}
	return keyOf(s)
}

func keyOf(s state) string {
	return s.place + " " + strings.Repeat("|", int(s.flags)) + " " + s.ending
}

func TestWholeStory(t *testing.T) {
	e := newEngine(shiranari())
	nodes := walk(t, e)
	t.Logf("%d states", len(nodes))

	visited, endings := map[string]bool{}, map[string]bool{}
	for key, n := range nodes {
		a := n.answer
		visited[a.Place] = true
		if s, _ := e.decodeState(a.State); s.ending != "" {
			endings[s.ending] = true
		}
		if len(a.State) > maxStateBytes {
			t.Errorf("%s: state of %d bytes", key, len(a.State))
		}
		if a.Text == "" || !utf8.ValidString(a.Text) || strings.HasSuffix(a.Text, "\n") || strings.Contains(a.Text, "\n\n") {
			t.Errorf("%s: text %q", key, a.Text)
		}
		if a.End != (len(a.Places) == 0) || a.End && len(a.Choices) > 0 {
			t.Errorf("%s: end %v, with %v and %v to do", key, a.End, a.Places, a.Choices)
		}
		for _, o := range append(a.Choices, a.Places...) {
			if o.Label == "" || utf8.RuneCountInString(o.Label) > maxLabel {
				t.Errorf("%s: label %q does not suit a button", key, o.Label)
			}
		}
	}
	for _, p := range e.story.places {
		if !visited[p.name] {
			t.Errorf("%s is never reached", p.name)
		}
	}
	if want := []string{"bell", "bus"}; !slices.Equal(slices.Sorted(maps.Keys(endings)), want) {
		t.Errorf("endings %v, want %v", endings, want)
	}
	for _, ending := range []string{"bell", "bus"} {
		reaches := leading(nodes, ending)
		for key, n := range nodes {
			if !n.answer.End && !reaches[key] {
				t.Errorf("ending %s is out of reach from %s", ending, key)
			}
		}
	}
}

// leading returns the states from which an ending can be reached.
func leading(nodes map[string]*node, ending string) map[string]bool {
	out := map[string]bool{}
	for before := -1; before != len(out); {
		before = len(out)
		for key, n := range nodes {
			if strings.HasSuffix(key, " "+ending) || slices.ContainsFunc(n.next, func(next string) bool { return out[next] }) {
				out[key] = true
			}
		}
	}
	return out
}

// The states that are accepted are exactly those that can be played to, with
// whatever is typed.
func TestAcceptedStatesAreTheReachableOnes(t *testing.T) {
	e := newEngine(shiranari())
	start := e.begin().state
	reached := map[string]bool{keyOf(start): true}
	for queue := []state{start}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if s.ending != "" {
			continue
		}
		var next []state
		for i := range e.story.acts {
			if a := &e.story.acts[i]; a.isAt(s.place) {
				next = append(next, e.do(s, a).state)
			}
		}
		for _, p := range e.story.places {
			next = append(next, e.walk(s, p.id).state)
		}
		for _, n := range next {
			if key := keyOf(n); !reached[key] {
				reached[key] = true
				queue = append(queue, n)
			}
		}
	}

	for f := range flags(1 << len(e.story.flags)) {
		for _, p := range e.story.places {
			for _, ending := range []string{"", "bell", "bus", "other"} {
				s := state{place: p.id, turn: 100, flags: f, ending: ending}
				if err := e.check(s); (err == nil) != reached[keyOf(s)] {
					t.Errorf("%s: reachable %v, check says %v", keyOf(s), reached[keyOf(s)], err)
				}
			}
		}
	}
}

// What the engine relies on and the types do not say.
func TestStoryIsSound(t *testing.T) {
	s := shiranari()
	e := newEngine(s)
	used := map[string]bool{}
	for _, n := range s.nouns {
		if n.at != "" && e.place(n.at) == nil {
			t.Errorf("noun %s is at no place", n.id)
		}
		if used[n.id] {
			t.Errorf("noun %s is there twice", n.id)
		}
		used[n.id] = true
	}
	for _, p := range s.places {
		if !used[p.id] {
			t.Errorf("place %s has no noun", p.id)
		}
		if (p.needs == 0) != (p.closed == "") {
			t.Errorf("place %s: needs %b, closed %q", p.id, p.needs, p.closed)
		}
		if p.back != "" && !slices.Contains(p.ways, p.back) {
			t.Errorf("there is no way from %s back to %s", p.id, p.back)
		}
		for _, q := range s.places {
			if p.id != q.id && e.nextStep(p.id, q.id) == p.id {
				t.Errorf("there is no way from %s to %s", p.id, q.id)
			}
		}
		for _, way := range p.ways {
			if e.place(way) == nil {
				t.Errorf("place %s leads to %s, which is nowhere", p.id, way)
			} else if !slices.Contains(e.place(way).ways, p.id) {
				t.Errorf("there is no way back from %s to %s", way, p.id)
			}
		}
	}
	for _, a := range s.acts {
		if a.at != "" && e.place(a.at) == nil {
			t.Errorf("act %s is at no place", a.label)
		}
		if last := a.tellings[len(a.tellings)-1]; last.unless != 0 {
			t.Errorf("act %s: its last telling may not hold", a.label)
		}
		for _, outcome := range a.tellings {
			if outcome.sets&(outcome.sets-1) != 0 {
				t.Errorf("act %s sets two flags at once", a.label)
			}
		}
		for _, say := range a.says {
			for _, id := range slices.Concat(say.about, say.also) {
				if !used[id] && id != around.id {
					t.Errorf("act %s: %s is no noun", a.label, id)
				}
			}
		}
		for f := range flags(1 << len(s.flags)) {
			if got := a.telling(f).text; got == "" && e.canHaveHappened(f) && f.cover(e.needsAt(a)) {
				t.Errorf("act %s tells nothing with flags %b", a.label, f)
			}
		}
	}
}

// Every word that the dictionary knows has one meaning.
func TestWordsMeanOneThing(t *testing.T) {
	owner := make(map[string]string)
	enter := func(of string, words []string) {
		for _, w := range words {
			w = fold(w)
			if before, taken := owner[w]; taken && before != of {
				t.Errorf("%q is in %s and in %s", w, before, of)
			}
			owner[w] = of
		}
	}
	for _, n := range shiranari().nouns {
		enter("noun "+n.id, n.names)
	}
	enter("around", aroundWords)
	for _, v := range verbWords {
		enter("verb "+v.words[0], v.words)
	}
	enter("about", aboutWords)
	enter("help", helpWords)
	enter("carried", carriedWords)
	enter("negation", negationWords)
	enter("supposition", suppositionWords)
	enter("question", questionWords)
	enter("filler", fillerWords)
}
