package japanese

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The lists of words are written by hand: what stands in the wrong one bends
// wrongly, without a word.
func TestVerbsBend(t *testing.T) {
	lists := append([]verbEntry{quitting}, verbs...)
	for _, h := range helping {
		lists = append(lists, verbEntry{godan: h.godan, ichidan: h.ichidan})
	}
	for _, v := range lists {
		for _, w := range strings.Fields(v.godan) {
			if last, _ := utf8.DecodeLastRuneInString(w); bends[last] == [6]string{} {
				t.Errorf("%s does not bend in five rows", w)
			}
		}
		for _, w := range strings.Fields(v.ichidan) {
			if !strings.HasSuffix(w, "る") {
				t.Errorf("%s does not bend in one row", w)
			}
		}
		for _, w := range strings.Fields(v.suru + " " + v.fixed) {
			if strings.HasSuffix(w, "する") {
				t.Errorf("%s is no noun", w)
			}
		}
	}
}

func TestMisspells(t *testing.T) {
	for _, tc := range []struct {
		got, want string
		is        bool
	}{
		{"らんた", "らんたん", true},    // missing
		{"らんんたん", "らんたん", true},  // doubled
		{"らんんた", "らんたん", true},   // swapped
		{"らんたぬ", "らんたん", true},   // wrong
		{"らんたんぬ", "らんたん", true},  // added
		{"らんたぬぬ", "らんたん", false}, // two
		{"らたんぬ", "らんたん", false},  // moved
		{"防破堤", "防波堤", true},     // a kanji for another
		{"山の灯", "沖の灯", false},    // another word
		{"発車の時刻", "発車時刻", false}, // another word
		{"発車車時刻", "発車時刻", true},
		{"らんたん", "らんたん", false}, // right
	} {
		if got := misspells([]rune(tc.got), []rune(tc.want)); got != tc.is {
			t.Errorf("%s for %s: %t, want %t", tc.got, tc.want, got, tc.is)
		}
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"ミナト ヘ、イク！": "みなとへいく",
		"ﾗﾝﾀﾝヲﾄﾙ":   "らんたんをとる",
		"ＨＥＬＰ　３回":   "help3回",
		"か\u3099き":  "がき",
		"きづち、はなぢ":   "きずちはなじ",
		"…「」。？":     "",
	} {
		if got := Fold(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
