package japanese

import "slices"

// A mention is a noun where it stands in a sentence.
type mention struct {
	noun     int
	particle particle
}

// A run is letters that are no word.
type run struct {
	text     string
	particle particle
}

// A clause is one verb and what goes with it.
type clause struct {
	nouns  []mention
	loose  []mention // nouns that only describe another: of 「凍った鐘のこと」, of 「さっき見た灯」
	groups []string  // numbers and manners
	runs   []run

	deed deed
	stem string // of a verb that is no word
	sign sign
	link link

	text    string // of the verb
	about   bool   // 「霧について」, 「霧の話」
	aspect  bool   // 「霧のこと」「船長のところ」
	talk    bool   // 「霧の話」
	asks    bool   // has a word that asks: 「どこ」
	self    bool
	other   bool // somebody else acts
	topic   bool // the last thing named is what the clause is about: 「霧は」
	subject bool // something does by itself: 「霧が」
	outside bool
	sight   bool
	pointer bool
	copula  bool
}

func (c *clause) empty() bool {
	return c.deed == noDeed && !c.talk && len(c.nouns) == 0 && len(c.loose) == 0 && len(c.groups) == 0 && len(c.runs) == 0 &&
		!c.asks && !c.outside && !c.sight && !c.pointer && !c.self && !c.other && !c.aspect
}

// A sentence is what a player said, taken apart.
type sentence struct {
	clauses []clause
	inner   []clause // clauses within others: 「凍っていた」鐘
	plea    bool
	carried bool
	call    bool
	no      bool
	iffy    bool
	mark    bool // 「？」
	letters int  // code points in all
	unknown int  // of these, in no word
}

// parse takes words together to clauses.
func (r *Reader) parse(tokens []token) sentence {
	p := parser{nouns: r.nouns}
	for i, t := range tokens {
		p.s.letters += len([]rune(t.text))
		var next *token
		for j := i + 1; j < len(tokens); j++ {
			// Fillers stand anywhere, 「霧ちょっと」, but 「船長さんに」 is one.
			if r := tokens[j].role; r != isFiller && r != isManner && r != isNoise {
				next = &tokens[j]
				break
			}
		}
		p.take(t, next)
	}
	p.finish()
	return p.s
}

type parser struct {
	nouns []Noun
	s     sentence
	c     clause // not yet done
	ended bool   // the clause before has come to an end: 。
}

// take adds a word to the clause; next is what follows it, nil at the end.
func (p *parser) take(t token, next *token) {
	c := &p.c
	with := noParticle
	if next != nil && next.role == isParticle {
		with = next.particle
	}
	switch t.role {
	case isNoun:
		p.name(t.noun, with, next)
	case isStrange:
		p.s.unknown += len([]rune(t.text))
		c.runs = append(c.runs, run{t.text, with})
		if with == ga || with == ha {
			c.other = true
		}
	case isNumber, isManner:
		if !slices.Contains(c.groups, t.group) {
			c.groups = append(c.groups, t.group)
		}
	case isVerb:
		p.act(t, next)
	case isParticle:
		c.about = c.about || t.particle == about
	case isAspect, isTalk:
		c.talk = c.talk || t.role == isTalk
		p.aspect(with, next)
	case isPointer:
		c.pointer = true
	case isSelf:
		c.self = true
	case isOther:
		c.other = true
	case isSight:
		c.sight = true
		c.asks = c.asks || t.sign&asks != 0
	case isOutside:
		c.outside = true
	case isQuestion:
		c.asks = true
	case isPlea:
		p.s.plea = true
	case isCarried:
		p.s.carried = true
	case isCall:
		p.s.call = true
	case isNo:
		p.s.no = true
	case isIf:
		if with == no {
			c.runs = append(c.runs, run{t.text, no}) // 「昔の話」
			return
		}
		p.s.iffy = true
	case isCopula:
		p.copula(t)
	case isBreak:
		p.stop(t)
	}
}

