package japanese

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Ways to write a sentence that are the same sentence.
func TestWritingMakesNoDifference(t *testing.T) {
	r := harborReader()
	ways := map[string]func(string) string{
		"stop":       func(s string) string { return s + "。" },
		"exclaimed":  func(s string) string { return s + "！" },
		"spaces":     func(s string) string { return " " + strings.Join(strings.Split(s, ""), "　") + " " },
		"katakana":   inKatakana,
		"hiragana":   inHiragana,
		"full width": inFullWidth,
		"filler":     func(s string) string { return "えっと、" + s },
		"brackets":   func(s string) string { return "「" + s + "」" },
	}
	for _, group := range said {
		for _, text := range group.texts {
			if Fold(text) == "" {
				continue
			}
			for name, way := range ways {
				if got, want := means(r, group.at, way(text)), group.want; got != want {
					t.Errorf("at %s, 「%s」 with %s, 「%s」, is %s, want %s", group.at, text, name, way(text), got, want)
				}
			}
		}
	}
}

func inKatakana(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'ぁ' && r <= 'ゖ' {
			return r + 'ァ' - 'ぁ'
		}
		return r
	}, s)
}

func inHiragana(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'ァ' && r <= 'ヶ' {
			return r - 'ァ' + 'ぁ'
		}
		return r
	}, s)
}

func inFullWidth(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' {
			return r + '！' - '!'
		}
		return r
	}, s)
}

// endings by which a wish is told, after the row of kana that they follow.
var wishes = map[form][]string{
	formI: {"ます", "たい", "たいです", "たいんですけど", "ましょう", "ましょうか"},
	formT: {"て", "てください", "てみる", "てみたい", "てみます", "てみよう", "てもいいですか"},
	formD: {"で", "でください", "でみる", "でみたいです"},
	formS: {"ます", "たい", "よう", "ろ", "て", "てください", "てみる", "てみましょう", "てもいいですか", "なきゃ"},
	formO: {"う", "うかな", "うと思う"},
	formE: {""},
	formA: {"なきゃ", "なければならない", "ないと"},
	formU: {"", "よ", "ね", "んだ", "ことにする"},
}

// refusals are endings by which the same is not to be done, or not yet, or by
// somebody else, or was.
var refusals = map[form][]string{
	formI: {"ません", "たくない", "たくありません", "ました", "ながら", "そうだ"},
	formT: {"た", "たら", "たらどうなる", "たのか", "ているらしい", "てはいけない", "たことがある"},
	formD: {"だ", "だらどうなる"},
	formS: {"ない", "ません", "たくない", "た", "たらどうなる", "れば", "ていた", "ずに"},
	formA: {"ない", "ないでください", "ないで", "ず", "なかった"},
	formU: {"な", "のはやめる", "べきか", "だろう", "かもしれない", "らしい", "つもりはない", "前に"},
	formE: {"ば", "ばよかった"},
}

// bends are the forms of the verb that a label ends with.
func bendsOf(label string) (stem string, forms []bent) {
	for _, v := range []string{"打ちつづける", "話しかける", "食べる", "借りる", "眺める", "見る", "つける"} {
		if stem, ok := strings.CutSuffix(label, v); ok {
			return stem, ichidan(v)
		}
	}
	for _, v := range []string{"聞く", "話す", "乗る", "取る", "引く", "打つ", "読む", "渡す"} {
		if stem, ok := strings.CutSuffix(label, v); ok {
			return stem, godan(v)
		}
	}
	return "", nil
}

// Whether politely or plainly, a wish is a wish.
func TestPolitenessMakesNoDifference(t *testing.T) {
	r := harborReader()
	n := 0
	for _, a := range harborActs {
		at := a.at
		if at == anywhere {
			at = breakwater
		}
		stem, forms := bendsOf(a.Label)
		for _, b := range forms {
			for _, ending := range wishes[b.form] {
				n++
				text := stem + b.text + ending
				if got := means(r, at, text); got != a.Label {
					t.Errorf("at %s, 「%s」 is %s, want %s", at, text, got, a.Label)
				}
			}
			for _, ending := range refusals[b.form] {
				n++
				text := stem + b.text + ending
				if got := means(r, at, text); isMove(got) {
					t.Errorf("at %s, 「%s」 is taken for %s", at, text, got)
				}
			}
		}
	}
	t.Log(n, "wordings")
}

// Somebody else's doing is not the player's.
func TestOthersActs(t *testing.T) {
	r := harborReader()
	for _, a := range harborActs {
		at := a.at
		if at == anywhere {
			at = breakwater
		}
		for _, who := range []string{"船長が", "猫が", "誰かが", "昨日", "もし", "友達が"} {
			if got := means(r, at, who+a.Label); isMove(got) {
				t.Errorf("at %s, 「%s」 is taken for %s", at, who+a.Label, got)
			}
		}
	}
}

