package japanese

import "slices"

// What the parts of a phrase are worth, of a hundred.
const (
	sure    = 70 // enough to act
	closely = 88 // enough where it is no wish that is said
	ahead   = 10 // how far behind the second best must be
	perhaps = 35 // enough to ask whether it is meant

	kinWorth    = 85 // the verb is only akin
	askedWorth  = 98 // the verb is another's: 「教えて」 for 「聞く」
	stepWorth   = 70 // the verb is not the main one of several
	partWorth   = 82 // something that the phrase says is not said
	partFurther = 8  // taken off that for each further one
	loneWorth   = 72 // the verb alone is said

	// What is taken off.
	otherDoer   = 35 // who is to do it differs
	otherDeed   = 30 // something else is done first
	otherGroup  = 40 // another act here has just that number or manner
	otherTale   = 20 // another act here is about just that being done
	otherThing  = 31 // what is named belongs to a thing that the act knows nothing of
	otherPerson = 15 // or to a person
	otherPlace  = 5
	otherPhrase = 12 // another phrase of the act names it
	unsaidTale  = 12 // what is only the case is not said: 「凍っていた」
	unsaidLoose = 6
	freshTale   = 6
	freshWord   = 5 // how it is done, in no word
	freshTool   = 5
	freshGroup  = 3
)

// score is how well u fits an act, and how well it might if doubts were
// forgiven.
func (r *Reader) score(u *phrase, act int) (fit, doubtful int) {
	l := &r.acts[act]
	for i := range l.says {
		c := comparison{Reader: r, u: u, e: &l.says[i], act: l}
		f, d := c.score()
		fit, doubtful = max(fit, f), max(doubtful, d)
	}
	return fit, doubtful
}

// A comparison is that of a player's sentence with one example phrase.
type comparison struct {
	*Reader
	u, e *phrase
	act  *learnt

	points int
	wants  int  // how much the example names
	has    int  // how much of that is said
	about  bool // the example is about something, and that is not said
	doubt  bool // something is said that the example does not account for
}

func (c *comparison) score() (fit, doubtful int) {
	u, e := c.u, c.e
	c.points = deedScore(u, e)
	switch {
	case u.not != e.not:
		return 0, 0
	case c.points == 0 && len(u.deeds) > 0:
		return 0, 0
	case len(u.deeds) == 0 && len(e.deeds) == 0 && len(e.groups)+len(e.runs) > 0: // 「三回」
		c.points = 100
	}
	c.lookForWhatIsMissing()
	c.lookForWhatIsTooMuch()
	switch {
	case len(u.deeds) == 0 && c.points > 0 && c.has == c.wants && c.has > 0:
	case len(u.deeds) == 0 && c.has > 0 && !c.doubt:
		return 0, perhaps // a name alone: 「霧」
	case len(u.deeds) == 0, c.wants == 0 && !u.verbal && u.deeds[0] != greets:
		return 0, 0
	case c.has == c.wants:
	case c.has > 0 && !c.about:
		c.worth(partWorth - partFurther*(c.wants-c.has-1))
	case speaksForItself(u.deeds[len(u.deeds)-1]):
		c.worth(loneWorth)
	default:
		c.worth(loneWorth)
		c.doubt = true
	}
	if u.mood != wishing && c.points < closely {
		c.doubt = true
	}
	if c.doubt {
		return 0, c.points / 2
	}
	return c.points, c.points
}

// worth leaves a share of the points, of a hundred.
func (c *comparison) worth(share int) { c.points = c.points * share / 100 }

// lookForWhatIsMissing sees how much of the example is said.
func (c *comparison) lookForWhatIsMissing() {
	u, e := c.u, c.e
	for _, n := range e.nouns {
		if n == c.act.to {
			continue
		}
		c.wants++
		if u.names(n) {
			c.has++
		}
	}
	c.about = c.wants > 0 && c.has == 0
	for _, g := range e.groups {
		c.wants++
		if slices.Contains(u.groups, g) {
			c.has++
		} else {
			c.worth(partWorth)
		}
	}
	for _, want := range e.runs {
		c.wants++
		if slices.ContainsFunc(u.runs, want.isLike) {
			c.has++
		}
	}
	for _, n := range e.loose {
		if n != c.act.to && !u.names(n) {
			c.points -= unsaidLoose
		}
	}
	for _, want := range e.inner {
		switch {
		case slices.ContainsFunc(u.inner, want.isLike):
		case isState(want.deed), want.deed == does, want.deed == looks:
			c.points -= unsaidTale
		default:
			c.worth(partWorth)
		}
	}
	if e.mood != u.mood {
		c.worth(partWorth)
	}
}