func (p *parser) name(noun int, with particle, next *token) {
	c := &p.c
	m := mention{noun, with}
	switch {
	case with == no && next != nil:
		c.loose = append(c.loose, m)
		return
	case p.nouns[noun].Kind == Person && (with == ga || with == ha):
		c.other = true
	case with == ga:
		c.subject = true
	case with == ha:
		c.topic = true
	}
	c.nouns = append(c.nouns, m)
}

// aspect reads a word that stands for the noun before it: 「船長のところへ」.
func (p *parser) aspect(with particle, next *token) {
	c := &p.c
	c.aspect = true
	if n := len(c.loose); n > 0 && c.loose[n-1].particle == no {
		m := c.loose[n-1]
		c.loose = c.loose[:n-1]
		p.name(m.noun, with, next)
	}
}

func (p *parser) copula(t token) {
	c := &p.c
	switch t.text {
	case "か", "ですか", "なのか", "なのかな", "なのですか", "なんですか", "でしょうか", "ですかね", "だっけ":
		c.sign |= asks
	case "じゃない", "ではない", "でない":
		c.sign |= negated
	case "でした", "だった":
		c.sign |= past
	}
	c.copula = true
}

// act ends a clause by its verb, or makes it part of the next.
func (p *parser) act(t token, next *token) {
	c := &p.c
	c.deed, c.stem, c.text = t.deed, t.group, t.text
	c.sign |= t.sign
	c.link = t.link
	if t.deed == does || t.deed == unknownDeed {
		p.nameDoes(t)
	}
	last := next == nil || next.role == isBreak && next.text != string(pause)
	switch {
	case last:
		if c.link != quoted || c.sign&asks != 0 {
			c.link = unlinked
		}
		p.close()
	case c.link == nominal || c.link == quoted:
		p.enclose()
	case c.link == unlinked && t.then&(plain|formU) != 0 && describes(next):
		p.enclose()
	default:
		p.close()
	}
}

// nameDoes finds what is done by a する that follows letters that are no word.
func (p *parser) nameDoes(t token) {
	c := &p.c
	if t.deed == does && c.talk {
		c.deed = tells // 「話をする」
		return
	}
	if n := len(c.runs); t.deed == does && n > 0 && (c.runs[n-1].particle == noParticle || c.runs[n-1].particle == wo) {
		c.deed, c.stem = unknownDeed, c.runs[n-1].text
		c.runs = c.runs[:n-1]
	}
}

// describes reports whether a verb before next describes it: 「見た灯」.
func describes(next *token) bool {
	switch next.role {
	case isNoun, isAspect, isPointer, isStrange, isOther:
		return true
	}
	return false
}

// close ends the clause.
func (p *parser) close() {
	if !p.c.empty() {
		p.s.clauses = append(p.s.clauses, p.c)
	}
	p.c, p.ended = clause{}, false
}

// enclose makes of the clause a part of the next: its nouns are still named,
// but nothing is done to them.
func (p *parser) enclose() {
	inner := p.c
	p.s.inner = append(p.s.inner, inner)
	p.c = clause{runs: inner.runs, groups: inner.groups, self: inner.self, pointer: inner.pointer}
	p.c.loose = slices.Concat(inner.loose, inner.nouns)
}

// stop reads punctuation.
func (p *parser) stop(t token) {
	switch t.text {
	case string(mark):
		p.s.mark = true
		p.finish()
	case string(stop):
		p.finish()
	}
}

// finish ends the clause where no verb has: what is left over belongs to the
// verb before, 「聞きたい、霧の話を」, or is said without a verb.
func (p *parser) finish() {
	c, n := p.c, len(p.s.clauses)
	if n > 0 && !p.ended && !c.empty() && p.s.clauses[n-1].link == unlinked {
		before := &p.s.clauses[n-1]
		before.nouns = append(before.nouns, c.nouns...)
		before.loose = append(before.loose, c.loose...)
		before.groups = append(before.groups, c.groups...)
		before.runs = append(before.runs, c.runs...)
		before.asks = before.asks || c.asks
		before.sign |= c.sign
		p.c = clause{}
	}
	p.close()
	p.ended = true
}
