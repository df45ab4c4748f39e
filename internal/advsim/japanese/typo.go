package japanese

// A similar is a word long enough to be known with one letter wrong.
type similar struct {
	text  []rune
	entry *entry
}

const (
	// misspeltKana and misspeltKanji are the fewest code points of a word that is
	// known with one letter wrong. Shorter ones are too close to each other.
	misspeltKana  = 4
	misspeltKanji = 3

	// misspeltChars bounds the sentence in which misspelt words are looked for.
	misspeltChars = 60
)

func canBeMisspelt(text string) bool {
	n := len([]rune(text))
	return n >= misspeltKana || n >= misspeltKanji && !hasKana(text)
}

func hasKana(text string) bool {
	for _, r := range text {
		if isHiragana(r) {
			return true
		}
	}
	return false
}

// misspells reports whether got is want with one letter missing, doubled or
// added, wrong, or swapped with the next. In a word of kanji and kana the kana
// only may be wrong: another kanji is another word.
func misspells(got, want []rune) bool {
	head := 0
	for head < len(got) && head < len(want) && got[head] == want[head] {
		head++
	}
	tail := 0
	for tail < len(got)-head && tail < len(want)-head && got[len(got)-1-tail] == want[len(want)-1-tail] {
		tail++
	}
	wrong, right := got[head:len(got)-tail], want[head:len(want)-tail]
	switch {
	case len(wrong) == 0 && len(right) == 1:
		return true
	case len(wrong) == 1 && len(right) == 0:
		return isHiragana(wrong[0]) && hasKana(string(want)) || head > 0 && got[head-1] == wrong[0]
	case len(wrong) == 1 && len(right) == 1:
		return isHiragana(wrong[0]) == isHiragana(right[0]) && (isHiragana(right[0]) || !hasKana(string(want)))
	case len(wrong) == 2 && len(right) == 2:
		return wrong[0] == right[1] && wrong[1] == right[0]
	}
	return false
}
