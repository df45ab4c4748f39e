package advsim

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// whole returns the engine of the story that is played.
func whole(t testing.TB) *engine {
	t.Helper()
	s, mistakes := load(shiranari(), shiranariFolder)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return newEngine(s)
}

// astray returns where steps lead from the beginning, each to do one of the
// things that can be done or to go to any place.
func astray(e *engine, steps []byte) state {
	s := e.begin().state
	for _, step := range steps {
		if s.ending != "" {
			return s
		}
		var moves []func(state) outcome
		for i := range e.story.acts {
			if e.possible(s, i) {
				moves = append(moves, func(s state) outcome { return e.do(s, &e.story.acts[i]) })
			}
		}
		for _, p := range e.story.places {
			moves = append(moves, func(s state) outcome { return e.walk(s, p.id) })
		}
		s = moves[int(step)%len(moves)](s).state
		s.turn++
	}
	return s
}

// Whatever lines come in, each is answered with one line.
func FuzzServe(f *testing.F) {
	e := whole(f)
	first, err := json.Marshal(e.save(e.begin().state))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"id":1,"kind":"new"}` + "\n"))
	f.Add([]byte(moveLine(2, "say", "船長に霧の話を聞く", first) + "\n" + moveLine(3, "move", "harbor", first)))
	f.Add([]byte(moveLine(2, "look", "", first) + "\r\n\r\n"))
	f.Add([]byte("\n\n{\n[[[\x00\xff\n"))
	f.Add([]byte(`{"id":"x","kind":"move","input":"港","state":{"v":1}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		want := bytes.Count(input, []byte("\n"))
		if len(input) > 0 && input[len(input)-1] != '\n' {
			want++
		}
		var out bytes.Buffer
		if err := e.serve(bytes.NewReader(input), &out); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want {
			t.Fatalf("%d answers to %d lines", got, want)
		}
		for line := range bytes.Lines(out.Bytes()) {
			var a answer
			if err := json.Unmarshal(line, &a); err != nil || a.OK == nil || len(line) > maxLine {
				t.Fatalf("answer %q: %v", line, err)
			}
		}
	})
}

// Wherever a player is, whatever is typed is answered and leads to a state that
// is accepted again.
func FuzzSay(f *testing.F) {
	e := whole(f)
	for i, text := range []string{"船長に霧の話を聞く", "ﾏｯﾁをください", "三つ打って、ひと息おく", "港から戻らない", "が゛は〜ー１①㍿", "\xff\x00", ""} {
		f.Add(text, []byte{byte(i), 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9})
	}
	f.Fuzz(func(t *testing.T, text string, steps []byte) {
		s := astray(e, steps)
		if err := e.check(s); err != nil {
			t.Fatalf("%v lead to %+v: %v", steps, s, err)
		}
		for _, kind := range []string{"say", "move", "look"} {
			out := e.play(s, kind, text)
			if err := e.check(out.state); err != nil {
				t.Errorf("%s %q from %+v leads to %+v: %v", kind, text, s, out.state, err)
			}
			if out.text == "" || !out.state.flags.cover(s.flags) {
				t.Errorf("%s %q from %+v leads to %+v: %q", kind, text, s, out.state, out.text)
			}
		}
	})
}

// Any state is either rejected as such or played.
func FuzzState(f *testing.F) {
	e := whole(f)
	for _, steps := range [][]byte{nil, {1}, {1, 2, 3, 4, 5, 6, 7, 8}, []byte("a longer way through the evening")} {
		raw, err := json.Marshal(e.save(astray(e, steps)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(raw))
	}
	f.Add([]byte(`[[[[]]]]`))
	f.Add([]byte(`{"v":1,"story":null,"place":null,"turn":null,"flags":null,"ending":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !jsontext.Value(raw).IsValid() || strings.ContainsAny(string(raw), "\n") {
			return
		}
		for _, kind := range []string{"look", "move", "say"} {
			a := send(t, e, moveLine(1, kind, "霧の話を聞く", raw))
			if !*a.OK {
				if a.Code != "bad_state" {
					t.Errorf("state %s is rejected with %s", raw, a.Code)
				}
				continue
			}
			again := send(t, e, moveLine(2, "look", "", a.State))
			if !*again.OK {
				t.Errorf("after %s from %s the engine rejects its own state %s", kind, raw, a.State)
			}
		}
	})
}
