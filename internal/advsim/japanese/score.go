package japanese

import (
	"slices"
)

// A phrase is what a sentence names and does, for comparing it with another.
type phrase struct {
	nouns    []int // that must be explained
	loose    []int // that only describe
	here     []int // that go without saying: the place where it is said
	tools    []int // 「木槌で」
	groups   []string
	runs     []run
	deeds    []deed // the last is the main one
	asked    deed   // what the main one comes to if it is asked of another
	stem     string // of the main one, if it is no word
	verbal   bool   // the main one is put as a verb
	subject  bool
	favour   bool // the main one is to be done by another
	question bool // asks for a fact, without saying of whom
	inner    []innerDeed

	claimed []string    // of groups: those that some act here makes a difference of
	meant   []innerDeed // of inner: the same
	proper  []int       // of tools: those that some act here does such a thing with
}

// An actPhrases is an act with what its phrases come to.
type actPhrases struct {
	label string // folded
	to    int    // noun spoken to, -1 if nobody
	says  []phrase
	text  []string // of each phrase, folded
	nouns []int    // all that any phrase names
}

// learn reads the phrases of an act.
func (r *Reader) learn(a Act) actPhrases {
	learnt := actPhrases{label: Fold(a.Label), to: -1}
	if n, ok := r.nounOf[a.To]; ok && a.To != "" {
		learnt.to = n
	}
	for _, say := range append([]string{a.Label}, a.Says...) {
		tokens, _ := r.words.split([]rune(fold(say)), false)
		s := r.parse(tokens)
		p := r.toPhrase(s.clauses, "")
		if len(s.clauses) > 0 {
			p.question = s.isQuestion(&s.clauses[len(s.clauses)-1])
		}
		if p.question && len(p.deeds) == 0 {
			p.deeds = []deed{inquires}
		}
		if !slices.ContainsFunc(p.nouns, func(n int) bool { return n != learnt.to }) {
			p.nouns, p.loose = unite(p.nouns, p.loose), nil
		}
		learnt.says = append(learnt.says, p)
		learnt.text = append(learnt.text, Fold(say))
		learnt.nouns = unite(unite(learnt.nouns, p.nouns), p.loose)
	}
	return learnt
}

