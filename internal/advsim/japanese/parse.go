package japanese

import (
	"slices"
	"strings"
)

// A sentence is what a player said, taken apart.
type sentence struct {
	clauses []clause
	plea    bool // asks for help
	carried bool // asks what is carried
	call    bool // 「すみません」
	no      bool // 「いいえ」
	iffy    bool // 「もし」「昨日」
	mark    bool // 「？」
	letters int  // code points in all
	unknown int  // of these, in no word
}

// A clause is one verb and what goes with it.
type clause struct {
	nouns  []mention
	loose  []mention // nouns that only describe: 「鐘」 of 「鐘の綱」, 「灯」 of 「灯が見えたこと」
	groups []string  // numbers and manners
	runs   []run

	deed  deed
	stem  string // of a verb that is no word
	text  string // of the verb
	sign  sign
	link  link
	inner []innerDeed

	about   bool // 「霧について」
	aspect  bool // 「霧のこと」
	talk    bool // 「霧の話」
	asks    bool // has a word that asks: 「どこ」
	sight   bool // 「あたり」
	outside bool // 「外」
	vague   bool // says something that tells nothing: 「それ」「私」
	other   bool // somebody else acts
	subject bool // a thing does by itself: 「霧が」
	paused  bool // 「、」 stands behind it
	stopped bool // 「。」 stands behind it
}

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

// An innerDeed is what is done within another deed: to freeze, in
// 「鐘が凍っていたと話す」.
type innerDeed struct {
	deed deed
	stem string
	not  bool
}

func (c *clause) empty() bool {
	return c.deed == noDeed && len(c.nouns) == 0 && len(c.loose) == 0 && len(c.groups) == 0 && len(c.runs) == 0 &&
		!c.aspect && !c.asks && !c.sight && !c.outside && !c.vague && !c.other
}

// A parser takes words together to clauses.
type parser struct {
	nouns   []Noun
	rest    []token // not yet taken
	s       sentence
	c       clause // that is being put together
	afterNo bool   // 「の」 is what was taken last
	ended   bool   // no clause is open to more: 。
}

