package japanese

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// maxClauses bounds how many things said at once are compared with anything.
const maxClauses = 6

// Read makes out what is meant by text, said at the place of that ID. Possible
// tells, by index into the acts, what can be done here and now; nil means
// nothing can. In doubt the meaning is Unclear.
func (r *Reader) Read(text, at string, possible func(act int) bool) Meaning {
	if utf8.RuneCountInString(text) > MaxChars {
		return Meaning{}
	}
	folded := []rune(fold(text))
	if len(folded) > MaxChars {
		return Meaning{} // a single code point may stand for many
	}
	bare := Fold(text)
	if bare == "" {
		return Meaning{Sense: Silence}
	}
	if possible == nil {
		possible = func(int) bool { return false }
	}
	if i := r.verbatim(bare, possible); i >= 0 {
		return Meaning{Sense: Do, Act: i}
	}

	tokens, known := r.words.split(folded, false)
	if !known && len(folded) <= misspeltChars {
		tokens, _ = r.words.split(folded, true)
	}
	q := question{r: r, at: at, possible: possible, sentence: r.parse(tokens)}
	m := q.answer()
	if m.Sense == Unclear {
		if i := r.verbatim(bare, func(act int) bool { return !possible(act) }); i >= 0 {
			return Meaning{Sense: Elsewhere, Act: i}
		}
	}
	if m.Sense == Unclear && len(m.Maybe) == 0 {
		m.Maybe = q.guesses()
	}
	return m
}

