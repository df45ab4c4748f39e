package japanese

import "slices"

// A phrase is what a sentence names and does, for comparing it with another.
type phrase struct {
	nouns  []int    // that something is done to or with
	loose  []int    // that only describe
	here   []int    // that go without saying: the place where it is said
	tools  []int    // of nouns: 「木槌で」
	groups []string // numbers, manners and the like
	runs   []run
	inner  []innerDeed

	deeds  []deed // the last is the main one
	asked  deed   // what the main one comes to if it is asked of another
	stem   string // of the main one, if it is no word
	verbal bool   // the main one is put as a verb
	favour bool   // the main one is to be done by another
	not    bool   // the main one is denied: 「乗らない」
	mood   mood

	// Of a sentence: what makes a difference here, since some act has it and does
	// the like.
	telling      []string
	tellingInner []innerDeed
	properTools  []int
}

// A mood is how something is said. Questions and remarks are no wishes: they
// count only where an act has one as an example.
type mood int

const (
	wishing   mood = iota
	asking         // for a fact, without saying of whom: 「誰の手袋ですか」
	remarking      // 「灯が見えたよ」
)

// A learnt is an act with what its phrases come to. The label is the first.
type learnt struct {
	act   int
	label string // folded
	to    int    // noun spoken to, -1 if nobody
	texts []string
	says  []phrase
	nouns []int // all that any phrase names
}

// learn reads the phrases of an act.
func (r *Reader) learn(act int, a Act) learnt {
	l := learnt{act: act, label: Fold(a.Label), to: -1}
	if n, ok := r.nounOf[a.To]; ok && a.To != "" {
		l.to = n
	}
	for _, say := range append([]string{a.Label}, a.Says...) {
		tokens, _ := r.words.split([]rune(fold(say)), false)
		s := r.parse(tokens)
		p := r.toPhrase(s.clauses, "")
		p.inMood(s.mood())
		if !slices.ContainsFunc(p.nouns, func(n int) bool { return n != l.to }) {
			p.nouns, p.loose = unite(p.nouns, p.loose...), nil
		}
		l.says = append(l.says, p)
		l.texts = append(l.texts, Fold(say))
		l.nouns = unite(unite(l.nouns, p.nouns...), p.loose...)
	}
	return l
}

// inMood gives what is asked or remarked without a verb one.
func (p *phrase) inMood(m mood) {
	p.mood = m
	switch {
	case len(p.deeds) > 0:
	case m == asking:
		p.deeds = []deed{inquires}
	case m == remarking:
		p.deeds = []deed{isThere}
	}
}

// unite adds to a what it has not.
func unite[T comparable](a []T, b ...T) []T {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// toPhrase merges clauses that are said at a place. The last has the main verb.
func (r *Reader) toPhrase(clauses []clause, at string) (p phrase) {
	for i := range clauses {
		c := &clauses[i]
		for _, m := range c.nouns {
			if r.nouns[m.noun].ID == at && !m.aimedAt() {
				p.here = unite(p.here, m.noun)
				continue
			}
			p.nouns = unite(p.nouns, m.noun)
			if m.particle == de {
				p.tools = unite(p.tools, m.noun)
			}
		}
		for _, m := range c.loose {
			if r.nouns[m.noun].ID == at {
				p.here = unite(p.here, m.noun)
			} else {
				p.loose = unite(p.loose, m.noun)
			}
		}
		p.groups = unite(p.groups, c.groups...)
		p.runs = append(p.runs, c.runs...)
		p.inner = append(p.inner, c.inner...)
		p.does(c)
	}
	return p
}

// does adds what a clause does.
func (p *phrase) does(c *clause) {
	p.not = c.sign&negated != 0 && c.sign&(begged|asks) == 0 && !c.asks
	d := c.does()
	if d == noDeed {
		return
	}
	other := inverse[d]
	p.asked, p.favour = noDeed, false
	switch {
	case c.sign&favour != 0 && other != noDeed:
		d = other // 「教えてもらう」
	case c.sign&favour != 0:
		p.favour = true // 「打ってもらう」
	case c.sign&begged != 0, c.link == unlinked && endsInTe(c.text):
		p.asked = other // 「教えて」
	}
	p.deeds = append(p.deeds, d)
	p.stem, p.verbal = c.stem, c.deed != noDeed
}

// does is what the clause is about doing, whether or not it has a verb.
func (c *clause) does() deed {
	topic := c.about || c.aspect
	switch {
	case c.deed == noDeed && topic && len(c.nouns)+len(c.loose) > 0, // 「霧について」「霧の話」
		c.deed == knows,
		c.deed == requests && topic: // 「霧の話をお願いします」
		return inquires
	case c.deed == requests:
		return receives
	}
	return c.deed
}

// names reports whether a noun is named anywhere in the phrase.
func (p *phrase) names(n int) bool {
	return slices.Contains(p.nouns, n) || slices.Contains(p.loose, n) || slices.Contains(p.here, n)
}

// aimedAt reports whether something is done to what is mentioned, or towards it.
func (m mention) aimedAt() bool {
	return m.particle == wo || m.particle == ni || m.particle == he || m.particle == made
}

// isArgument reports whether letters that are no word are something that is
// acted upon, rather than how or where from: 「ガーンと鳴らす」, 「棚のランタン」.
func (r run) isArgument() bool {
	switch r.particle {
	case no, kara:
		return false
	case noParticle, to:
		return !isKana(r.text)
	}
	return true
}

func (r run) isLike(other run) bool { return alike(r.text, other.text) }

func (d innerDeed) isLike(other innerDeed) bool {
	return akin(d.deed, other.deed) || d.deed == unknownDeed && other.deed == unknownDeed && alike(d.stem, other.stem)
}

// denies reports whether one says that just what the other does is not done.
func (d innerDeed) denies(other innerDeed) bool { return d.not != other.not && d.isLike(other) }

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
	const alikeShare = 60 // of a hundred pairs
	return 2*common*100 >= (len(x)+len(y)-2)*alikeShare
}

func endsInTe(text string) bool {
	r := []rune(text)
	return len(r) > 0 && (r[len(r)-1] == 'て' || r[len(r)-1] == 'で')
}
