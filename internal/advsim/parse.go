package advsim

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxInput bounds what is read of a player's words, in code points. Nobody
	// presses a button that long, and the server takes 200 unless told otherwise.
	maxInput = 1000

	// strangeShare is the share of an utterance, one part in so many, that may be
	// unknown before the rest is not trusted either.
	strangeShare = 4

	// kanaWord is the shortest word in kana, in code points, that is believed to
	// begin within a verb's ending. Shorter ones are endings far more often.
	kanaWord = 3
)

// fold brings the ways to write the same words together: full and half width,
// capitals, katakana and hiragana; punctuation and spaces go.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'ァ' && r <= 'ヶ':
			return r - 'ァ' + 'ぁ'
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKC.String(s))
}

// A role is what a word does in an utterance.
type role int

const (
	isNoun role = iota + 1
	isVerb
	isAbout
	isHelp
	isCarried
	isNegation
	isSupposition
	isQuestion
	isFiller
)

// A word is one entry of the dictionary.
type word struct {
	role role
	noun *noun // of isNoun
	verb verb  // of isVerb
}

// around is the noun for everything in sight. It belongs to no story.
var around = noun{id: "around", names: aroundWords}

// A dictionary knows the engine's words and one story's nouns, folded.
type dictionary struct {
	words   map[string]word
	longest map[rune]int // of the words that begin so, in code points
}

func newDictionary(nouns []noun) dictionary {
	d := dictionary{words: make(map[string]word), longest: make(map[rune]int)}
	for i := range nouns {
		d.add(nouns[i].names, word{role: isNoun, noun: &nouns[i]})
	}
	d.add(around.names, word{role: isNoun, noun: &around})
	for _, v := range verbWords {
		d.add(v.words, word{role: isVerb, verb: v.verb})
	}
	d.add(aboutWords, word{role: isAbout})
	d.add(helpWords, word{role: isHelp})
	d.add(carriedWords, word{role: isCarried})
	d.add(negationWords, word{role: isNegation})
	d.add(suppositionWords, word{role: isSupposition})
	d.add(questionWords, word{role: isQuestion})
	d.add(fillerWords, word{role: isFiller})
	return d
}

// add enters words; one that is there already keeps its meaning, so that a
// story's nouns come first.
func (d *dictionary) add(spellings []string, w word) {
	for _, s := range spellings {
		s = fold(s)
		if _, taken := d.words[s]; !taken {
			d.words[s] = w
			first, _ := utf8.DecodeRuneInString(s)
			d.longest[first] = max(d.longest[first], utf8.RuneCountInString(s))
		}
	}
}

// begins returns the longest word that text begins with and its length in
// bytes, 0 if there is none, and in code points.
func (d *dictionary) begins(text string) (w word, size, runes int) {
	first, _ := utf8.DecodeRuneInString(text)
	end := 0
	for n := 1; n <= d.longest[first] && end < len(text); n++ {
		_, width := utf8.DecodeRuneInString(text[end:])
		end += width
		if known, ok := d.words[text[:end]]; ok {
			w, size, runes = known, end, n
		}
	}
	return w, size, runes
}

// An utterance is what was made out of a player's words.
type utterance struct {
	nouns    []*noun
	verb     verb // the last one, which in Japanese is the main one; bare if none
	verbs    verb // all of them
	about    bool
	help     bool
	carried  bool
	negated  bool
	supposed bool
	question bool
	others   bool // somebody else is said to act
	strange  bool // too much of it is unknown
}

// parse reads folded text from left to right, the longest word first. Hiragana
// after a verb are its ending and carry nothing but what turns the sense round.
func (d *dictionary) parse(text string) utterance {
	u := utterance{verb: bare}
	var (
		unknown int   // code points that belong to no word
		subject bool  // the last thing read could be who acts
		source  *noun // the last thing read, if it was a place
		total   = utf8.RuneCountInString(text)
	)
	for rest := text; rest != ""; {
		w, size, _ := d.begins(rest)
		if size == 0 {
			_, size = utf8.DecodeRuneInString(rest)
			unknown++
			subject, source = true, nil
			rest = rest[size:]
			continue
		}
		particle := rest[:size]
		rest = rest[size:]

		if subject && (particle == "が" || particle == "は" || particle == "も") && rest != "" {
			u.others = true
		}
		if source != nil && particle == "から" {
			u.drop(source)
		}
		subject, source = false, nil

		switch w.role {
		case isNoun:
			if !slices.Contains(u.nouns, w.noun) {
				u.nouns = append(u.nouns, w.noun)
			}
			subject = w.noun.lives
			if w.noun.id == w.noun.at {
				source = w.noun
			}
		case isVerb:
			u.verb = w.verb
			u.verbs |= w.verb
			rest = d.skipEnding(rest, &u)
		default:
			u.note(w.role)
		}
	}
	if forbids(text) && u.verb != bare {
		u.negated = true
	}
	u.strange = unknown*strangeShare > total
	return u
}

// skipEnding reads on to the end of a verb's ending and returns what follows.
func (d *dictionary) skipEnding(rest string, u *utterance) string {
	for rest != "" {
		r, size := utf8.DecodeRuneInString(rest)
		if !unicode.Is(unicode.Hiragana, r) {
			return rest
		}
		if w, wordSize, runes := d.begins(rest); wordSize > 0 {
			switch w.role {
			case isNoun, isVerb:
				if runes >= kanaWord {
					return rest
				}
			case isAbout: // 「行って」 is about nothing
			default:
				u.note(w.role)
				size = wordSize
			}
		}
		rest = rest[size:]
	}
	return ""
}

func (u *utterance) note(r role) {
	switch r {
	case isAbout:
		u.about = true
	case isHelp:
		u.help = true
	case isCarried:
		u.carried = true
	case isNegation:
		u.negated = true
	case isSupposition:
		u.supposed = true
	case isQuestion:
		u.question = true
	}
}

// drop takes back the noun read last: in 「港から戻る」 the harbour is not where
// the player wants to go.
func (u *utterance) drop(n *noun) {
	if last := len(u.nouns) - 1; last >= 0 && u.nouns[last] == n {
		u.nouns = u.nouns[:last]
	}
}

// forbids reports whether text ends like 「行くな」: な after a verb's plain form.
func forbids(text string) bool {
	verb, ok := strings.CutSuffix(text, "な")
	if !ok {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(verb)
	return strings.ContainsRune("くすつむるぐぶ", last)
}

// only reports whether every noun is among those allowed.
func (u *utterance) only(allowed ...string) bool {
	return !slices.ContainsFunc(u.nouns, func(n *noun) bool { return !slices.Contains(allowed, n.id) })
}

func (u *utterance) names(id string) bool {
	return slices.ContainsFunc(u.nouns, func(n *noun) bool { return n.id == id })
}
