package advsim

// A story is all that is told, as data. The engine knows no story but the one it
// is given, and the story knows nothing of how it is played.
type story struct {
	flags   []string // name of each flag, by bit
	start   string   // id of the first place
	opening string
	places  []place
	nouns   []noun
	acts    []act
	hints   []passage // what to do next: the first that holds
	carried []passage // names of what the player carries: all that hold
	nothing string    // what is said of empty hands
	over    string    // the answer to every move after the end
}

// flags are what has happened, a bit each. They are only ever set, never taken
// back: that makes a state checkable (see canHaveHappened).
type flags uint16

// cover reports whether f has all of want.
func (f flags) cover(want flags) bool { return f&want == want }

// A when is a condition: all of needs, none of unless. The zero when holds.
type when struct {
	needs, unless flags
}

func (w when) holds(f flags) bool { return f.cover(w.needs) && f&w.unless == 0 }

// A passage is a paragraph that is told if its condition holds.
type passage struct {
	when
	text string
}

// A place is somewhere to be.
type place struct {
	id     string
	name   string
	button string // label of the way there
	needs  flags  // what it takes to get there
	closed string // what is told to who lacks it
	ways   []string
	back   string // where 「戻る」 leads; empty if nowhere in particular
	text   []passage
}

// A noun is a thing that players name, with every name it goes by.
type noun struct {
	id    string // a place's own noun has the id of the place
	names []string
	at    string // place where 「…のところへ行く」 leads; empty if none
	lives bool   // does things by itself: 「船長が行く」 is not the player's move
}

// An act is something that can be done, at one place or anywhere. Its label is
// its button and, typed, its surest wording.
type act struct {
	label    string
	at       string // id of a place; empty for anywhere
	to       string // noun of who is spoken to: may always be named
	says     []saying
	tellings []telling // the first that holds is what happens; one always does
}

func (a act) isAt(place string) bool { return a.at == "" || a.at == place }

// A saying is a way to put an act in words: one of the verbs, all of the nouns
// in about, and no other nouns but those in also.
type saying struct {
	verbs verb
	about []string
	also  []string
}

// A telling is one outcome of an act. Needs must be complete on one that sets or
// ends something, whatever the tellings above it: states are checked by them.
type telling struct {
	when
	offered bool  // the act is shown as a button while this is its outcome
	sets    flags // one flag at most, so that turns can be counted by flags
	ends    string
	text    string
	more    []passage // further paragraphs
}
