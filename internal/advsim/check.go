package advsim

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"kiribashiri/internal/advsim/japanese"
)

// checkFolder looks for mistakes in the story of a folder and returns the exit
// status: they go to stderr, and if there are none a summary goes to stdout.
func checkFolder(folder fs.FS, shown string, stdout, stderr io.Writer) int {
	s, mistakes := load(folder, shown)
	unfinished := len(mistakes) > 0
	if !unfinished {
		mistakes = check(s, shown)
	}
	for _, m := range mistakes {
		fmt.Fprintln(stderr, m)
	}
	switch {
	case unfinished:
		fmt.Fprintf(stderr, "adv-sim: mistakes found: %d; once they are mended, more may show in how the story can be played\n", len(mistakes))
		return exitBroke
	case len(mistakes) > 0:
		fmt.Fprintf(stderr, "adv-sim: mistakes found: %d\n", len(mistakes))
		return exitBroke
	}
	if _, err := fmt.Fprintf(stdout, "%s: %d places, %d people, %d things, %d acts, %d endings, %d flags; a state has %d bytes at most\n",
		shown, len(s.places), len(s.people), len(s.things), len(s.acts), len(s.endings), len(s.flags), largestState(s)); err != nil {
		fmt.Fprintf(stderr, "adv-sim: %v\n", err)
		return exitBroke
	}
	return exitOK
}

// A checker looks for mistakes in a story that load found none in.
type checker struct {
	*story
	*world
	shown    string
	reached  []bool // by index of the place; what is at the others is passed over
	mistakes []mistake
}

// check returns what keeps a story from being played as it was meant.
func check(s *story, shown string) []mistake {
	c := checker{story: s, world: newWorld(s), shown: shown}
	c.ways()
	if len(c.mistakes) == 0 { // what follows takes it that nobody is ever locked in
		c.reachPlaces()
		c.passages()
		c.topics()
		c.reachEndings()
	}
	c.labels()
	c.names()
	c.words()
	return sorted(c.mistakes)
}

func (c *checker) add(at source, format string, args ...any) {
	c.mistakes = append(c.mistakes, mistake{at, fmt.Sprintf(format, args...)})
}

// comes reports whether an event can come about. Where the search gives up, it
// says so and lets the event pass.
func (c *checker) comes(at source, e event) bool {
	can, gaveUp := c.canCome(e)
	if gaveUp {
		c.add(at, "cannot find out whether this can come: too many flags stand in each other's way (if, unless and the tellings above)")
	}
	return can || gaveUp
}

func (c *checker) ways() {
	for _, p := range c.places {
		for _, way := range p.ways {
			if !slices.Contains(c.place(way).ways, p.id) {
				c.add(p.source, "a way leads from %q to %q, but none leads back", p.id, way)
			}
		}
		if slices.Contains(p.ways, p.id) {
			c.add(p.source, "a way leads from %q to itself", p.id)
		}
		if p.id == c.story.start && p.needs != 0 {
			c.add(p.source, "%q is where the story starts, so it cannot need anything", p.id)
		}
	}
}

// reachPlaces looks for places that nobody can get to.
func (c *checker) reachPlaces() {
	c.reached = make([]bool, len(c.places))
	for i, p := range c.places {
		if c.reached[i] = c.comes(p.source, event{at: i}); !c.reached[i] {
			c.add(p.source, "place %q cannot be reached", p.id)
		}
	}
}

// labels looks for buttons that look the same at one place.
func (c *checker) labels() {
	for i, a := range c.acts {
		for _, b := range c.acts[:i] {
			if japanese.Fold(a.label) == japanese.Fold(b.label) && (a.at == b.at || a.at == "" || b.at == "") {
				c.add(a.source, "act %q has the same label as %q (%s, line %d), and both are at one place", a.id, b.id, b.file, b.line)
			}
		}
		for _, p := range c.places {
			if japanese.Fold(a.label) == japanese.Fold(p.button) {
				c.add(a.source, "act %q has the label of the way to %q", a.id, p.id)
			}
		}
	}
}