// One letter wrong in a noun may cost understanding, but never makes it another
// act or way.
func TestMisspellingsAreNothingElse(t *testing.T) {
	r := harborReader()
	hit, all := 0, 0
	for _, group := range said {
		for _, text := range group.texts {
			for _, name := range longNames(text) {
				letters := []rune(name)
				for i := range letters {
					for _, wrong := range misspellings(letters, i) {
						text := strings.Replace(Fold(text), name, wrong, 1)
						all++
						switch got := means(r, group.at, text); {
						case got == group.want:
							hit++
						case isMove(got):
							t.Errorf("at %s, 「%s」 is taken for %s, want %s", group.at, text, got, group.want)
						}
					}
				}
			}
		}
	}
	t.Logf("%d of %d misspellings are understood", hit, all)
	if hit < all*17/20 {
		t.Errorf("only %d of %d misspellings are understood", hit, all)
	}
}

// longNames are the names in a text that may be misspelt.
func longNames(text string) (names []string) {
	text = Fold(text)
	for _, n := range harborNouns {
		for _, name := range n.Names {
			// A slip in the の of 「防波堤の先」 leaves 「防波堤」, which is another name.
			if name = Fold(name); canBeMisspelt(name) && strings.Contains(text, name) && !strings.Contains(name, "の") {
				names = append(names, name)
			}
		}
	}
	return names
}

// misspellings are what comes of a slip at a letter: it is missing, doubled,
// swapped with the next, or another.
func misspellings(letters []rune, i int) []string {
	without := slices.Delete(slices.Clone(letters), i, i+1)
	twice := slices.Insert(slices.Clone(letters), i, letters[i])
	other := slices.Clone(letters)
	other[i] = 'ぬ'
	all := []string{string(without), string(twice), string(other)}
	if i+1 < len(letters) {
		swapped := slices.Clone(letters)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		all = append(all, string(swapped))
	}
	return all
}

// The same words mean the same to every reader of the same story.
func TestDeterministic(t *testing.T) {
	a, b := harborReader(), harborReader()
	everything := func(int) bool { return true }
	for _, group := range said {
		for _, text := range group.texts {
			for range 3 {
				if x, y := a.Read(text, group.at, everything), b.Read(text, group.at, everything); !reflect.DeepEqual(x, y) {
					t.Fatalf("「%s」 is %v and %v", text, x, y)
				}
			}
		}
	}
}

// A sentence too long is not read at all.
func TestTooLong(t *testing.T) {
	r := harborReader()
	for _, text := range []string{strings.Repeat("港", MaxChars+1), strings.Repeat("ﷺ", MaxChars), strings.Repeat("港へ行く", 1000)} {
		if got := means(r, busStop, text); got != nothing {
			t.Errorf("%d code points are %s", utf8.RuneCountInString(text), got)
		}
	}
}

// Whatever is said, there is one answer, the same each time, and what it names
// exists and is possible.
func FuzzRead(f *testing.F) {
	for _, group := range said {
		for _, text := range group.texts {
			f.Add(text, group.at)
		}
	}
	for _, group := range notMeant {
		for _, text := range group.texts {
			f.Add(text, group.at)
		}
	}
	f.Add("\xff\x00か\u3099", harbor)
	f.Add(strings.Repeat("行って", 66), harbor)
	r := harborReader()
	f.Fuzz(func(t *testing.T, text, at string) {
		possible := func(i int) bool { return harborActs[i].at == at || harborActs[i].at == anywhere }
		m := r.Read(text, at, possible)
		if again := r.Read(text, at, possible); !reflect.DeepEqual(m, again) {
			t.Fatalf("%q is %v and %v", text, m, again)
		}
		check := func(m Meaning) {
			switch m.Sense {
			case Do:
				if !possible(m.Act) {
					t.Errorf("%q at %q is the act %d, which is not possible", text, at, m.Act)
				}
			case Elsewhere:
				if possible(m.Act) {
					t.Errorf("%q at %q is the act %d, which is possible", text, at, m.Act)
				}
			case Go:
				if i, ok := r.nounOf[m.Place]; !ok || r.nouns[i].Kind != Place {
					t.Errorf("%q leads to %q", text, m.Place)
				}
			}
		}
		check(m)
		if len(m.Maybe) > 2 || len(m.Maybe) > 0 && m.Sense != Unclear {
			t.Errorf("%q is %v", text, m)
		}
		for _, maybe := range m.Maybe {
			check(maybe)
			if maybe.Sense != Do && maybe.Sense != Go {
				t.Errorf("%q may be %v", text, maybe)
			}
		}
	})
}
