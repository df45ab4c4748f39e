package japanese

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// An entry is one word, or one piece of a verb, that text may hold.
type entry struct {
	role  role
	after form // what a piece may follow; 0 for a word, which may follow any end
	then  form // what it leads to
	cost  int  // how little it is to be expected; of all ways to split a sentence the cheapest is taken

	noun     int // of isNoun
	deed     deed
	particle particle
	sign     sign
	link     link
	group    string // of isManner and isNumber: what it has in common with its like
	manner   string // of a piece: the group that it puts its verb in
}

// A dictionary is every word that the reader knows about one story.
type dictionary struct {
	entries map[string][]*entry
	longest map[rune]int        // of the words that begin so, in code points
	similar map[rune][]*similar // by first and second letter: the words known with one wrong, too
}

func newDictionary(nouns []Noun) *dictionary {
	d := &dictionary{entries: make(map[string][]*entry), longest: make(map[rune]int), similar: make(map[rune][]*similar)}
	for i, n := range nouns {
		for _, name := range n.Names {
			d.add(fold(name), entry{role: isNoun, then: named, noun: i})
		}
	}
	d.addNumbers()
	for i, group := range manners {
		d.addAll(group, entry{role: isManner, then: open, group: mannerGroup(i)})
	}
	for _, p := range particles {
		d.addAll(p.texts, entry{role: isParticle, then: marked, particle: p.particle})
	}
	d.addAll(pleas, entry{role: isPlea, then: named})
	d.addAll(belongings, entry{role: isCarried, then: named})
	d.addAll(whereabouts, entry{role: isSight, then: named, sign: asks})
	d.addAll(sights, entry{role: isSight, then: named})
	d.addAll(outsides, entry{role: isOutside, then: named})
	d.addAll(talks, entry{role: isTalk, then: named})
	d.addAll(aspects, entry{role: isAspect, then: named})
	d.addAll(pointers, entry{role: isPointer, then: named})
	d.addAll(selves, entry{role: isSelf, then: named})
	d.addAll(others, entry{role: isOther, then: named})
	d.addAll(questions, entry{role: isQuestion, then: named})
	d.addAll(hails, entry{role: isCall, then: open})
	d.addAll(nos, entry{role: isNo, then: named})
	d.addAll(ifs, entry{role: isIf, then: named})
	d.addAll(copulas, entry{role: isCopula, then: closed})
	d.addAll(noises, entry{role: isNoise, then: open})
	d.addAll(fillers, entry{role: isFiller, then: open})
	d.add(string(pause), entry{role: isBreak, then: open})
	d.add(string(stop), entry{role: isBreak, then: open})
	d.add(string(mark), entry{role: isBreak, then: open})
	d.addVerbs()
	d.addPieces()
	return d
}

// addAll adds words that stand between spaces.
func (d *dictionary) addAll(words string, e entry) {
	for _, w := range strings.Fields(words) {
		d.add(fold(w), e)
	}
}

// add adds a word, unless there is one of the same kind that is written alike.
func (d *dictionary) add(text string, e entry) {
	if text == "" {
		return
	}
	for _, other := range d.entries[text] {
		if other.after == e.after && other.then == e.then && (e.after == 0 || other.sign == e.sign) {
			return
		}
	}
	e.cost = cost(text, e)
	d.entries[text] = append(d.entries[text], &e)
	first, _ := utf8.DecodeRuneInString(text)
	n := utf8.RuneCountInString(text)
	d.longest[first] = max(d.longest[first], n)
	if (e.role == isNoun || e.role == isVerb) && e.after == 0 && canBeMisspelt(text) {
		letters := []rune(text)
		for _, r := range unite(letters[:1:1], letters[1]) {
			d.similar[r] = append(d.similar[r], &similar{letters, &e})
		}
	}
}

// cost is the price of a word. A long one is cheaper than several short ones,
// and kana so few that they are more often something else are dear.
func cost(text string, e entry) int {
	n := utf8.RuneCountInString(text)
	switch {
	case e.after != 0:
		return 1 + n
	case e.role == isBreak:
		return 0
	case e.role == isParticle || e.role == isCopula:
		return 3 + n
	case e.role == isNoise:
		return 5
	}
	c := 8 + 2*n
	switch e.role {
	case isNoun:
		c--
	case isVerb:
		if e.then == closed {
			c -= 4 // 「わかりました」, which other words could make too
		}
	case isPlea, isCarried, isSight:
		c -= 4 // they hold words of other kinds
	}
	if isKana(text) {
		c += 2
		switch {
		case n == 1 && e.role == isNoun:
			c += 6
		case n == 1:
			c += 10
		case n == 2:
			c += 3
		}
	}
	return c
}

func isKana(text string) bool {
	for _, r := range text {
		if !isHiragana(r) {
			return false
		}
	}
	return true
}

func (d *dictionary) addNumbers() {
	for n, names := range counted {
		for _, name := range strings.Fields(names) {
			d.add(fold(name), entry{role: isNumber, then: named, group: numberGroup(n)})
		}
	}
	for n, names := range numbers {
		for _, name := range strings.Fields(names) {
			for _, counter := range strings.Fields(counters) {
				d.add(fold(name+counter), entry{role: isNumber, then: named, group: numberGroup(n)})
			}
		}
	}
}

func mannerGroup(i int) string { return "manner " + strconv.Itoa(i) }

func numberGroup(n int) string { return "number " + strconv.Itoa(n) }