// verbatim returns the act that is put just so, by its label rather than by a
// phrase, -1 if there is none.
func (r *Reader) verbatim(text string, possible func(act int) bool) int {
	for i := range r.acts {
		if possible(i) && r.acts[i].label == text {
			return i
		}
	}
	found := -1
	for i := range r.acts {
		if possible(i) && slices.Contains(r.acts[i].text, text) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// A question is one sentence to be made out.
type question struct {
	r        *Reader
	at       string
	possible func(act int) bool
	sentence
}

func (q *question) answer() Meaning {
	if len(q.clauses) == 0 {
		return q.answerWithoutClause()
	}
	main := &q.clauses[len(q.clauses)-1]
	q.settle(main)
	talks := slices.Contains(kin[0], main.does()) && q.namesPerson()
	switch {
	case q.plea && !talks:
		return Meaning{Sense: Help}
	case q.no || main.deed == quits && main.sign&negated == 0:
		return Meaning{Sense: Refused}
	case q.carried && main.sign&negated == 0, main.deed == takes && main.sign&ongoing != 0 && main.asks && len(main.nouns) == 0:
		return Meaning{Sense: Carried}
	case main.sign&negated != 0:
		return Meaning{Sense: Refused}
	case q.iffy || slices.ContainsFunc(q.clauses, func(c clause) bool { return c.sign&supposed != 0 }):
		return Meaning{Sense: Supposed}
	case !q.isMove(main) || q.unknown*3 > q.letters:
		return Meaning{}
	}
	if main.sight && len(main.nouns) == 0 && len(main.runs) == 0 && (main.deed == noDeed || kinOf(main.deed, looks) || main.asks) {
		return Meaning{Sense: Look}
	}
	return q.meaning()
}

func (q *question) answerWithoutClause() Meaning {
	switch {
	case q.plea:
		return Meaning{Sense: Help}
	case q.carried:
		return Meaning{Sense: Carried}
	case q.no:
		return Meaning{Sense: Refused}
	case q.iffy:
		return Meaning{Sense: Supposed}
	}
	return Meaning{Sense: Silence}
}

// settle takes signs for what they mean together.
func (q *question) settle(c *clause) {
	question := c.asks || c.sign&asks != 0 || q.mark
	switch {
	case c.sign&begged != 0:
		c.sign &^= negated | possible // 「教えてくれない？」
	case c.deed == receives && c.sign&possible != 0 && (question || c.sign&invited != 0):
		c.sign &^= negated | possible // 「もらえますか」
	case c.deed == receives && question:
		c.sign &^= negated
	case c.deed == knows && question:
		c.sign &^= negated | ongoing | asks
		c.asks, c.other = false, false // 「船長は何か知っていますか」
		c.about = true
	case c.deed == noDeed && c.about && question:
		c.asks = false // 「霧って何？」
		c.sign &^= asks
		q.mark = false
	}
}

// isMove reports whether a clause says what the player wants to do, not what
// is, was, may be, or what others do.
func (q *question) isMove(c *clause) bool {
	switch {
	case c.other, c.sign&past != 0, c.sign&ongoing != 0:
		return false
	case c.sign&possible != 0:
		return false
	case c.subject && c.sign&wanted == 0:
		return false
	}
	return true
}

// isQuestion reports whether a clause asks for a fact rather than for a deed.
func (s *sentence) isQuestion(c *clause) bool {
	switch {
	case c.sight && c.asks, c.deed == knows:
		return false
	case c.sign&(wanted|begged|invited|duty) != 0 || endsInTe(c.text) || c.deed == receives:
		return false
	case c.sign&asks != 0:
		return true
	case c.asks:
		return c.deed != inquires && c.deed != tells && c.deed != looks
	}
	return s.mark && c.deed != noDeed
}

func (q *question) namesPerson() bool {
	for _, c := range q.clauses {
		for _, m := range c.nouns {
			if q.r.nouns[m.noun].Kind == Person {
				return true
			}
		}
	}
	return false
}

// meaning compares the sentence with the acts and the ways.
func (q *question) meaning() Meaning {
	clauses := slices.DeleteFunc(slices.Clone(q.clauses), func(c clause) bool { return c.link == since })
	switch {
	case len(clauses) == 0:
		clauses = q.clauses
	case len(clauses) > maxClauses:
		return Meaning{Sense: TooMuch}
	}
	if n := len(clauses); n > 1 {
		main := &clauses[n-1]
		if slices.ContainsFunc(clauses[:n-1], func(c clause) bool { return c.sign&negated != 0 || c.deed == quits }) {
			return Meaning{}
		}
		if clauses[n-2].link == inOrderTo && moves(main.deed) {
			if n == 2 {
				return q.purpose(&clauses[0], main)
			}
			return Meaning{Sense: TooMuch}
		}
		if clauses[n-2].deed == rides && moves(main.deed) && len(main.nouns) == 0 {
			clauses = clauses[:n-1] // 「バスに乗って帰る」
			clauses[n-2].link = unlinked
		}
		if m, joint := q.joint(clauses); joint {
			return m
		}
		if q.severalMeant(clauses) {
			return Meaning{Sense: TooMuch}
		}
	}
	return q.meant(clauses)
}

// joint makes out clauses that an act has a phrase for as a whole:
// 「三つ打って、ひと息おく」.
func (q *question) joint(clauses []clause) (m Meaning, joint bool) {
	u := q.r.toPhrase(clauses, q.at)
	q.claim(&u)
	best := q.best(&u, q.possible)
	if best.fit < sure || best.fit < best.second+clearly {
		return Meaning{}, false
	}
	return Meaning{Sense: Do, Act: best.act}, slices.ContainsFunc(q.r.acts[best.act].says, func(e phrase) bool {
		return len(e.deeds) == len(u.deeds) && !slices.ContainsFunc(u.deeds, func(d deed) bool {
			return !slices.ContainsFunc(e.deeds, func(x deed) bool { return likeness(d, x) > 0 })
		})
	})
}

// severalMeant reports whether clauses ask for different things by themselves.
func (q *question) severalMeant(clauses []clause) bool {
	var first Meaning
	for i, c := range clauses {
		if c.deed == noDeed || i < len(clauses)-1 && q.isManner(&c, &clauses[len(clauses)-1]) {
			continue
		}
		m := q.meant([]clause{c})
		if m.Sense != Do && m.Sense != Go && m.Sense != GoBack && m.Sense != Elsewhere {
			continue
		}
		if first.Sense == Unclear {
			first = m
		} else if first.Sense != m.Sense || first.Act != m.Act || first.Place != m.Place {
			return true
		}
	}
	return false
}

// onTheWay reports whether what is done before going only belongs to it.
func (q *question) onTheWay(clauses []clause) bool {
	main := &clauses[len(clauses)-1]
	for i := range clauses[:len(clauses)-1] {
		if c := &clauses[i]; !q.isManner(c, main) || c.deed == takes && len(main.nouns) == 0 {
			return false
		}
	}
	return true
}

// isManner reports whether a clause only says how the main one is done:
// 「歩いて行く」「ランタンを持って行く」「声をかけて聞く」.
func (q *question) isManner(c, main *clause) bool {
	switch {
	case moves(main.deed):
		return moves(c.deed) || c.deed == takes
	case c.deed == greets:
		return slices.Contains(kin[0], main.deed)
	case c.deed == looks || c.deed == goes:
		return len(c.nouns) == 0
	}
	return (c.deed == main.deed || accompanies(c.deed)) && (len(c.nouns) == 0 || len(main.nouns) == 0)
}

// purpose makes out 「…を見に行く」: a way, or the act itself if it can be done
// here.
func (q *question) purpose(goal, going *clause) Meaning {
	for _, m := range slices.Concat(goal.nouns, going.nouns) {
		noun := &q.r.nouns[m.noun]
		if noun.Kind == Place && noun.ID != q.at && (m.particle == he || m.particle == ni || m.particle == made) {
			return Meaning{Sense: Go, Place: noun.ID}
		}
	}
	if !moves(goal.deed) {
		here := *goal
		here.link = unlinked
		if m := q.meant([]clause{here}); m.Sense == Do {
			return m
		}
	}
	return q.way(&clause{deed: going.deed, nouns: slices.Concat(goal.nouns, going.nouns), runs: slices.Concat(goal.runs, going.runs)})
}

// meant compares clauses, taken together, with the acts and the ways.
func (q *question) meant(clauses []clause) Meaning {
	main := &clauses[len(clauses)-1]
	u := q.r.toPhrase(clauses, q.at)
	u.question = q.isQuestion(main)
	q.ask(&u)
	q.claim(&u)

	here := q.best(&u, q.possible)
	if here.fit >= sure && here.fit >= here.second+clearly {
		return Meaning{Sense: Do, Act: here.act}
	}
	if here.fit >= sure {
		return Meaning{Maybe: []Meaning{{Sense: Do, Act: here.act}, {Sense: Do, Act: here.secondAct}}}
	}
	if moves(main.deed) && !q.onTheWay(clauses) {
		return Meaning{}
	}
	if u.question {
		return Meaning{}
	}
	way := main
	if len(clauses) > 1 && !moves(main.deed) {
		way = &clause{deed: main.deed, nouns: mentions(clauses), runs: u.runs}
	}
	if m := q.way(way); m.Sense != Unclear {
		return m
	}
	if len(u.nouns)+len(u.loose) > 0 {
		other := q.best(&u, func(act int) bool { return !q.possible(act) })
		if other.fit >= sure && !(kinOf(main.deed, looks) && other.second >= sure) {
			return Meaning{Sense: Elsewhere, Act: other.act}
		}
	}
	if kinOf(main.deed, looks) && len(u.runs) == 0 {
		// Whatever there is to see here, the place's description tells of it.
		return Meaning{Sense: Look}
	}
	return Meaning{}
}

// ask takes a question that is put to somebody, 「船長、霧はいつ晴れる？」, and
// a call, 「すみません、船長」, for what they are.
func (q *question) ask(u *phrase) {
	if u.question && len(u.deeds) == 0 {
		u.deeds = []deed{inquires}
	}
	if len(u.deeds) == 0 && q.call && len(u.nouns) == 1 && q.r.nouns[u.nouns[0]].Kind == Person {
		u.deeds = []deed{greets}
	}
}

// claim finds which numbers and manners make a difference here, for 「三回打つ」
// is not just 「打つ」 where there is an act for it, and which tools are meant
// for such a thing.
func (q *question) claim(u *phrase) {
	for i := range q.r.acts {
		if !q.possible(i) {
			continue
		}
		for j := range q.r.acts[i].says {
			e := &q.r.acts[i].says[j]
			if deedScore(u, e) == 0 {
				continue
			}
			for _, g := range e.groups {
				if slices.Contains(u.groups, g) {
					u.claimed = unite(u.claimed, []string{g})
				}
			}
			for _, d := range u.inner {
				if slices.ContainsFunc(e.inner, d.isLike) {
					u.meant = unite(u.meant, []innerDeed{d})
				}
			}
			for _, n := range e.nouns {
				if slices.Contains(u.tools, n) {
					u.proper = unite(u.proper, []int{n})
				}
			}
		}
	}
}

func mentions(clauses []clause) []mention {
	var all []mention
	for _, c := range clauses {
		all = append(all, c.nouns...)
	}
	return all
}

// A contest is which acts fit best.
type contest struct {
	act, fit          int
	secondAct, second int
}

// best finds the two acts that fit best, the first of several.
func (q *question) best(u *phrase, may func(act int) bool) contest {
	c := contest{act: -1, secondAct: -1}
	for i := range q.r.acts {
		if !may(i) {
			continue
		}
		fit, _ := q.r.score(u, i)
		switch {
		case fit > c.fit:
			c = contest{i, fit, c.act, c.fit}
		case fit > c.second:
			c.secondAct, c.second = i, fit
		}
	}
	return c
}

// way makes out where a clause leads.
func (q *question) way(c *clause) Meaning {
	for _, got := range c.runs {
		if got.particle != noParticle && got.particle != to && got.particle != no {
			return Meaning{}
		}
	}
	if c.deed != noDeed && !moves(c.deed) {
		return Meaning{}
	}
	to, people, others := "", 0, 0
	for _, m := range c.nouns {
		place := q.r.at(m.noun)
		switch {
		case m.particle == kara, c.deed == leaves && place == q.at && m.particle == wo:
			continue
		case q.r.nouns[m.noun].Kind == Person && c.deed == noDeed && m.particle != he:
			return Meaning{}
		case q.r.nouns[m.noun].Kind == Person:
			people++
		case q.r.nouns[m.noun].Kind == Thing && m.particle == de:
			continue
		case c.deed == noDeed && (q.r.nouns[m.noun].Kind == Thing || len(c.runs) > 0 || !m.isGoal()):
			return Meaning{}
		default:
			others++
		}
		if place != "" && to != "" && place != to {
			return Meaning{}
		}
		to = cmp.Or(place, to)
	}
	switch {
	case people > 0 && (others > 0 || people > 1):
		return Meaning{}
	case c.deed == noDeed && (c.about || c.asks || q.mark):
		return Meaning{}
	case to != "":
		return Meaning{Sense: Go, Place: to}
	case others > 0 || len(c.runs) > 0:
		return Meaning{}
	case c.deed == leaves, c.outside:
		return Meaning{Sense: GoBack}
	case moves(c.deed):
		return Meaning{Sense: GoOn}
	}
	return Meaning{}
}

// isGoal reports whether a noun that is said without a verb is where to go:
// a place, 「港」, 「港へ」, or 「船長のところへ」.
func (m mention) isGoal() bool {
	return m.particle == he || m.particle == made || m.particle == ni || m.particle == noParticle
}

// guesses are the acts that a sentence in doubt may have meant.
func (q *question) guesses() []Meaning {
	if len(q.clauses) == 0 || q.unknown*2 > q.letters {
		return nil
	}
	type guess struct{ act, points int }
	var all []guess
	u := q.r.toPhrase(q.clauses, q.at)
	if len(u.nouns)+len(u.loose) == 0 {
		return nil
	}
	for i := range q.r.acts {
		if q.possible(i) {
			fit, doubtful := q.r.score(&u, i)
			if points := max(fit, doubtful); points >= perhaps {
				all = append(all, guess{i, points})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b guess) int { return b.points - a.points })
	var maybe []Meaning
	for _, g := range all[:min(len(all), 2)] {
		maybe = append(maybe, Meaning{Sense: Do, Act: g.act})
	}
	return maybe
}

func kinOf(a, b deed) bool { return likeness(a, b) > 0 }

func moves(d deed) bool { return d == goes || d == leaves }