// lookForWhatIsTooMuch sees whether the example accounts for what is said. A
// phrase that names nothing, 「船長と話す」, accounts for nothing more.
func (c *comparison) lookForWhatIsTooMuch() {
	u, e := c.u, c.e
	general := c.wants == 0
	if u.favour != e.favour {
		c.points -= otherDoer
	}
	for _, n := range u.nouns {
		switch {
		case slices.Contains(e.nouns, n), n == c.act.to:
		case slices.Contains(c.act.nouns, n):
			c.points -= otherPhrase
			c.doubt = c.doubt || general
		case slices.Contains(u.properTools, n):
			c.points -= freshTool
		default:
			c.doubt = true
		}
	}
	for _, n := range u.loose {
		if n == c.act.to || slices.Contains(c.act.nouns, n) {
			continue
		}
		c.points -= [...]int{Thing: otherThing, Person: otherPerson, Place: otherPlace}[c.Reader.nouns[n].Kind]
		c.doubt = c.doubt || general
	}
	for _, g := range u.groups {
		switch {
		case slices.Contains(e.groups, g):
		case slices.Contains(u.telling, g):
			c.points -= otherGroup
		default:
			c.points -= freshGroup
		}
	}
	for _, got := range u.runs {
		switch {
		case slices.ContainsFunc(e.runs, got.isLike):
		case got.isArgument():
			c.doubt = true
		default:
			c.points -= freshWord
			c.doubt = c.doubt || general
		}
	}
	for _, got := range u.inner {
		switch {
		case slices.ContainsFunc(e.inner, got.denies):
			c.doubt = true
		case slices.ContainsFunc(e.inner, got.isLike):
			continue
		case slices.Contains(u.tellingInner, got):
			c.points -= otherTale
		default:
			c.points -= freshTale
		}
		c.doubt = c.doubt || general && len(e.inner) == 0
	}
	greetsThing := len(u.deeds) > 0 && u.deeds[len(u.deeds)-1] == greets &&
		slices.ContainsFunc(u.nouns, func(n int) bool { return c.Reader.nouns[n].Kind != Person && !slices.Contains(e.nouns, n) })
	c.doubt = c.doubt || greetsThing
}

// deedScore is how close the verbs of two phrases are.
func deedScore(u, e *phrase) int {
	if len(u.deeds) == 0 || len(e.deeds) == 0 {
		return 0
	}
	last := len(e.deeds) - 1
	main, best := u.deeds[len(u.deeds)-1], 0
	for i, d := range e.deeds {
		points := likeness(main, d)
		if i == last && e.asked != noDeed {
			points = points * kinWorth / 100 // an example that asks of another hardly means to do it oneself
		}
		points = max(points, likeness(u.asked, d)*askedWorth/100)
		switch {
		case i < last:
			points = points * stepWorth / 100
		case main == unknownDeed && d == unknownDeed && alike(u.stem, e.stem):
			points = 100
		default:
			points = max(points, likeness(main, e.asked), likeness(u.asked, e.asked))
		}
		best = max(best, points)
	}
	for _, d := range u.deeds[:len(u.deeds)-1] {
		if !accompanies(d) && !slices.ContainsFunc(e.deeds, func(other deed) bool { return akin(d, other) }) {
			best -= otherDeed
		}
	}
	return max(best, 0)
}

// compareAround finds what makes a difference among the acts here: 「三回打つ」 is
// not just 「打つ」 where there is an act for it. Also, which tools are meant for
// such a thing.
func (h *hearing) compareAround(u *phrase) {
	for i := range h.acts {
		if !h.possible(i) {
			continue
		}
		for j := range h.acts[i].says {
			e := &h.acts[i].says[j]
			if deedScore(u, e) == 0 {
				continue
			}
			for _, g := range u.groups {
				if slices.Contains(e.groups, g) {
					u.telling = unite(u.telling, g)
				}
			}
			for _, d := range u.inner {
				if slices.ContainsFunc(e.inner, d.isLike) {
					u.tellingInner = unite(u.tellingInner, d)
				}
			}
			for _, n := range u.tools {
				if slices.Contains(e.nouns, n) {
					u.properTools = unite(u.properTools, n)
				}
			}
		}
	}
}

// A contest is which acts fit best.
type contest struct {
	act, fit             int
	secondAct, secondFit int
}

func (c contest) sure() bool { return c.fit >= sure && c.fit >= c.secondFit+ahead }

// best finds the two acts that fit best, of equals the earlier.
func (h *hearing) best(u *phrase, may func(act int) bool) (c contest) {
	for i := range h.acts {
		if !may(i) {
			continue
		}
		fit, _ := h.score(u, i)
		switch {
		case fit > c.fit:
			c = contest{i, fit, c.act, c.fit}
		case fit > c.secondFit:
			c.secondAct, c.secondFit = i, fit
		}
	}
	return c
}