// names looks for names that two have.
func (c *checker) names() {
	type owner struct {
		source
		id string
	}
	owners := make(map[string]owner)
	give := func(at source, id string, names ...string) {
		for _, name := range names {
			before, taken := owners[japanese.Fold(name)]
			switch {
			case taken && before.id == id:
				c.add(at, "%q has the name %q twice", id, name)
			case taken:
				c.add(at, "%q has the name %q, which is already that of %q (%s, line %d)", id, name, before.id, before.file, before.line)
			default:
				owners[japanese.Fold(name)] = owner{at, id}
			}
		}
	}
	for _, p := range c.places {
		give(p.source, p.id, append([]string{p.name}, p.names...)...)
	}
	for _, p := range c.people {
		give(p.source, p.id, append([]string{p.name}, p.names...)...)
	}
	for _, t := range c.things {
		give(t.source, t.id, t.names...)
	}
}

// words looks for what players would write in vain: example phrases, labels and
// names that the reader takes for something else.
func (c *checker) words() {
	reader := newReader(c.story)
	for _, here := range c.places {
		read := func(text string) japanese.Meaning {
			return reader.Read(text, here.id, func(act int) bool { return c.acts[act].isAt(here.id) })
		}
		for i, a := range c.acts {
			if !a.isAt(here.id) {
				continue
			}
			says := append([]saying{{a.source, a.label}}, a.says...)
			for _, t := range a.tellings {
				if t.button != "" {
					says = append(says, saying{t.source, t.button})
				}
			}
			for _, say := range says {
				if m := read(say.text); m.Sense != japanese.Do || m.Act != i {
					c.add(say.source, "「%s」 means act %q, but at %q it is taken for %s", say.text, a.id, here.id, c.meant(m))
				}
			}
		}
		for _, to := range here.ways {
			p := c.place(to)
			if m := read(p.name); m.Sense != japanese.Go || m.Place != to {
				c.add(p.source, "「%s」 means the way to %q, but at %q it is taken for %s", p.name, to, here.id, c.meant(m))
			}
		}
	}
}

// meant names what the reader took words for.
func (c *checker) meant(m japanese.Meaning) string {
	switch m.Sense {
	case japanese.Do, japanese.Elsewhere:
		return fmt.Sprintf("act %q", c.acts[m.Act].id)
	case japanese.Go:
		return fmt.Sprintf("the way to %q", m.Place)
	case japanese.Unclear:
		if len(m.Maybe) == 2 {
			return "either " + c.meant(m.Maybe[0]) + " or " + c.meant(m.Maybe[1])
		}
		return "nothing that is clear"
	}
	return "something else"
}

// passages looks for texts that nobody can ever read, and for places that have
// nothing to tell.
func (c *checker) passages() {
	lookAt := func(passages []passage, at int, what string, first bool) {
		var above []when
		for _, p := range passages {
			if !c.comes(p.source, event{at: at, when: p.when, above: above}) {
				c.add(p.source, "this %s can never come%s", what, c.because(event{at: at, when: p.when}))
			}
			if first {
				above = append(above, p.when)
			}
		}
	}
	for i, p := range c.places {
		if !c.reached[i] {
			continue
		}
		lookAt(p.text, i, "text", false)
		var all []when
		for _, text := range p.text {
			all = append(all, text.when)
		}
		if can, gaveUp := c.canCome(event{at: i, above: all}); can || gaveUp {
			c.add(p.source, "place %q needs a text without a condition: none of its texts may hold", p.id)
		}
	}
	lookAt(c.hints, anywhere, "hint", true)
	lookAt(c.carried, anywhere, "line", false)
}

