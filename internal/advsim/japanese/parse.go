package japanese

import (
	"slices"
	"strings"
)

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

// An innerDeed is what is done within another deed.
type innerDeed struct {
	deed deed
	stem string
}

// A clause is one verb and what goes with it.
type clause struct {
	nouns  []mention
	loose  []mention // nouns that only describe another: of 「凍った鐘のこと」, of 「さっき見た灯」
	groups []string  // numbers and manners
	runs   []run

	deed  deed
	stem  string      // of a verb that is no word
	inner []innerDeed // what is done within it: 「凍っていた」鐘
	sign  sign
	link  link

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
	paused  bool // 「、」 stands behind it
}

func (c *clause) empty() bool {
	return c.deed == noDeed && !c.talk && len(c.nouns) == 0 && len(c.loose) == 0 && len(c.groups) == 0 && len(c.runs) == 0 &&
		!c.asks && !c.outside && !c.sight && !c.pointer && !c.self && !c.other && !c.aspect
}

// A sentence is what a player said, taken apart.
type sentence struct {
	clauses []clause
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
		p.rest = tokens[i+1:]
		p.take(t, p.next())
		p.afterNo = t.role == isParticle && t.particle == no
	}
	p.finish()
	return p.s
}

// next is what follows, nil at the end. Fillers stand anywhere and are passed by.
func (p *parser) next() *token {
	for i := range p.rest {
		if r := p.rest[i].role; r != isFiller && r != isManner && r != isNoise {
			return &p.rest[i]
		}
	}
	return nil
}

// nextVerb is the next verb of the sentence, nil if there is none.
func (p *parser) nextVerb() *token {
	for i := range p.rest {
		if p.rest[i].role == isVerb {
			return &p.rest[i]
		}
	}
	return nil
}

type parser struct {
	nouns   []Noun
	rest    []token // not yet taken
	afterNo bool    // 「の」 is what was taken last
	s       sentence
	c       clause // not yet done
	ended   bool   // the clause before has come to an end: 。
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
		c.groups = unite(c.groups, []string{t.group})
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
		c.runs = append(c.runs, run{t.text, with})
		c.other = c.other || with == ga || with == ha
	case isSight:
		c.sight = true
		c.asks = c.asks || t.sign&asks != 0
		if t.sign&asks != 0 {
			c.groups = unite(c.groups, []string{"question"})
		}
	case isOutside:
		c.outside = true
	case isQuestion:
		c.asks = true
		c.groups = unite(c.groups, []string{"question"})
	case isPlea:
		p.s.plea = true
	case isCarried:
		p.s.carried = p.s.carried || with != no // 「ポケットの切符」
	case isCall:
		p.s.call = true
	case isNo:
		p.s.no = true
		c.groups = unite(c.groups, []string{"no"})
	case isIf:
		if with == no {
			c.runs = append(c.runs, run{t.text, no}) // 「昔の話」
			return
		}
		p.s.iffy = true
	case isCopula:
		p.copula(t)
	case isBreak:
		p.stop(t, next)
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
	if v := p.nextVerb(); v != nil && v.deed == tells && t.sign&supposed != 0 && strings.HasSuffix(t.text, "ないと") {
		t.link, t.sign = quoted, 0 // 「鳴らないと言う」
	}
	if n := len(c.loose); n > 0 && p.afterNo && t.then != formI {
		p.name(c.loose[n-1].noun, wo, next) // 「霧の話をする」, 「霧の」 being said of the verb
		c.loose = slices.Delete(c.loose, n-1, n)
	}
	c.sign |= t.sign
	c.link = t.link
	if t.deed == does || t.deed == unknownDeed {
		p.nameDoes(t)
	}
	if t.manner != "" {
		c.groups = unite(c.groups, []string{t.manner})
	}
	last := next == nil || next.role == isBreak && next.text != string(pause)
	switch {
	case last:
		if c.link != quoted || c.sign&asks != 0 {
			if c.link == while {
				c.sign |= supposed // 「見る前に」, and then nothing
			}
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
	if inner.link == quoted {
		p.fold()
		inner = p.c
	}
	p.c = clause{runs: inner.runs, groups: inner.groups, self: inner.self, pointer: inner.pointer, inner: inner.inner}
	if inner.deed != noDeed {
		p.c.inner = append(p.c.inner, innerDeed{inner.deed, inner.stem})
	}
	p.c.loose = slices.Concat(inner.loose, inner.nouns)
	p.c.other = inner.link == quoted && inner.other && inner.subject // 「船長が鐘が鳴らないと言う」
}

// fold takes the clauses that lead up to a quoted one, which are as far from
// being asked for, into it: 「引いても鳴らなかったと言う」.
func (p *parser) fold() {
	for !p.ended && len(p.s.clauses) > 0 {
		last := len(p.s.clauses) - 1
		before := p.s.clauses[last]
		if before.sign&supposed == 0 && (before.paused || before.link != andThen && before.link != inOrderTo) {
			return
		}
		p.s.clauses = p.s.clauses[:last]
		p.c.loose = slices.Concat(before.loose, before.nouns, p.c.loose)
		p.c.runs = slices.Concat(before.runs, p.c.runs)
		p.c.inner = append(p.c.inner, innerDeed{before.deed, before.stem})
	}
}

// quote encloses what was said before a stop within quotation.
func (p *parser) quote() {
	if n := len(p.s.clauses); p.c.empty() && n > 0 {
		p.c = p.s.clauses[n-1]
		p.s.clauses = p.s.clauses[:n-1]
	}
	p.c.link = quoted
	p.enclose()
}

// stop reads punctuation.
func (p *parser) stop(t token, next *token) {
	if next != nil && next.role == isParticle && (next.particle == to || next.particle == about) && t.text != string(pause) {
		p.quote() // 「何が見える？」と聞く
		return
	}
	switch t.text {
	case string(pause):
		if n := len(p.s.clauses); n > 0 && p.c.empty() {
			p.s.clauses[n-1].paused = true
		}
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
