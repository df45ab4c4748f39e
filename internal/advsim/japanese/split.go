package japanese

import (
	"cmp"
	"math"
	"math/bits"
	"unicode"
)

// A token is one word of a sentence with what belongs to it: a verb with its
// endings, letters that are no word.
type token struct {
	entry
	text string // folded
}

// What it costs to go on in ways that are not to be expected.
const (
	strangeStart = 6  // letters that are no word begin
	strangeKana  = 12 // one of them
	strangeOther = 10
	unfinished   = 18 // a verb breaks off
	misspelt     = 14
)

// forms is how many forms there are.
var forms = bits.Len32(uint32(adverb))

// A step is the cheapest way found to some point of a sentence in some form.
type step struct {
	cost int
	from int // index of the step before
	last *entry
}

// split finds the words of folded text: of all ways the cheapest. Whether all
// of it are words comes with it.
func (d *dictionary) split(text []rune, misspellings bool) (tokens []token, known bool) {
	steps := make([]step, (len(text)+1)*forms)
	for i := range steps {
		steps[i].cost = math.MaxInt
	}
	steps[0].cost = 0 // open, at the beginning

	var found []match
	for at := range text {
		found = d.matches(found[:0], text[at:], misspellings)
		for f := range forms {
			from := at*forms + f
			if steps[from].cost == math.MaxInt {
				continue
			}
			now := form(1) << f
			reach := func(size int, e *entry, cost int) {
				to := (at+size)*forms + bits.TrailingZeros32(uint32(e.then))
				if cost += steps[from].cost; cost < steps[to].cost {
					steps[to] = step{cost, from, e}
				}
			}
			for i := range found {
				m := &found[i]
				switch {
				case m.entry.after&now != 0:
					reach(m.size, m.entry, m.entry.cost+m.extra)
				case m.entry.after == 0:
					reach(m.size, m.entry, m.entry.cost+m.extra+join(now, m.entry.role))
				}
			}
			e, cost := oneStrange(text[at], now)
			reach(1, e, cost)
		}
	}
	return d.walkBack(text, steps)
}

// A match is an entry that text begins with.
type match struct {
	size  int // code points
	extra int // cost of a misspelling
	entry *entry
}

func (d *dictionary) matches(found []match, text []rune, misspellings bool) []match {
	longest := min(d.longest[text[0]], len(text))
	whole := string(text[:longest])
	end := 0
	for n := 1; n <= longest; n++ {
		end += len(string(text[n-1]))
		for _, e := range d.entries[whole[:end]] {
			found = append(found, match{size: n, entry: e})
		}
	}
	if !misspellings || len(text) < 2 {
		return found
	}
	// One letter may be wrong, so of the first two one is right, if not in its place.
	for _, letter := range text[:2] {
		for _, s := range d.similar[letter] {
			for n := len(s.text) - 1; n <= len(s.text)+1 && n <= len(text); n++ {
				if misspells(text[:n], s.text) {
					found = append(found, match{size: n, extra: misspelt, entry: s.entry})
				}
			}
		}
	}
	return found
}

var strangeLetter, strangeHan = entry{role: isStrange, then: strange}, entry{role: isStrange, then: strangeKanji}

// oneStrange makes one letter part of what is no word.
func oneStrange(r rune, now form) (*entry, int) {
	e := &strangeLetter
	cost := strangeOther
	switch {
	case isHiragana(r):
		cost = strangeKana
	case unicode.Is(unicode.Han, r):
		e = &strangeHan
	}
	if now&(strange|strangeKanji) == 0 {
		cost += strangeStart + join(now, isStrange)
	}
	return e, cost
}

// join is what it costs that a word follows a form.
func join(now form, r role) int {
	if now&ends == 0 {
		return unfinished
	}
	switch r {
	case isBreak:
		if now == open {
			return 1 // of equals the more finished stands before a break
		}
		return 0
	case isParticle, isCopula:
		switch now {
		case named, doing, strange, strangeKanji:
			return 0
		case adverb:
			return 6
		case open:
			return 13
		}
		return 9
	case isFiller, isManner, isCall, isNoise:
		if now == named {
			return 1
		}
		return 0
	}
	switch now {
	case named:
		return 4
	case strange, strangeKanji:
		return 2
	case formI, formE, doing:
		return 4
	}
	return 0
}

// walkBack collects the words on the cheapest way, first to last.
func (d *dictionary) walkBack(text []rune, steps []step) (tokens []token, known bool) {
	best, bestCost := 0, math.MaxInt
	for f := range forms {
		i := len(text)*forms + f
		cost := steps[i].cost
		if cost == math.MaxInt {
			continue
		}
		switch now := form(1) << f; {
		case now&ends == 0:
			cost += unfinished
		case now&(formI|formE) != 0:
			cost += 2
		}
		if cost <= bestCost { // of equals the more finished, which is the later
			best, bestCost = i, cost
		}
	}
	known = true
	for i := best; i >= forms; i = steps[i].from {
		s := &steps[i]
		known = known && s.last.role != isStrange
		tokens = append(tokens, token{entry: *s.last, text: string(text[s.from/forms : i/forms])})
	}
	for i, j := 0, len(tokens)-1; i < j; i, j = i+1, j-1 {
		tokens[i], tokens[j] = tokens[j], tokens[i]
	}
	return joined(tokens), known
}

// joined puts endings to their verbs and strange letters to each other.
func joined(tokens []token) []token {
	out := tokens[:0]
	for _, t := range tokens {
		last := len(out) - 1
		switch {
		case t.role == isPiece && last >= 0:
			v := &out[last]
			v.text += t.text
			v.then, v.link = t.then, t.link
			v.manner = cmp.Or(v.manner, t.manner)
			v.sign = v.sign&^cleared(t.sign) | t.sign
		case t.role == isVerb && t.after == strangeKanji && last >= 0:
			t.group = out[last].text
			t.text = out[last].text + t.text
			out[last] = t
		case t.role == isStrange && last >= 0 && out[last].role == isStrange:
			out[last].text += t.text
			out[last].then = t.then
		default:
			out = append(out, t)
		}
	}
	return out
}

// cleared are the signs that a later ending takes back.
func cleared(s sign) sign {
	if s&(duty|invited) != 0 {
		return negated | supposed
	}
	return 0
}