// because says why an event cannot come about, as far as it is plain. The event
// comes without those above it.
func (c *checker) because(e event) string {
	if both := e.needs & e.unless; both != 0 {
		return fmt.Sprintf(": %s is both in if and in unless", c.flagNames(both))
	}
	if can, _ := c.canCome(e); can {
		return ": one of those above it always comes instead"
	}
	return ": its condition never holds here"
}

func (c *checker) flagNames(f flags) string {
	var names []string
	for bit, name := range c.flags {
		if f&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// topics looks for acts that can never be done, and for people who never answer.
func (c *checker) topics() {
	answers := make(map[string]bool)
	for i := range c.acts {
		a := &c.acts[i]
		if at := c.placeIndex(a.at); at != anywhere && !c.reached[at] {
			continue
		}
		var never []mistake
		for n, t := range a.tellings {
			e := a.event(c.story, n)
			if !c.comes(t.source, e) {
				why := c.because(event{at: e.at, when: e.when})
				if above := a.alwaysBefore(n); above != nil {
					why = fmt.Sprintf(": the one in line %d holds whenever it does", above.line)
				}
				never = append(never, mistake{t.source, fmt.Sprintf("this telling of act %q can never come%s", a.id, why)})
				continue
			}
			for _, p := range t.more {
				e := e
				e.needs |= p.needs
				e.unless |= p.unless
				if !c.comes(p.source, e) {
					c.add(p.source, "this paragraph of act %q can never come%s", a.id, c.because(event{at: e.at, when: e.when}))
				}
			}
		}
		if len(never) == len(a.tellings) {
			c.add(a.source, "act %q can never be done: none of its tellings can come", a.id)
			continue
		}
		c.mistakes = append(c.mistakes, never...)
		answers[a.to] = true
	}
	for _, p := range c.people {
		if !answers[p.id] {
			c.add(p.source, "nobody can talk to %q: there is no act with to: %s that can be done", p.id, p.id)
		}
	}
}

// alwaysBefore returns a telling above the nth that holds whenever that does,
// nil if there is none.
func (a *act) alwaysBefore(n int) *telling {
	for i := range n {
		if t := &a.tellings[i]; a.tellings[n].needs.cover(t.needs) && a.tellings[n].unless.cover(t.unless) {
			return t
		}
	}
	return nil
}

// reachEndings looks for endings that nobody reaches and players who reach none.
func (c *checker) reachEndings() {
	for _, e := range c.endings {
		named, reached := false, false
		for _, end := range c.ends {
			if end.ends == e.id {
				named = true
				can, gaveUp := c.canCome(end)
				reached = reached || can || gaveUp
			}
		}
		switch {
		case !named:
			c.add(e.source, "ending %q cannot be reached: no telling ends with it", e.id)
		case !reached:
			c.add(e.source, "ending %q cannot be reached", e.id)
		}
	}
	switch dead, isFound, gaveUp := c.deadEnd(); {
	case isFound && dead == 0:
		c.add(source{file: c.shown}, "dead end: from the start, nothing that can be done leads to an ending")
	case isFound:
		c.add(source{file: c.shown}, "dead end: with the flags %s, nothing that can still be done leads to an ending", c.flagNames(dead))
	case gaveUp:
		c.add(source{file: c.shown}, "cannot find out whether there is a dead end: too many flags stand in each other's way")
	}
}

// largestState returns how many bytes the state of a player can have at most.
func largestState(s *story) int {
	all := state{turn: maxTurn}
	for bit := range s.flags {
		all.flags |= 1 << bit
	}
	for _, p := range s.places {
		if len(p.id) > len(all.place) {
			all.place = p.id
		}
	}
	for _, e := range s.endings {
		if len(e.id) > len(all.ending) {
			all.ending = e.id
		}
	}
	raw, err := json.Marshal((&engine{story: s}).save(all))
	if err != nil {
		panic(err) // cannot be: a saved state has no value that JSON lacks
	}
	return len(raw)
}
