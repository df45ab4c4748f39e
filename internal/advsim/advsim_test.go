package advsim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// at returns the state of somebody at a place with these flags.
func at(t testing.TB, e *engine, place string, f flags) jsontext.Value {
	t.Helper()
	s := state{place: place, turn: 50, flags: f}
	if err := e.check(s); err != nil {
		t.Fatalf("no player is at %s with %b: %v", place, f, err)
	}
	raw, err := json.Marshal(e.save(s))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A way to each ending, by buttons alone.
var (
	wayToTheBell = []offer{
		{Kind: "move", Input: harbor},
		{Kind: "say", Input: "霧の話を聞く"},
		{Kind: "move", Input: hut},
		{Kind: "say", Input: "ランタンを借りる"},
		{Kind: "move", Input: harbor},
		{Kind: "move", Input: busStop},
		{Kind: "move", Input: diner},
		{Kind: "say", Input: "鐘の話を聞く"},
		{Kind: "say", Input: "マッチを分けてもらう"},
		{Kind: "say", Input: "ランタンに火をつける"},
		{Kind: "move", Input: busStop},
		{Kind: "move", Input: hill},
		{Kind: "say", Input: "木槌を取る"},
		{Kind: "move", Input: busStop},
		{Kind: "move", Input: harbor},
		{Kind: "move", Input: breakwater},
		{Kind: "move", Input: bell},
		{Kind: "say", Input: "三つ打って、ひと息おく"},
	}
	wayToTheBus = []offer{
		{Kind: "move", Input: harbor},
		{Kind: "say", Input: "霧の話を聞く"},
		{Kind: "move", Input: busStop},
		{Kind: "say", Input: "最終バスに乗る"},
	}
)

func TestBothWaysEnd(t *testing.T) {
	for _, way := range []struct {
		name  string
		moves []offer
		last  string
	}{
		{"bell", wayToTheBell, "――終わり「霧の鐘」"},
		{"bus", wayToTheBus, "――終わり「最終バス」"},
	} {
		t.Run(way.name, func(t *testing.T) {
			e := newEngine(shiranari())
			a := send(t, e, `{"id":1,"kind":"new"}`)
			for _, m := range way.moves {
				if a.End {
					t.Fatalf("the story ended before %v", m)
				}
				if !offers(a, m) {
					t.Fatalf("%v is not offered at %s", m, a.Place)
				}
				a = play(t, e, a.State, m.Kind, m.Input)
			}
			if !a.End || !strings.HasSuffix(a.Text, way.last) {
				t.Errorf("end %v, text %q, want the end %q", a.End, a.Text, way.last)
			}
		})
	}
}

func offers(a answer, want offer) bool {
	for _, o := range append(a.Choices, a.Places...) {
		if o.Kind == want.Kind && o.Input == want.Input {
			return true
		}
	}
	return false
}

func TestAfterTheEnd(t *testing.T) {
	e := newEngine(shiranari())
	a := send(t, e, `{"id":1,"kind":"new"}`)
	for _, m := range wayToTheBus {
		a = play(t, e, a.State, m.Kind, m.Input)
	}
	for _, m := range []offer{{Kind: "look"}, {Kind: "move", Input: harbor}, {Kind: "say", Input: "港へ行く"}, {Kind: "say"}} {
		after := play(t, e, a.State, m.Kind, m.Input)
		if !after.End || after.Text != e.story.over || len(after.Places)+len(after.Choices) != 0 {
			t.Errorf("%v after the end: %+v", m, after)
		}
		if string(after.State) != string(a.State) {
			t.Errorf("%v after the end changed the state from %s to %s", m, a.State, after.State)
		}
	}
}

func TestSameMoveSameReply(t *testing.T) {
	one, other := newEngine(shiranari()), newEngine(shiranari())
	raw := at(t, one, harbor, heardFog)
	for _, input := range []string{"霧の話を聞く", "ほげほげ", "ヘルプ", "", "どこか遠く", "港"} {
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
	e := newEngine(shiranari())
	raw := at(t, e, harbor, 0)
	heard := map[string]bool{}
	for range 20 {
		a := play(t, e, raw, "say", "ほげほげ")
		admission, hint, _ := strings.Cut(a.Text, "\n")
		heard[admission] = true
		if !strings.Contains(hint, "霧の話を聞く") || !strings.Contains(hint, "番屋へ") {
			t.Errorf("no hint at what is possible: %q", a.Text)
		}
		raw = a.State
	}
	if len(heard) < 3 {
		t.Errorf("20 times not understood in only %d ways", len(heard))
	}
}

func TestFarPlacesAreWalkedTo(t *testing.T) {
	e := newEngine(shiranari())
	for _, tc := range []struct {
		from, to string
		flags    flags
		reached  string
	}{
		{hill, hut, 0, hut},
		{hut, diner, heardFog, diner},
		{diner, bell, heardFog | hasLantern | hasMatches | lit, bell},
		{diner, bell, heardFog, breakwater}, // too dark to go on
		{breakwater, bell, heardFog, breakwater},
	} {
		out := e.play(state{place: tc.from, turn: 20, flags: tc.flags}, "move", tc.to)
		if out.state.place != tc.reached {
			t.Errorf("from %s to %s leads to %s, want %s", tc.from, tc.to, out.state.place, tc.reached)
		}
		dark := tc.reached != tc.to
		if closed := e.place(bell).closed; strings.Contains(out.text, closed) != dark {
			t.Errorf("from %s to %s: %q", tc.from, tc.to, out.text)
		}
	}
}

func TestTurnsStandStillAtTheirLimit(t *testing.T) {
	e := newEngine(shiranari())
	s := state{place: harbor, turn: maxTurn}
	out := e.play(s, "look", "")
	if out.state.turn != maxTurn {
		t.Errorf("turn %d after %d", out.state.turn, maxTurn)
	}
	if err := e.check(out.state); err != nil {
		t.Error(err)
	}
}

func BenchmarkMove(b *testing.B) {
	e := newEngine(shiranari())
	raw := at(b, e, harbor, heardFog|hasLantern|hasMatches|lit)
	for _, input := range []string{"霧の話を聞く", "船長さん、すみませんが霧の話を聞かせてください", strings.Repeat("ねこ", 100)} {
		line := []byte(moveLine(7, "say", input, raw))
		b.Run(fmt.Sprint(len(input), "bytes"), func(b *testing.B) {
			for b.Loop() {
				e.answer(line)
			}
		})
	}
}
