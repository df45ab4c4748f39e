package main

import (
	"errors"
	"slices"
	"testing"
)

func TestFaultsOfAReply(t *testing.T) {
	for _, row := range []struct {
		line string
		want []string
	}{
		{`{"state":{}}`, nil},
		{`{"id":1,"ok":true,"text":"","state":[],"place":"","choices":[],"places":null,"end":false,"more":1}`, nil},
		{`{"state":1,"choices":[{"label":"a","kind":"say"},{"label":"a","kind":"say","input":null}]}`, nil},
		{`{"ok":true}`, []string{"state is missing"}},
		{`{"state":null}`, []string{"state is missing"}},
		{`{"state":1,"ok":false}`, []string{"ok is not true"}},
		{`{"state":1,"text":1,"place":{}}`, []string{"text is no string", "place is no string"}},
		{`{"state":1,"choices":{},"places":"港"}`, []string{"choices is no array", "places is no array"}},
		{`{"state":1,"places":[1,{"label":"a","kind":"say"}]}`, []string{"places[0] is no offer"}},
		{`{"state":1,"choices":[{"label":" ","kind":"say"},{"label":"a","kind":""},{"label":"a"},{"label":"a","kind":"say","input":1}]}`,
			[]string{"choices[0] is no offer", "choices[1] is no offer", "choices[2] is no offer", "choices[3] is no offer"}},
		{`{"state":1,"end":"yes"}`, []string{"end is no boolean"}},
	} {
		r, err := readReply([]byte(row.line))
		if err != nil || !slices.Equal(r.faults, row.want) {
			t.Errorf("%s: %q, %v, want %q", row.line, r.faults, err, row.want)
		}
	}
	for _, line := range []string{"", "null", "[]", "1", `{"a":1`, `{"a":1}{}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}"} {
		if _, err := readReply([]byte(line)); !errors.Is(err, errNoReply) {
			t.Errorf("%s: %v, want that it is no reply", line, err)
		}
	}
}

func TestTheSameReply(t *testing.T) {
	read := func(line string) reply {
		r, err := readReply([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one := read(`{"id":1,"text":"a","state":{"n":1}}`)
	if one.digest != read(`{"text":"a","state":{"n":1},"id":"two"}`).digest {
		t.Error("the id, or the order of fields, makes another reply")
	}
	for _, line := range []string{`{"id":1,"text":"b","state":{"n":1}}`, `{"id":1,"text":"a","state":{"n":2}}`, `{"id":1,"text":"a","state":{"n":1},"new":null}`} {
		if one.digest == read(line).digest {
			t.Errorf("%s is the same reply", line)
		}
	}
	if read(`{"text":"a","state":"k1.AAAA"}`).digest != read(`{"text":"a","state":"k1.BBBB"}`).digest {
		t.Error("sealing a state once more makes another reply")
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(goodReply))
	f.Add([]byte(`{"choices":[{"label":"a","kind":"say","input":"b"}],"places":[null],"end":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := readReply(line)
		if err != nil {
			return
		}
		for _, o := range r.offers() {
			if o.Label == "" || o.Kind == "" {
				t.Errorf("an empty offer in %s", line)
			}
		}
		if again, err := readReply(line); err != nil || again.digest != r.digest {
			t.Error("read twice, two replies")
		}
	})
}

func TestJudge(t *testing.T) {
	at := func(place, text string) reply {
		r, err := readReply([]byte(`{"state":1,"place":"` + place + `","text":"` + text + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	say := func(state, input string) move { return move{Kind: "say", Input: &input, State: []byte(state)} }
	toHut := &way{from: "港", kind: "move", input: "hut"}

	j := newJudge()
	legal := func(m move, w *way, r reply) {
		t.Helper()
		if faults := j.faults(m, w, r); len(faults) != 0 {
			t.Errorf("not legal: %q", faults)
		}
	}
	illegal := func(m move, w *way, r reply) {
		t.Helper()
		if faults := j.faults(m, w, r); len(faults) == 0 {
			t.Error("legal")
		}
	}
	legal(say("1", "a"), nil, at("港", "first"))
	legal(say("1", "a"), nil, at("港", "first"))
	illegal(say("1", "a"), nil, at("港", "somebody else's"))
	legal(say("2", "a"), nil, at("港", "second"))
	legal(say("1", "b"), nil, at("港", "third"))
	legal(say("3", "c"), toHut, at("番屋", ""))
	legal(say("4", "c"), toHut, at("番屋", ""))
	illegal(say("5", "c"), toHut, at("食堂", ""))
	legal(say("6", "c"), &way{from: "丘", kind: "move", input: "hut"}, at("小屋", ""))
	if j.compared != 2 {
		t.Errorf("%d compared, want 2", j.compared)
	}
}

func TestJudgeForgets(t *testing.T) {
	known := map[int]int{}
	for n := range 3 * maxRemembered {
		remember(known, n, n)
	}
	if len(known) > maxRemembered {
		t.Errorf("remembers %d", len(known))
	}
}