func (d *dictionary) addVerbs() {
	for _, v := range append(verbs, quitting) {
		e := entry{role: isVerb, deed: v.deed}
		for _, w := range strings.Fields(v.godan) {
			d.addBent(godan(fold(w)), e)
		}
		for _, w := range strings.Fields(v.ichidan) {
			d.addBent(ichidan(fold(w)), e)
		}
		e.then = doing
		d.addAll(v.suru, e)
		e.then = closed
		d.addAll(v.fixed, e)
	}
	// After all others, since 「開け」 is of 開ける before it is of 開く.
	for _, v := range verbs {
		for _, w := range strings.Fields(v.godan) {
			d.addBent(able(fold(w)), entry{role: isVerb, deed: v.deed, sign: possible})
		}
	}
	d.addBent(suru(), entry{role: isVerb, deed: does})
	d.addBent(kuru(), entry{role: isVerb, deed: comes})
	for _, w := range []string{"ほし", "欲し"} {
		d.add(w, entry{role: isVerb, deed: receives, then: adjective, sign: wanted})
	}
	d.addAll(adjectives, entry{role: isVerb, deed: becomes, then: adjective})
	d.add("な", entry{role: isVerb, deed: isThere, then: adjective, sign: negated})
	d.add("無", entry{role: isVerb, deed: isThere, then: adjective, sign: negated})
}

func (d *dictionary) addPieces() {
	for _, p := range pieces {
		d.addAll(p.texts, entry{role: isPiece, after: p.after, then: p.then, sign: p.sign, link: p.link})
	}
	for _, h := range helping {
		e := entry{role: isPiece, after: h.after, sign: h.sign, manner: h.manner}
		for _, w := range strings.Fields(h.godan) {
			d.addBent(godan(fold(w)), e)
			could := e
			could.sign |= possible
			d.addBent(able(fold(w)), could)
		}
		for _, w := range strings.Fields(h.ichidan) {
			d.addBent(ichidan(fold(w)), e)
		}
	}
	d.addBent(kuru(), entry{role: isPiece, after: te})
	for _, c := range contracted {
		for _, w := range strings.Fields(c.godan) {
			d.addBent(godan(fold(w)), entry{role: isPiece, after: c.after})
		}
	}
	for _, object := range []string{"", "を", "も", "は", "でも"} {
		for _, b := range suru() {
			d.add(object+b.text, entry{role: isPiece, after: doing, then: b.form})
		}
	}
	d.addBent(suru(), entry{role: isPiece, after: polStem}) // 「お借りする」
	d.add("に", entry{role: isPiece, after: doing, then: open, link: inOrderTo})
	d.addBent(guesses(), entry{role: isVerb, deed: unknownDeed, after: strangeKanji})
}

func (d *dictionary) addBent(forms []bent, e entry) {
	for _, b := range forms {
		e.then = b.form
		d.add(b.text, e)
	}
}

// A bent is one form of a verb.
type bent struct {
	text string
	form form
}

// bends are the kana at which verbs of five rows bend, by the last one of the
// plain form: before ない, ます, nothing, ば, う and た.
var bends = map[rune][6]string{
	'く': {"か", "き", "く", "け", "こ", "い"},
	'ぐ': {"が", "ぎ", "ぐ", "げ", "ご", "い"},
	'す': {"さ", "し", "す", "せ", "そ", "し"},
	'つ': {"た", "ち", "つ", "て", "と", "っ"},
	'ぬ': {"な", "に", "ぬ", "ね", "の", "ん"},
	'ぶ': {"ば", "び", "ぶ", "べ", "ぼ", "ん"},
	'む': {"ま", "み", "む", "め", "も", "ん"},
	'る': {"ら", "り", "る", "れ", "ろ", "っ"},
	'う': {"わ", "い", "う", "え", "お", "っ"},
}

// godan bends a verb of five rows, given in its plain form.
func godan(verb string) []bent {
	last, size := utf8.DecodeLastRuneInString(verb)
	stem, row := verb[:len(verb)-size], bends[last]
	before := formT
	if strings.ContainsRune("ぐぬぶむ", last) {
		before = formD
	}
	if strings.HasSuffix(verb, "行く") || strings.HasSuffix(verb, "いく") || verb == "ゆく" || verb == "く" {
		row[5] = "っ"
	}
	return []bent{
		{stem + row[0], formA}, {stem + row[1], formI}, {verb, formU}, {stem + row[3], formE},
		{stem + row[4], formO}, {stem + row[5], before},
	}
}

// able bends a verb of five rows that can be done: 打てる.
func able(verb string) []bent {
	last, size := utf8.DecodeLastRuneInString(verb)
	return ichidan(verb[:len(verb)-size] + bends[last][3] + "る")
}

// ichidan bends a verb of one row: all of its endings follow the stem.
func ichidan(verb string) []bent {
	return []bent{{strings.TrimSuffix(verb, "る"), formS}, {verb, formU}}
}

func suru() []bent {
	return []bent{{"し", formS}, {"する", formU}, {"すれ", formE}, {"せ", formA}, {"しろ", closed}, {"せよ", closed}, {"でき", formS}, {"出来", formS}}
}

func kuru() []bent {
	return []bent{
		{"くる", formU}, {"来る", formU}, {"き", formI}, {"き", formT}, {"来", formS}, {"こ", formA}, {"こよ", formO},
		{"こい", closed}, {"来い", closed}, {"くれ", formE}, {"来れ", formE},
	}
}

// guesses are the kana that may bend a verb that the reader does not know,
// after its kanji.
func guesses() []bent {
	var all []bent
	for _, last := range "くぐすつぬぶむるう" {
		all = append(all, godan(string(last))...)
	}
	for _, stem := range []string{"い", "き", "ぎ", "し", "じ", "ち", "に", "び", "み", "り", "え", "け", "げ", "せ", "て", "で", "ね", "べ", "め", "れ"} {
		all = append(all, ichidan(stem+"る")...)
	}
	return all
}
