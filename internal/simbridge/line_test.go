package simbridge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, row := range []struct {
		name, stream string
		lines        []string
		err          string
	}{
		{"two lines", "a\nb\n", []string{"a", "b"}, "EOF"},
		{"a carriage return", "a\r\nb\n", []string{"a", "b"}, "EOF"},
		{"only one carriage return is stripped", "a\r\r\n", []string{"a\r"}, "EOF"},
		{"blank lines", "\n\r\n", []string{"", ""}, "EOF"},
		{"as long as may be", long + "\n" + long + "\r\n", []string{long, long}, "EOF"},
		{"one byte longer", long + "x\na\n", nil, errLineTooLong.Error()},
		{"without an end", strings.Repeat("x", 1000), nil, errLineTooLong.Error()},
		{"a cut line, even if it parses", "a\n{}", []string{"a"}, errCutLine.Error()},
		{"nothing", "", nil, "EOF"},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := bufio.NewReaderSize(strings.NewReader(row.stream), 16)
			for _, want := range row.lines {
				line, err := readLine(in, 100)
				if err != nil || string(line) != want {
					t.Fatalf("line %q, %v; want %q", line, err, want)
				}
			}
			if line, err := readLine(in, 100); err == nil || err.Error() != row.err {
				t.Errorf("after the lines: %q, %v; want %s", line, err, row.err)
			}
		})
	}
}

// Whatever an engine prints: a line that is accepted is a valid JSON object that
// an ordinary parser reads as we do.
func FuzzReadAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"id":17,"ok":true,"text":"霧"}`, `{"ok":false}`, `{"ready":true}`, `{}`, `null`, `[]`, `{"id":1,"id":2}`,
		`{"id":-1}`, `{"id":1e3}`, `{"ok":null}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":{"b":1,"b":2}}`, `{} {}`, ` {"id":0} `, `{"\u0069d":5}`,
		"{\t\"state\" : [1, 2] , \"a\":{\"state\":3}}", `{"st\u0061te":"\"","id":1}`, `{"state":null}`, `{"id":1,"ok":true,"state":{"a":"霧"},"end":false}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := readAnswer(line)
		if err != nil {
			return
		}
		var object map[string]json.RawMessage
		if !utf8.Valid(line) || json.Unmarshal(line, &object) != nil || object == nil {
			t.Fatalf("accepted %q", line)
		}
		if rejected := string(object["ok"]) == "false"; rejected != a.rejected {
			t.Errorf("%q: rejected %v", line, a.rejected)
		}
		if _, has := object["id"]; has != a.hasID {
			t.Errorf("%q: hasID %v", line, a.hasID)
		}
		if got := line[a.state.From:a.state.To]; string(got) != string(object["state"]) {
			t.Errorf("%q: the state is %q, want %q", line, got, object["state"])
		}
	})
}

// Whatever a client sends: the engine gets one line, and what stands in it is the
// move.
func FuzzMoveLine(f *testing.F) {
	f.Add("say", "霧の話", []byte(`{"a":[1,2]}`))
	f.Add("say", "\"\\\n\u2028\x00", []byte("{\r\n\"a\":\"\\n\"}"))
	f.Fuzz(func(t *testing.T, kind, input string, state []byte) {
		if !json.Valid(state) || !utf8.Valid(state) {
			t.Skip()
		}
		line, err := newLine(Move{Kind: kind, Input: &input, State: state})
		if err != nil {
			if utf8.ValidString(kind) && utf8.ValidString(input) {
				t.Fatalf("%q %q: %v", kind, input, err)
			}
			return
		}
		whole := appendLine(nil, 17, line.rest)
		if n := bytes.IndexAny(whole, "\n\r"); n != len(whole)-1 {
			t.Fatalf("not one line: %q", whole)
		}
		var got struct {
			ID          int
			Kind, Input string
			State       json.RawMessage
		}
		if err := json.Unmarshal(whole, &got); err != nil {
			t.Fatalf("%q: %v", whole, err)
		}
		if got.ID != 17 || got.Kind != kind || got.Input != input {
			t.Errorf("%q became %+v", whole, got)
		}
		var before, after any
		json.Unmarshal(state, &before)
		json.Unmarshal(got.State, &after)
		if x, y := mustMarshal(before), mustMarshal(after); x != y {
			t.Errorf("state %s became %s", x, y)
		}
	})
}

func mustMarshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
