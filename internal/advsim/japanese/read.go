package japanese

import (
	"slices"
	"unicode/utf8"
)

// Read makes out what is meant by text, said at the place of that ID. Possible
// tells, by index into the acts, what can be done here and now; nil means
// nothing can. In doubt the meaning is Unclear.
func (r *Reader) Read(text, at string, possible func(act int) bool) Meaning {
	if utf8.RuneCountInString(text) > MaxChars {
		return Meaning{}
	}
	folded := []rune(fold(text))
	if len(folded) > MaxChars {
		return Meaning{} // one code point may have stood for many
	}
	bare := Fold(text)
	if bare == "" {
		return Meaning{Sense: Silence}
	}
	if possible == nil {
		possible = func(int) bool { return false }
	}
	if act, ok := r.verbatim(bare, possible); ok {
		return Meaning{Sense: Do, Act: act}
	}

	tokens, known := r.words.split(folded, false)
	if !known && len(folded) <= misspeltChars {
		tokens, _ = r.words.split(folded, true)
	}
	h := hearing{Reader: r, at: at, possible: possible, sentence: r.parse(tokens)}
	m := h.meaning()
	if m.Sense != Unclear {
		return m
	}
	if act, ok := r.verbatim(bare, func(act int) bool { return !possible(act) }); ok {
		return Meaning{Sense: Elsewhere, Act: act}
	}
	if len(m.Maybe) == 0 {
		m.Maybe = h.guesses()
	}
	return m
}

// verbatim returns the act that is put just so: the first with that label, or
// else the only one with that phrase.
func (r *Reader) verbatim(text string, may func(act int) bool) (act int, ok bool) {
	act = slices.IndexFunc(r.acts, func(a learnt) bool { return a.label == text && may(a.act) })
	if act >= 0 {
		return act, true
	}
	for i := range r.acts {
		if slices.Contains(r.acts[i].texts, text) && may(i) {
			if ok {
				return 0, false
			}
			act, ok = i, true
		}
	}
	return act, ok
}

// A hearing is one sentence that is to be made out.
type hearing struct {
	*Reader
	at       string
	possible func(act int) bool
	sentence
}

// meaning sees first to what makes a sentence no move at all.
func (h *hearing) meaning() Meaning {
	main := &clause{}
	if n := len(h.clauses); n > 0 {
		main = &h.clauses[n-1]
	}
	h.settle(main)
	toSomebody := slices.Contains(speech, main.does()) && h.namesPerson()
	carries := main.deed == takes && main.sign&ongoing != 0 && main.asks && len(main.nouns) == 0
	switch {
	case h.plea && !toSomebody:
		return Meaning{Sense: Help}
	case h.no && !slices.Contains(speech, main.deed):
		return Meaning{Sense: Refused}
	case main.deed == quits, main.sign&negated != 0 && !h.carried && !main.asks:
		return h.refusal(main)
	case h.carried && main.sign&negated == 0, carries:
		return Meaning{Sense: Carried}
	case h.iffy, slices.ContainsFunc(h.clauses, func(c clause) bool { return c.sign&supposed != 0 }):
		return Meaning{Sense: Supposed}
	case len(h.clauses) == 0:
		return Meaning{Sense: Silence} // 「えっと」
	case h.unknown*strangeShare > h.letters:
		return Meaning{}
	case main.sight && len(main.nouns) == 0 && !slices.ContainsFunc(main.runs, run.isArgument) &&
		(main.deed == noDeed || main.asks || akin(main.deed, looks)):
		return Meaning{Sense: Look}
	}
	return h.moves()
}

// refusal makes out what somebody will not do: an act where one is put so,
// 「乗らない」, 「乗るのをやめる」, and nothing otherwise.
func (h *hearing) refusal(main *clause) Meaning {
	if main.deed != quits || len(main.inner) > 0 {
		if m := h.moves(); m.Sense == Do {
			return m
		}
	}
	return Meaning{Sense: Refused}
}

// strangeShare is the share of a sentence, one part in so many, that may be in
// no word before the rest is not trusted either.
const strangeShare = 3

// settle takes signs for what they mean together.
func (h *hearing) settle(c *clause) {
	question := c.asks || c.sign&asks != 0 || h.mark
	switch {
	case c.sign&begged != 0:
		c.sign &^= negated | possible // 「教えてくれない？」
	case c.deed == receives && (question || c.sign&invited != 0):
		c.sign &^= negated | possible // 「もらえますか」
	case c.deed == knows && question:
		c.sign &^= negated | ongoing | asks // 「船長は霧のことを知っていますか」
		c.asks, c.other, c.about = false, false, true
	case c.deed == noDeed && c.about && question:
		c.sign &^= asks // 「霧って何？」
		c.asks, h.mark = false, false
	}
}

// mood is how a sentence is said, by its last clause.
func (s *sentence) mood() mood {
	if n := len(s.clauses); n > 0 {
		return s.moodOf(&s.clauses[n-1])
	}
	return wishing
}

// moodOf tells what the player wants to do from what is asked, and from what
// is, was, may be, or what others do.
func (s *sentence) moodOf(c *clause) mood {
	request := c.sign&(wanted|begged|invited|duty) != 0 || endsInTe(c.text) || c.deed == receives
	switch {
	case c.sight && c.asks, c.deed == knows && !c.other:
	case !request && (c.sign&asks != 0 || s.mark && c.deed != noDeed),
		!request && c.asks && c.deed != inquires && c.deed != tells && c.deed != looks:
		return asking
	case c.other, c.sign&(past|ongoing|possible) != 0, c.subject && c.sign&wanted == 0:
		return remarking
	}
	return wishing
}

func (h *hearing) namesPerson() bool {
	return slices.ContainsFunc(h.clauses, func(c clause) bool {
		return slices.ContainsFunc(c.nouns, func(m mention) bool { return h.nouns[m.noun].Kind == Person })
	})
}

// guesses are the acts that a sentence in doubt may mean.
func (h *hearing) guesses() []Meaning {
	u := h.toPhrase(h.clauses, h.at)
	if len(u.nouns)+len(u.loose) == 0 || h.unknown*2 > h.letters {
		return nil
	}
	type guess struct{ act, points int }
	var all []guess
	for i := range h.acts {
		if !h.possible(i) {
			continue
		}
		if fit, doubtful := h.score(&u, i); max(fit, doubtful) >= perhaps {
			all = append(all, guess{i, max(fit, doubtful)})
		}
	}
	slices.SortStableFunc(all, func(a, b guess) int { return b.points - a.points })
	var maybe []Meaning
	for _, g := range all[:min(len(all), 2)] {
		maybe = append(maybe, Meaning{Sense: Do, Act: g.act})
	}
	return maybe
}
