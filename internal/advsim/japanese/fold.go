package japanese

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold brings the ways to write the same words together: full and half width,
// capitals, katakana and hiragana. Spaces and punctuation go.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == pause || r == stop || r == mark {
			return -1
		}
		return r
	}, fold(s))
}

// What fold leaves of punctuation.
const (
	pause = '、'
	stop  = '。'
	mark  = '？'
)

// fold is Fold that keeps punctuation.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'ァ' && r <= 'ヶ':
			return foldKana(r - 'ァ' + 'ぁ')
		case unicode.IsLetter(r):
			return foldKana(unicode.ToLower(r))
		case unicode.IsNumber(r):
			return r
		}
		switch r {
		case '、', ',', '.', '・', '-': // NFKC has made 「…」 of dots
			return pause
		case '。', '!', '\n', ';':
			return stop
		case '?':
			return mark
		}
		return -1
	}, norm.NFKC.String(s))
}

// foldKana brings together kana that sound alike and are often confused.
func foldKana(r rune) rune {
	switch r {
	case 'ぢ':
		return 'じ'
	case 'づ':
		return 'ず'
	}
	return r
}

func isHiragana(r rune) bool {
	return r >= 'ぁ' && r <= 'ゖ' || r == 'ー'
}
