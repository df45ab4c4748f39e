package advsim

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"kiribashiri/internal/advsim/japanese"
)

// An answer is any line of the engine.
type answer struct {
	ID      jsontext.Value `json:"id"`
	OK      *bool          `json:"ok"`
	Text    string         `json:"text"`
	State   jsontext.Value `json:"state"`
	Place   string         `json:"place"`
	Choices []offer        `json:"choices"`
	Places  []offer        `json:"places"`
	End     bool           `json:"end"`
	Error   string         `json:"error"`
	Code    string         `json:"code"`
	Reason  string         `json:"reason"`
}

// send has the engine answer one line, and checks that the answer is one line
// of sound JSON.
func send(t testing.TB, e *engine, line string) answer {
	t.Helper()
	raw := e.answer([]byte(line))
	if bytes.ContainsAny(raw, "\r\n") {
		t.Fatalf("answer to %q is more than one line: %q", line, raw)
	}
	var a answer
	if err := json.Unmarshal(raw, &a, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("answer to %q: %v\n%s", line, err, raw)
	}
	if a.OK == nil {
		t.Fatalf("answer to %q does not say ok: %s", line, raw)
	}
	return a
}

// play makes one move from a state, and fails if the engine rejects it.
func play(t testing.TB, e *engine, state jsontext.Value, kind, input string) answer {
	t.Helper()
	a := send(t, e, moveLine(1, kind, input, state))
	if !*a.OK {
		t.Fatalf("%s %q from %s is rejected: %s", kind, input, state, a.Error)
	}
	return a
}

