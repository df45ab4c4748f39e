package japanese

import (
	"testing"
)

// A row is what is said at a place, and what it comes to: the label of an act,
// a place in angle brackets, a sense in square brackets.
type row struct{ at, want, text string }

const nothing = "[nothing]" // no act and no way, whatever else

func harborReader() *Reader {
	acts := make([]Act, len(harborActs))
	for i, a := range harborActs {
		acts[i] = a.Act
	}
	return New(harborNouns, acts)
}

// means names what a sentence comes to, if all acts of the place are possible.
func means(r *Reader, at, text string) string {
	m := r.Read(text, at, func(i int) bool { return harborActs[i].at == at || harborActs[i].at == anywhere })
	return name(m)
}

func name(m Meaning) string {
	switch m.Sense {
	case Do:
		return harborActs[m.Act].Label
	case Go:
		return "<" + m.Place + ">"
	case Elsewhere:
		return "[elsewhere] " + harborActs[m.Act].Label
	case Unclear:
		s := nothing
		for _, x := range m.Maybe {
			s += " " + name(x) + "?"
		}
		return s
	}
	return [...]string{Silence: "[silence]", Refused: "[refused]", Supposed: "[supposed]", TooMuch: "[too much]",
		GoBack: "[back]", GoOn: "[on]", Look: "[look]", Help: "[help]", Carried: "[carried]"}[m.Sense]
}

// readMost fails where less than nine in ten wordings are read, or one is taken
// for an act that must not be.
func readMost(t *testing.T, rows []row, means func(at, text string) string) {
	read, all := 0, 0
	for _, row := range rows {
		got := means(row.at, row.text)
		switch {
		case row.want == nothing && isMove(got):
			t.Errorf("at %s, 「%s」 is taken for %s", row.at, row.text, got)
		case row.want == nothing:
		case got == row.want:
			read++
			all++
		default:
			all++
			t.Logf("at %s, 「%s」 is %s, want %s", row.at, row.text, got, row.want)
		}
	}
	t.Logf("%d of %d are read", read, all)
	if read*10 < all*9 {
		t.Errorf("only %d of %d are read", read, all)
	}
}

func TestHeldOut(t *testing.T) {
	r := harborReader()
	readMost(t, heldOut, func(at, text string) string { return means(r, at, text) })
}

// What players write, and what it comes to.
func TestUnderstood(t *testing.T) {
	r := harborReader()
	n := 0
	for _, group := range said {
		for _, text := range group.texts {
			n++
			if got := means(r, group.at, text); got != group.want {
				t.Errorf("at %s, 「%s」 is %s, want %s", group.at, text, got, group.want)
			}
		}
	}
	t.Log(n, "wordings")
}

// What must not be taken for an act or a way.
func TestNotMeant(t *testing.T) {
	r := harborReader()
	n := 0
	for _, group := range notMeant {
		for _, text := range group.texts {
			n++
			if got := means(r, group.at, text); isMove(got) {
				t.Errorf("at %s, 「%s」 is taken for %s", group.at, text, got)
			}
		}
	}
	t.Log(n, "wordings")
}

func isMove(meaning string) bool {
	return meaning[0] != '[' || meaning == "[back]" || meaning == "[on]"
}

func TestExamples(t *testing.T) {
	r := harborReader()
	for _, a := range harborActs {
		at := a.at
		if at == anywhere {
			at = breakwater
		}
		for _, say := range append(a.Says, a.Label) {
			if got := means(r, at, say); got != a.Label {
				t.Errorf("at %s, 「%s」 is %s, want %s", at, say, got, a.Label)
			}
		}
	}
}

// Two acts that fit about as well are both named, and neither is done.
func TestInDoubtBothAreNamed(t *testing.T) {
	r := New([]Noun{{ID: "bell", Names: []string{"鐘"}}}, []Act{
		{Label: "鐘の話を聞く"}, {Label: "鐘のことをたずねる"}, {Label: "鐘を見る"},
	})
	m := r.Read("鐘について教えて", "", func(int) bool { return true })
	if m.Sense != Unclear || len(m.Maybe) != 2 || m.Maybe[0].Act+m.Maybe[1].Act != 1 {
		t.Errorf("got %+v, want the first two acts", m)
	}
	m = r.Read("鐘について教えて", "", func(act int) bool { return act == 1 })
	if m.Sense != Do || m.Act != 1 {
		t.Errorf("got %+v, want the only act that is possible", m)
	}
}

// A phrase about something is not meant where that is not named, however much
// else of it is said.
func TestWhatAPhraseIsAbout(t *testing.T) {
	r := New([]Noun{{ID: "brother", Names: []string{"兄"}}}, []Act{{Label: "兄はどんな人か聞く"}})
	if m := r.Read("どんな人か聞いてみる", "", func(int) bool { return true }); m.Sense == Do {
		t.Errorf("got %+v, want no act", m)
	}
	if m := r.Read("兄がどんな人か聞いてみる", "", func(int) bool { return true }); m.Sense != Do {
		t.Errorf("got %+v, want the act", m)
	}
}