func unite[T comparable](a, b []T) []T {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// toPhrase merges clauses, of which the last has the main verb, said at a place.
func (r *Reader) toPhrase(clauses []clause, at string) phrase {
	var p phrase
	for i := range clauses {
		c := &clauses[i]
		for _, m := range c.nouns {
			switch {
			case r.nouns[m.noun].ID == at && !m.aimedAt():
				p.here = unite(p.here, []int{m.noun})
			case m.particle == de:
				p.tools = unite(p.tools, []int{m.noun})
				fallthrough
			default:
				p.nouns = unite(p.nouns, []int{m.noun})
			}
		}
		for _, m := range c.loose {
			if r.nouns[m.noun].ID == at {
				p.here = unite(p.here, []int{m.noun})
			} else {
				p.loose = unite(p.loose, []int{m.noun})
			}
		}
		p.groups = unite(p.groups, c.groups)
		p.runs = append(p.runs, c.runs...)
		p.inner = append(p.inner, c.inner...)
		p.subject = c.subject && c.sign&wanted == 0
		if d := c.does(); d != noDeed {
			p.favour = c.sign&favour != 0
			if inverse[d] != noDeed && p.favour {
				d = inverse[d]
				p.favour = false
			}
			p.deeds = append(p.deeds, d)
			p.stem, p.verbal = c.stem, c.deed != noDeed
			p.asked = noDeed
			if c.sign&begged != 0 || c.then() {
				p.asked = inverse[d]
			}
		}
	}
	return p
}

// then reports whether the clause ends like a request: 「教えて」.
func (c *clause) then() bool { return c.link == unlinked && c.deed != noDeed && endsInTe(c.text) }

// does is what the clause is about doing, whether or not it has a verb.
func (c *clause) does() deed {
	switch {
	case c.deed == noDeed && (c.about || c.aspect || c.talk) && len(c.nouns)+len(c.loose) > 0:
		return inquires // 「霧について」「霧の話」
	case c.deed == knows:
		return inquires
	case c.deed == requests && (c.about || c.aspect || c.talk):
		return inquires
	case c.deed == requests:
		return receives
	}
	return c.deed
}

// aimedAt reports whether something is done to what is mentioned.
func (m mention) aimedAt() bool {
	return m.particle == wo || m.particle == ni || m.particle == he || m.particle == made
}

func endsInTe(text string) bool {
	r := []rune(text)
	return len(r) > 0 && (r[len(r)-1] == 'て' || r[len(r)-1] == 'で')
}

// What parts of a phrase are worth, of a hundred.
const (
	sure       = 70 // enough to act
	clearly    = 10 // how far the second must be behind
	perhaps    = 35 // enough to ask whether it is meant
	kinScore   = 85
	askedScore = 98
	partScore  = 82 // some of what the phrase names is not said
	loneScore  = 72 // the verb only is said
)

// score is how well u fits act, of a hundred, and how well it might if what is
// doubtful were forgiven.
func (r *Reader) score(u *phrase, act int) (fit, doubtful int) {
	a := &r.acts[act]
	for i := range a.says {
		f, d := r.compare(u, &a.says[i], a)
		fit, doubtful = max(fit, f), max(doubtful, d)
	}
	return fit, doubtful
}

func (r *Reader) compare(u, e *phrase, a *actPhrases) (fit, doubtful int) {
	points := deedScore(u, e)
	if points == 0 && len(u.deeds) > 0 {
		return 0, 0
	}
	if u.favour != e.favour {
		points -= 30
	}
	wants, has := 0, 0 // what the phrase names, and how much of it is said
	for _, n := range e.nouns {
		if n == a.to {
			continue
		}
		wants++
		if u.names(n) {
			has++
		}
	}
	for _, g := range e.groups {
		wants++
		if slices.Contains(u.groups, g) {
			has++
		} else {
			points = points * partScore / 100
		}
	}
	for _, want := range e.runs {
		wants++
		if slices.ContainsFunc(u.runs, func(got run) bool { return alike(got.text, want.text) }) {
			has++
		}
	}

	for _, n := range e.loose {
		if n != a.to && !u.names(n) {
			points -= 6
		}
	}
	for _, want := range e.inner {
		switch {
		case slices.ContainsFunc(u.inner, want.isLike):
		case want.deed == becomes || want.deed == isThere || want.deed == does || want.deed == looks:
			points -= 12
		default:
			points = points * partScore / 100
		}
	}
	if e.question && !u.question {
		points = points * partScore / 100
	}
	doubt := u.question && !e.question
	for _, got := range u.inner {
		if !slices.ContainsFunc(e.inner, got.isLike) {
			points -= 6
			if slices.Contains(u.meant, got) {
				points -= 14
			}
			doubt = doubt || wants == 0 && len(e.inner) == 0
		}
	}
	for _, n := range u.nouns {
		switch {
		case slices.Contains(e.nouns, n):
		case n == a.to:
		case slices.Contains(a.nouns, n):
			points -= 12
			doubt = doubt || wants == 0
		case slices.Contains(u.proper, n):
			points -= 5
		default:
			doubt = true
		}
	}
	for _, n := range u.loose {
		if slices.Contains(a.nouns, n) || n == a.to {
			continue
		}
		doubt = doubt || wants == 0
		switch r.nouns[n].Kind {
		case Place:
			points -= 5
		case Person:
			points -= 15
		case Thing:
			points -= 31
		}
	}
	for _, g := range u.groups {
		switch {
		case slices.Contains(e.groups, g):
		case slices.Contains(u.claimed, g):
			points -= 40
		default:
			points -= 3
		}
	}
	for _, got := range u.runs {
		if slices.ContainsFunc(e.runs, func(want run) bool { return alike(got.text, want.text) }) {
			continue
		}
		switch {
		case got.particle == no, got.particle == kara, isKana(got.text) && (got.particle == noParticle || got.particle == to):
			points -= 5
			doubt = doubt || wants == 0
		default:
			doubt = true
		}
	}
	if len(u.deeds) > 0 && u.deeds[len(u.deeds)-1] == greets && slices.ContainsFunc(u.nouns, func(n int) bool { return r.nouns[n].Kind != Person }) {
		doubt = true // nobody greets a thing
	}
	if u.subject && !e.subject {
		doubt = true
	}

	if len(u.deeds) == 0 {
		if has > 0 && !doubt {
			return 0, perhaps + 20*has/wants
		}
		return 0, 0
	}
	switch {
	case wants == 0 && !u.verbal && u.deeds[0] != greets:
		return 0, 0 // 「船長のこと」
	case has == wants:
	case has > 0:
		points = points * (partScore - 8*(wants-has-1)) / 100
	case speaksForItself(u.deeds[len(u.deeds)-1]):
		points = points * loneScore / 100
	default:
		return 0, points * loneScore / 200
	}
	if doubt {
		return 0, points / 2
	}
	return points, points
}

// names reports whether a noun is named anywhere in the phrase.
func (u *phrase) names(n int) bool {
	return slices.Contains(u.nouns, n) || slices.Contains(u.loose, n) || slices.Contains(u.here, n)
}

func (d innerDeed) isLike(other innerDeed) bool {
	return likeness(d.deed, other.deed) > 0 || d.deed == unknownDeed && other.deed == unknownDeed && alike(d.stem, other.stem)
}

// speaksForItself reports whether a verb may be said alone, with nothing named.
// One may look at, talk about and go to too much.
func speaksForItself(d deed) bool {
	switch d {
	case goes, leaves, comes, looks, inquires, tells, greets, listens, knows, does, isThere, becomes, unknownDeed:
		return false
	}
	return true
}

// deedScore is how close the verbs of two phrases are.
func deedScore(u, e *phrase) int {
	if len(u.deeds) == 0 || len(e.deeds) == 0 {
		return 0
	}
	main, best := u.deeds[len(u.deeds)-1], 0
	for i, d := range e.deeds {
		points := likeness(main, d)
		if i == len(e.deeds)-1 && e.asked != noDeed {
			points = points * kinScore / 100 // an example that asks of another hardly means to do it oneself
		}
		if u.asked != noDeed {
			points = max(points, likeness(u.asked, d)*askedScore/100)
		}
		last := i == len(e.deeds)-1
		if last && e.asked != noDeed {
			points = max(points, likeness(main, e.asked))
			if u.asked != noDeed {
				points = max(points, likeness(u.asked, e.asked))
			}
		}
		if last && main == unknownDeed && d == unknownDeed && alike(u.stem, e.stem) {
			points = 100
		}
		if !last {
			points = points * 70 / 100
		}
		best = max(best, points)
	}
	for _, d := range u.deeds[:len(u.deeds)-1] {
		if !slices.ContainsFunc(e.deeds, func(x deed) bool { return likeness(d, x) > 0 }) && !accompanies(d) {
			best -= 30
		}
	}
	return max(best, 0)
}

// accompanies reports whether something is often done on the way to another.
func accompanies(d deed) bool {
	switch d {
	case uses, stands, greets, comes, goes, grips:
		return true
	}
	return false
}

// likeness is how close two deeds are, of a hundred.
func likeness(a, b deed) int { return likenesses[a][b] }

var likenesses = func() (table [requests + 1][requests + 1]int) {
	for _, group := range kin {
		for _, a := range group {
			for _, b := range group {
				table[a][b] = kinScore
			}
		}
	}
	for d := range table {
		table[d][d] = 100
	}
	table[noDeed][noDeed], table[unknownDeed][unknownDeed] = 0, 0
	return table
}()

// alike reports whether letters that are no word may be the same word: by their
// pairs of letters.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	x, y := []rune(a), []rune(b)
	if len(x) < 3 || len(y) < 3 {
		return false
	}
	common := 0
	for i := 1; i < len(x); i++ {
		for j := 1; j < len(y); j++ {
			if x[i-1] == y[j-1] && x[i] == y[j] {
				common++
				break
			}
		}
	}
	return 2*common*10 >= (len(x)+len(y)-2)*6
}