func (r *Reader) parse(tokens []token) sentence {
	p := parser{nouns: r.nouns}
	for i, t := range tokens {
		p.rest = tokens[i+1:]
		p.take(t, p.next())
		p.afterNo = t.role == isParticle && t.particle == no
		p.s.letters += len([]rune(t.text))
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

// nextDeed is what the next verb of the sentence does.
func (p *parser) nextDeed() deed {
	for i := range p.rest {
		if p.rest[i].role == isVerb {
			return p.rest[i].deed
		}
	}
	return noDeed
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
		p.name(mention{t.noun, with}, next)
	case isStrange, isOther:
		if t.role == isStrange {
			p.s.unknown += len([]rune(t.text))
		}
		c.runs = append(c.runs, run{t.text, with})
		c.other = c.other || with == ga || with == ha
	case isNumber, isManner:
		c.group(t.group)
	case isVerb:
		p.act(t, next)
	case isParticle:
		c.about = c.about || t.particle == about
	case isAspect, isTalk:
		c.aspect = true
		c.talk = c.talk || t.role == isTalk
		if n := len(c.loose); n > 0 && p.afterNo {
			// The aspect stands for its noun: 「船長のところへ」 is to the captain.
			m := c.loose[n-1]
			c.loose = c.loose[:n-1]
			p.name(mention{m.noun, with}, next)
		}
	case isPointer, isSelf:
		c.vague = true
	case isSight:
		c.sight = true
		if t.sign&asks != 0 {
			c.asks = true
			c.group("question")
		}
	case isOutside:
		c.outside = true
	case isQuestion:
		c.asks = true
		c.group("question")
	case isPlea:
		p.s.plea = true
	case isCarried:
		p.s.carried = p.s.carried || with != no // not 「ポケットの切符」
	case isCall:
		p.s.call = true
	case isNo:
		p.s.no = true
		c.group("no")
	case isIf:
		if with == no {
			c.runs = append(c.runs, run{t.text, no}) // 「昔の話」 is no other time
		} else {
			p.s.iffy = true
		}
	case isCopula:
		p.copula(t, next)
	case isBreak:
		p.stop(t, next)
	}
}

func (c *clause) group(g string) { c.groups = unite(c.groups, g) }

// name adds a noun.
func (p *parser) name(m mention, next *token) {
	c := &p.c
	switch {
	case m.particle == no && next != nil:
		c.loose = append(c.loose, m)
		return
	case p.nouns[m.noun].Kind == Person && (m.particle == ga || m.particle == ha):
		c.other = true
	case m.particle == ga:
		c.subject = true
	}
	c.nouns = append(c.nouns, m)
}

// copula reads 「です」 and the like, which say little but may ask or deny.
func (p *parser) copula(t token, next *token) {
	c := &p.c
	switch t.text {
	case "か", "ですか", "なのか", "なのかな", "なのですか", "なんですか", "でしょうか", "ですかね", "だっけ":
		c.sign |= asks
	case "じゃない", "ではない", "でない":
		c.sign |= negated
	case "でした", "だった":
		c.sign |= past
	}
	c.vague = true
	if next != nil && describes(next) {
		p.enclose() // 「灯台守だった父」
		return
	}
	if d := p.nextDeed(); strings.HasSuffix(t.text, "か") && (d == inquires || d == tells || d == looks) {
		c.link = quoted // 「どうして緑なのか聞く」
		p.enclose()
	}
}

// act ends a clause by its verb, or makes it part of the next.
func (p *parser) act(t token, next *token) {
	c := &p.c
	if t.sign&supposed != 0 && strings.HasSuffix(t.text, "ないと") && p.nextDeed() == tells {
		t.link, t.sign = quoted, negated // 「鳴らないと言う」
	}
	if n := len(c.loose); n > 0 && p.afterNo && t.then != formI {
		p.name(mention{c.loose[n-1].noun, wo}, next) // 「霧の話をする」: 「話をする」 is one verb
		c.loose = slices.Delete(c.loose, n-1, n)
	}
	c.deed, c.stem, c.text, c.link = t.deed, t.group, t.text, t.link
	c.sign |= t.sign
	if t.deed == does {
		c.findDeed()
	}
	if t.manner != "" {
		c.group(t.manner)
	}
	switch {
	case next == nil || next.role == isBreak && next.text != string(pause):
		if c.link == while {
			c.sign |= supposed // 「見る前に」, and then nothing
		}
		c.link = unlinked
		p.close()
	case c.link == nominal || c.link == quoted:
		p.enclose()
	case c.link == unlinked && t.then&(plain|formU) != 0 && describes(next):
		p.enclose()
	default:
		p.close()
	}
}

// findDeed finds what is done by する: 「話をする」, 「キャンプする」.
func (c *clause) findDeed() {
	n := len(c.runs)
	switch {
	case c.talk:
		c.deed = tells
	case n > 0 && (c.runs[n-1].particle == noParticle || c.runs[n-1].particle == wo):
		c.deed, c.stem = unknownDeed, c.runs[n-1].text
		c.runs = c.runs[:n-1]
	}
}

// describes reports whether a verb before next describes it: 「見た灯」.
func describes(next *token) bool {
	switch next.role {
	case isNoun, isAspect, isTalk, isPointer, isStrange, isOther:
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

// enclose makes the clause a part of the next: its nouns are still named, but
// nothing is done to them.
func (p *parser) enclose() {
	if p.c.link == quoted {
		p.fold()
	}
	inner := p.c
	p.c = clause{
		runs:   inner.runs,
		groups: inner.groups,
		vague:  inner.vague,
		inner:  inner.inner,
		loose:  slices.Concat(inner.loose, inner.nouns),
		other:  inner.link == quoted && inner.other && inner.subject, // 「船長が鐘が鳴らないと言う」
	}
	if inner.deed != noDeed {
		p.c.inner = append(p.c.inner, innerDeed{inner.deed, inner.stem, inner.sign&negated != 0})
	}
}

// fold takes the clauses that lead up to a quoted one, which are as far from
// being asked for, into it: 「引いても鳴らなかったと言う」.
func (p *parser) fold() {
	for n := len(p.s.clauses); n > 0 && !p.ended; n-- {
		before := p.s.clauses[n-1]
		leads := before.sign&supposed != 0 || !before.paused && (before.link == andThen || before.link == inOrderTo)
		if !leads {
			return
		}
		p.s.clauses = p.s.clauses[:n-1]
		p.c.loose = slices.Concat(before.loose, before.nouns, p.c.loose)
		p.c.runs = slices.Concat(before.runs, p.c.runs)
		p.c.inner = append(p.c.inner, innerDeed{before.deed, before.stem, before.sign&negated != 0})
	}
}

// stop reads punctuation.
func (p *parser) stop(t token, next *token) {
	n := len(p.s.clauses)
	switch {
	case t.text == string(pause):
		if n > 0 && p.c.empty() {
			p.s.clauses[n-1].paused = true
		}
	case next != nil && next.role == isParticle && (next.particle == to || next.particle == about):
		if n > 0 && p.c.empty() {
			p.c, p.s.clauses = p.s.clauses[n-1], p.s.clauses[:n-1]
		}
		p.c.link = quoted // 「何が見える？」と聞く
		p.enclose()
	default:
		p.s.mark = p.s.mark || t.text == string(mark)
		p.finish()
		if n := len(p.s.clauses); n > 0 && t.text == string(stop) {
			p.s.clauses[n-1].stopped = true
		}
	}
}

// finish ends a clause where no verb has: what is left over belongs to the verb
// before, 「聞きたい、霧の話を」, or is said without one.
func (p *parser) finish() {
	n := len(p.s.clauses)
	if n > 0 && !p.ended && p.s.clauses[n-1].link == unlinked {
		before, c := &p.s.clauses[n-1], &p.c
		before.nouns = append(before.nouns, c.nouns...)
		before.loose = append(before.loose, c.loose...)
		before.groups = unite(before.groups, c.groups...)
		before.runs = append(before.runs, c.runs...)
		before.asks = before.asks || c.asks
		before.sign |= c.sign
		p.c = clause{}
	}
	p.close()
	p.ended = true
}