func moveLine(id int, kind, input string, state jsontext.Value) string {
	quoted, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"id":%d,"kind":%q,"input":%s,"state":%s}`, id, kind, quoted, state)
}

// bits returns the flags of these names.
func (s *story) bits(names ...string) flags {
	var f flags
	for _, name := range names {
		f |= 1 << slices.Index(s.flags, name) // an unknown name panics
	}
	return f
}

// at returns the state of a player who is at a place with these flags.
func at(t testing.TB, e *engine, place string, have ...string) jsontext.Value {
	t.Helper()
	s := state{place: place, turn: 50, flags: e.story.bits(have...)}
	if err := e.check(s); err != nil {
		t.Fatalf("no player is at %s with %s: %v", place, have, err)
	}
	raw, err := json.Marshal(e.save(s))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestMoves(t *testing.T) {
	e := lamp(t)
	for _, tc := range []struct {
		name        string
		at          string
		have        []string
		kind, input string
		text        string // part of the reply's
		to          string // place afterwards
		has         []string
	}{
		{"look", "pier", nil, "look", "", "木の桟橋が、静かな水の上にのびている。\n空に星が出ている。", "pier", nil},
		{"look at what has changed", "pier", []string{"heard", "has_lamp", "lit"}, "look", "", "木の桟橋が、静かな水の上にのびている。", "pier", nil},
		{"a button of a way", "pier", nil, "move", "shed", "番人がひとり", "shed", nil},
		{"a way in words", "pier", nil, "move", "小屋へ行く", "番人がひとり", "shed", nil},
		{"a way said", "pier", nil, "say", "小屋へ行く", "番人がひとり", "shed", nil},
		{"the way to where one is", "shed", nil, "say", "小屋へ行く", "ここがその小屋だ。\n番人がひとり", "shed", nil},
		{"a closed way", "pier", nil, "move", "tower", "塔の中は真っ暗で、足が進まない。", "pier", nil},
		{"a far place", "shed", []string{"heard", "has_lamp", "lit"}, "move", "tower", "塔の上に", "tower", nil},
		{"a far place that is closed", "shed", nil, "move", "tower", "木の桟橋が、静かな水の上にのびている。\n空に星が出ている。\n塔の中は真っ暗で", "pier", nil},
		{"no place", "pier", nil, "move", "東京", "それがどこなのか、わからない。\nできそうなことは、ボタンに出ている。", "pier", nil},
		{"no way at all", "pier", nil, "move", "", "それがどこなのか", "pier", nil},
		{"an act is no way", "pier", nil, "move", "星を眺める", "それがどこなのか", "pier", nil},
		{"back", "shed", nil, "say", "戻る", "木の桟橋", "pier", nil},
		{"back from nowhere in particular", "pier", nil, "say", "戻る", "どこへ行こうか。\n", "pier", nil},
		{"a button", "pier", nil, "say", "星を眺める", "ひとつだけ、動かない星がある。", "pier", []string{"saw_stars"}},
		{"the same once more", "pier", []string{"saw_stars"}, "say", "星を眺める", "星は、まだそこにある。", "pier", []string{"saw_stars"}},
		{"the first telling that holds", "pier", []string{"heard", "has_lamp", "lit"}, "say", "星を眺める", "星はもう見えない。", "pier", nil},
		{"an act that is not possible yet", "pier", nil, "say", "横になる", "いまは", "pier", nil},
		{"an act of another place", "pier", nil, "say", "ランプを取る", "。\nできそうなことは、ボタンに出ている。", "pier", nil},
		{"an act of anywhere", "pier", []string{"heard", "has_lamp"}, "say", "ランプに火をつける", "炎がゆれて、落ち着いた。", "pier", []string{"lit"}},
		{"empty hands", "pier", nil, "say", "持ち物", "手には何もない。", "pier", nil},
		{"full hands", "pier", []string{"heard", "has_lamp"}, "say", "持ち物", "持っているもの：ランプ。", "pier", nil},
		{"help", "pier", nil, "say", "ヘルプ", "\n小屋の番人に話を聞こう。", "pier", nil},
		{"help later", "pier", []string{"heard"}, "say", "ヘルプ", "\nランプに火をつけよう。", "pier", nil},
		{"nothing said", "pier", nil, "say", "", "\nできそうなことは、ボタンに出ている。", "pier", nil},
		{"too much said", "pier", nil, "say", strings.Repeat("星", japanese.MaxChars+1), "言葉が長すぎて", "pier", nil},
		{"too long a way", "pier", nil, "move", strings.Repeat("星", japanese.MaxChars+1), "言葉が長すぎて", "pier", nil},
		{"not understood", "pier", nil, "say", "ほげほげ", "\nできそうなことは、ボタンに出ている。", "pier", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := play(t, e, at(t, e, tc.at, tc.have...), tc.kind, tc.input)
			if !strings.Contains(a.Text, tc.text) {
				t.Errorf("text %q, want one with %q", a.Text, tc.text)
			}
			s, bad := e.decodeState(a.State)
			if bad != nil {
				t.Fatal(bad)
			}
			if want := e.story.bits(tc.have...) | e.story.bits(tc.has...); s.place != tc.to || s.flags != want || s.turn != 51 {
				t.Errorf("at %s with %b in turn %d, want %s with %b", s.place, s.flags, s.turn, tc.to, want)
			}
		})
	}
}

// Where the short way is closed and a longer one is not, the longer is taken.
func TestWayRound(t *testing.T) {
	s := &story{start: "a", flags: []string{"key"}, places: []place{
		{id: "a", ways: []string{"gate", "b"}},
		{id: "gate", needs: 1, closed: "閉まっている。", ways: []string{"a", "d"}},
		{id: "b", ways: []string{"a", "c"}},
		{id: "c", ways: []string{"b", "d"}},
		{id: "d", ways: []string{"c", "gate"}, text: []passage{{text: "着いた。"}}},
	}}
	e := newEngine(s)
	if out := e.play(state{place: "a"}, "move", "d"); out.state.place != "d" || out.text != "着いた。" {
		t.Errorf("at %s: %q", out.state.place, out.text)
	}
	var through []string
	for _, p := range e.world.way("a", "d", 1) {
		through = append(through, p.id)
	}
	if want := []string{"gate", "d"}; !slices.Equal(through, want) {
		t.Errorf("with the key, through %v, want %v", through, want)
	}
}

// 「進む」 is to go on where there is one way that does not lead back.
func TestOnward(t *testing.T) {
	e := newEngine(&story{start: "a", places: []place{
		{id: "a", ways: []string{"b", "d"}},
		{id: "b", ways: []string{"a", "c"}, back: "a"},
		{id: "c", ways: []string{"b"}, back: "b", text: []passage{{text: "行き止まりだ。"}}},
		{id: "d", ways: []string{"a"}},
	}})
	for from, want := range map[string]string{"a": "a", "b": "c", "c": "c", "d": "a"} {
		if out := e.play(state{place: from}, "say", "進む"); out.state.place != want {
			t.Errorf("from %s on to %s, want %s", from, out.state.place, want)
		}
	}
}

// A way is gone by typing what stands on its button, whatever else that might
// mean or not mean.
func TestButtonOfAWayTyped(t *testing.T) {
	e := newEngine(&story{start: "a", places: []place{
		{id: "a", ways: []string{"b"}},
		{id: "b", button: "ふしぎなドア！", ways: []string{"a"}, text: []passage{{text: "中は暗い。"}}},
	}})
	if out := e.play(state{place: "a"}, "say", "ふしぎな　ドア"); out.state.place != "b" {
		t.Errorf("at %s: %q", out.state.place, out.text)
	}
}

// A telling may have a button of its own, which is typed as well as pressed.
func TestButtonOfATelling(t *testing.T) {
	e := newEngine(&story{start: "a", flags: []string{"known"}, places: []place{{id: "a"}}, acts: []act{{
		label: "誰かに手を振る", at: "a",
		tellings: []telling{
			{when: when{unless: 1}, offered: true, sets: 1, text: "番人だ。"},
			{offered: true, button: "番人に手を振る", text: "番人も手を振った。"},
		},
	}}})
	s := e.begin().state
	for _, want := range []struct{ button, text string }{{"誰かに手を振る", "番人だ。"}, {"番人に手を振る", "番人も手を振った。"}} {
		offers := e.choices(s)
		if len(offers) != 1 || offers[0].Label != want.button || offers[0].Input != want.button {
			t.Fatalf("offered: %v, want %s", offers, want.button)
		}
		out := e.play(s, "say", want.button)
		if out.text != want.text {
			t.Errorf("「%s」: %q", want.button, out.text)
		}
		s = out.state
	}
}

func TestEnding(t *testing.T) {
	e := lamp(t)
	a := play(t, e, at(t, e, "tower", "saw_stars", "heard", "has_lamp", "lit"), "say", "灯籠に掛ける")
	if want := "水の上に、長い光の道ができた。\nあの星も、きっと見ている。\n――終わり「塔の灯」"; a.Text != want || !a.End {
		t.Errorf("end %v, %q, want %q", a.End, a.Text, want)
	}
	for _, m := range []offer{{Kind: "look"}, {Kind: "move", Input: "pier"}, {Kind: "say", Input: "桟橋へ行く"}, {Kind: "say"}} {
		after := play(t, e, a.State, m.Kind, m.Input)
		if !after.End || after.Text != e.story.over || len(after.Places)+len(after.Choices) != 0 {
			t.Errorf("%v after the end: %+v", m, after)
		}
		if string(after.State) != string(a.State) {
			t.Errorf("%v after the end changed the state from %s to %s", m, a.State, after.State)
		}
	}
}

// What may have been meant is named as it stands on its button.
func TestPerhaps(t *testing.T) {
	e := lamp(t)
	look, shed := japanese.Meaning{Sense: japanese.Do, Act: 0}, japanese.Meaning{Sense: japanese.Go, Place: "shed"}
	for _, tc := range []struct {
		maybe []japanese.Meaning
		want  string
	}{
		{[]japanese.Meaning{look}, "うまく伝わらなかった。もしかして、「星を眺める」ということだろうか。\n"},
		{[]japanese.Meaning{shed}, "うまく伝わらなかった。もしかして、「小屋へ」ということだろうか。\n"},
		{[]japanese.Meaning{look, shed}, "うまく伝わらなかった。「星を眺める」か、それとも「小屋へ」だろうか。\n"},
	} {
		if got := e.notDone(e.begin().state, "ほげほげ", japanese.Meaning{Maybe: tc.maybe}); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%v: %q, want %q", tc.maybe, got, tc.want)
		}
	}
}

// What is not offered is not named either, unless it has been: the story's words
// may give away what the player cannot know.
func TestPerhapsNamesNothingNew(t *testing.T) {
	e := newEngine(&story{start: "a", flags: []string{"known", "asked"}, places: []place{
		{id: "a", ways: []string{"b", "c"}}, {id: "b", button: "奥へ", needs: 1, ways: []string{"a"}}, {id: "c", ways: []string{"a"}},
	}, acts: []act{
		{label: "秘密の話を聞く", at: "a", tellings: []telling{
			{when: when{needs: 1, unless: 2}, offered: true, sets: 2, text: "そうだ。"},
			{text: "何のことだ。"},
		}},
		{label: "よその話を聞く", at: "c", tellings: []telling{{offered: true, text: "そうか。"}}},
	}})
	maybe := []japanese.Meaning{{Sense: japanese.Do, Act: 0}, {Sense: japanese.Do, Act: 1}, {Sense: japanese.Go, Place: "b"}}
	for f, want := range map[flags][]string{
		0: nil,
		1: {"「秘密の話を聞く」", "「奥へ」"},
		3: {"「秘密の話を聞く」", "「奥へ」"},
	} {
		if got := e.labels(state{place: "a", flags: f}, maybe); !slices.Equal(got, want) {
			t.Errorf("with %b: %q, want %q", f, got, want)
		}
	}
}

func TestSameMoveSameReply(t *testing.T) {
	one, other := lamp(t), lamp(t)
	raw := at(t, one, "shed", "heard")
	for _, input := range []string{"ランプの話を聞く", "ほげほげ", "ヘルプ", "", "どこか遠く", "桟橋"} {
		line := []byte(moveLine(7, "say", input, raw))
		want := one.answer(line)
		for _, e := range []*engine{one, other} {
			if got := e.answer(line); !bytes.Equal(got, want) {
				t.Errorf("%q is answered by\n%s and by\n%s", input, want, got)
			}
		}
	}
}

func TestNotUnderstoodIsAnsweredInSeveralWays(t *testing.T) {
	e := lamp(t)
	raw := at(t, e, "shed")
	heard, hints := map[string]bool{}, map[string]bool{}
	for range 20 {
		a := play(t, e, raw, "say", "ほげほげ")
		admission, hint, _ := strings.Cut(a.Text, "\n")
		heard[admission] = true
		hints[hint] = true
		raw = a.State
	}
	if len(heard) < 3 {
		t.Errorf("20 times not understood in only %d ways", len(heard))
	}
	for _, word := range []string{"ボタン", "「ヒント」", "「持ち物」"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(hints)), func(h string) bool { return strings.Contains(h, word) }) {
			t.Errorf("%s is never named: %v", word, hints)
		}
	}
}

func TestTurnsStandStillAtTheirLimit(t *testing.T) {
	e := lamp(t)
	out := e.play(state{place: "shed", turn: maxTurn}, "look", "")
	if out.state.turn != maxTurn {
		t.Errorf("turn %d after %d", out.state.turn, maxTurn)
	}
	if err := e.check(out.state); err != nil {
		t.Error(err)
	}
}
