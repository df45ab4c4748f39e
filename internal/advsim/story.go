package advsim

import (
	"cmp"
	"math/bits"
	"slices"
)

// A story is all that is told, as data: see the files in shiranari. The engine
// knows no story but the one it is given, and the story knows nothing of how it
// is played.
type story struct {
	fingerprint string   // of the files' content
	flags       []string // name of each flag, by bit
	start       string   // id of the first place
	opening     string
	places      []place
	people      []person
	things      []thing
	acts        []act
	endings     []ending
	hints       []passage // what to do next: the first that holds
	carried     []passage // names of what the player carries: all that hold
	nothing     string    // what is said of empty hands
	over        string    // the answer to every move after the end
}

// A source is where something is written, for whoever has to mend it.
type source struct {
	file string
	line int
}

// flags are what has happened, a bit each. They are only ever set, never taken
// back: that makes a state checkable and the whole story walkable (see reach.go).
type flags uint64

// maxFlags is how many flags a story may have.
const maxFlags = 64

// cover reports whether f has all of want.
func (f flags) cover(want flags) bool { return f&want == want }

func (f flags) count() int { return bits.OnesCount64(uint64(f)) }

// A when is a condition: all of needs, none of unless. The zero when holds.
type when struct {
	needs, unless flags
}

func (w when) holds(f flags) bool { return f.cover(w.needs) && f&w.unless == 0 }

// A passage is a paragraph that is told if its condition holds.
type passage struct {
	source
	when
	text string
}

// A place is somewhere to be. Its ways lead both ways, and needs is all that can
// close it: whoever is somewhere can go wherever anybody with the same flags can.
type place struct {
	source
	id     string
	name   string
	button string   // label of the way there
	names  []string // further names
	needs  flags    // what it takes to get there
	closed string   // what is told to who lacks it
	ways   []string
	back   string // where 「戻る」 leads; empty if nowhere in particular
	text   []passage
}

// A person can be spoken to.
type person struct {
	source
	id    string
	name  string
	names []string // further names
	at    string   // place where 「…のところへ行く」 leads
}

// A thing is something that players name.
type thing struct {
	source
	id    string
	names []string
	at    string // place where 「…へ行く」 leads; empty if none
}

// An act is something that can be done, at one place or anywhere, whenever one
// of its tellings holds. Its label is its button and, typed, its surest wording.
type act struct {
	source
	id       string
	label    string
	at       string // id of a place; empty for anywhere
	to       string // person spoken to; empty if none
	says     []saying
	tellings []telling // the first that holds is what happens
}

func (a *act) isAt(place string) bool { return a.at == "" || a.at == place }

// telling returns what comes of an act, nil if it cannot be done.
func (a *act) telling(f flags) *telling {
	for i := range a.tellings {
		if t := &a.tellings[i]; t.holds(f) {
			return t
		}
	}
	return nil
}

// wasOffered reports whether an act has been done by its button: the flag that
// such a telling sets is there.
func (a *act) wasOffered(f flags) bool {
	return slices.ContainsFunc(a.tellings, func(t telling) bool { return t.offered && t.sets&f != 0 })
}

// buttonFor returns what the button of an act says while t is its outcome.
func (a *act) buttonFor(t *telling) string { return cmp.Or(t.button, a.label) }

// A saying is a way to put an act in words, as a player would.
type saying struct {
	source
	text string
}

// A telling is one outcome of an act.
type telling struct {
	source
	when
	offered bool   // the act is shown as a button while this is its outcome
	button  string // what that button says, if not the label
	sets    flags  // one flag at most, so that turns can be counted by flags
	ends    string
	text    string
	more    []passage // further paragraphs: all that hold
}

// An ending is a way for the story to end.
type ending struct {
	source
	id    string
	title string
}

// place returns the place of that id, nil if there is none.
func (s *story) place(id string) *place {
	if i := s.placeIndex(id); i >= 0 {
		return &s.places[i]
	}
	return nil
}

// placeIndex returns where the place of that id stands in s.places, -1 if there
// is none.
func (s *story) placeIndex(id string) int {
	return slices.IndexFunc(s.places, func(p place) bool { return p.id == id })
}

func (s *story) ending(id string) *ending {
	for i := range s.endings {
		if s.endings[i].id == id {
			return &s.endings[i]
		}
	}
	return nil
}
