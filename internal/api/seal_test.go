package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"kiribashiri/internal/seal"
	"kiribashiri/internal/simbridge"
)

// newBox returns a box whose first key is n throughout.
func newBox(t testing.TB, n ...byte) *seal.Box {
	t.Helper()
	var file strings.Builder
	for _, n := range n {
		fmt.Fprintln(&file, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, 32)))
	}
	box, err := seal.New([]byte(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func sealing(box *seal.Box) func(*Config) {
	return func(cfg *Config) { cfg.Seal = box }
}

// replies has the engine answer with a line in which this stands as the state.
func (h *house) replies(before, state, after string) {
	h.player.reply.Line = []byte(before + state + after)
	h.player.reply.State = simbridge.Span{From: len(before), To: len(before) + len(state)}
}

// sends makes a move with a state, as it stands in JSON.
func (h *house) sends(state string) *http.Response {
	return h.ask("POST", "/api/turn", `{"kind":"look","state":`+state+`}`, asJSON)
}

// What engines write: all of it but the state's value comes through byte for byte.
var lines = []struct{ name, before, state, after string }{
	{"a usual reply", `{"id":1,"ok":true,"text":"霧","state":`, `{"place":"港","seen":[1,2]}`, `,"end":false}`},
	{"strange spacing", "\t{ \"text\" :\"<b>\\u003c\\/b>\" , \"state\"\t:  ", `{ "a" : [ 1 , 2.50 ] }`, " \t, \"x\":1e400 } "},
	{"the state first and last", `{"state":`, `[]`, `}`},
	{"a name that is escaped", `{"st\u0061te":`, `"霧"`, `,"more":{"state":"not this"}}`},
	{"deeper than a request may be", `{"state":`, strings.Repeat("[", 100) + strings.Repeat("]", 100), `}`},
	{"a number", `{"state":`, `1.0`, `,"state ":2}`},
	{"words of the markup", `{"state":`, `"</script><!--"`, `}`},
}

func TestStateIsSealed(t *testing.T) {
	for _, row := range lines {
		t.Run(row.name, func(t *testing.T) {
			h := newHouse(t, sealing(newBox(t, 1)))
			h.replies(row.before, row.state, row.after)
			answer := h.ask("POST", "/api/new", "")
			got := bodyOf(t, answer)
			if answer.StatusCode != 200 || !strings.HasPrefix(got, row.before+`"k1.`) || !strings.HasSuffix(got, `"`+row.after) {
				t.Fatalf("answer %d %s, want the line with its state sealed and nothing else changed", answer.StatusCode, got)
			}
			sealed := got[len(row.before) : len(got)-len(row.after)]
			if strings.Contains(sealed, "港") || !json.Valid([]byte(got)) {
				t.Errorf("sealed: %s", got)
			}
			if again := h.sends(sealed); again.StatusCode != 200 {
				t.Fatalf("sent back: %d %s", again.StatusCode, bodyOf(t, again))
			}
			if state := h.player.moves[1].State; string(state) != row.state {
				t.Errorf("the engine gets the state %s, want %s", state, row.state)
			}
		})
	}
}

// Without a key nothing is different from what it would be without this at all.
func TestWithoutAKeyStatesPassAsTheyCome(t *testing.T) {
	for _, row := range lines {
		h := newHouse(t, nil)
		h.replies(row.before, row.state, row.after)
		if got := bodyOf(t, h.ask("POST", "/api/new", "")); got != row.before+row.state+row.after {
			t.Errorf("%s: the player gets %s", row.name, got)
		}
	}
	for _, state := range []string{"{ \"x\" : [1,\r\n 2] }", `"` + string(newBox(t, 1).AppendSealed(nil, []byte("{}"))) + `"`, `"\u006b1."`, "null", "0"} {
		h := newHouse(t, nil)
		if answer := h.sends(state); answer.StatusCode != 200 || string(h.player.moves[0].State) != state {
			t.Errorf("%s: %d, and the engine gets %+v", state, answer.StatusCode, h.player.moves)
		}
	}
}

func TestNoStateIsNotSealed(t *testing.T) {
	for _, row := range []struct{ before, state, after string }{{`{"text":"霧"`, ``, `}`}, {`{"state":`, `null`, `}`}} {
		h := newHouse(t, sealing(newBox(t, 1)))
		h.replies(row.before, row.state, row.after)
		if got := bodyOf(t, h.ask("POST", "/api/new", "")); got != row.before+row.state+row.after {
			t.Errorf("the player gets %s", got)
		}
	}
	h := newHouse(t, func(cfg *Config) { cfg.Seal = newBox(t, 1); cfg.Limits.PerIPBurst = 10 })
	h.sends("null")
	h.ask("POST", "/api/turn", `{"kind":"look"}`, asJSON)
	h.ask("POST", "/api/new", `{"state":null}`, asJSON)
	if m := h.player.moves; len(m) != 3 || string(m[0].State) != "null" || m[1].State != nil || m[2].State != nil {
		t.Errorf("the engine gets %+v", m)
	}
}

func TestRejectedStateIsSealedToo(t *testing.T) {
	h := newHouse(t, sealing(newBox(t, 1)))
	h.replies(`{"ok":false,"error":"そこへは行けない","state":`, `{"secret":1}`, `}`)
	h.player.reply.Rejected = true
	if got := h.ask("POST", "/api/new", ""); got.StatusCode != 422 || strings.Contains(bodyOf(t, got), "secret") {
		t.Errorf("answer %d with the state in the open", got.StatusCode)
	}
}

// What was not sealed here is refused before it costs anything, and the engine
// never sees it.
func TestBrokenSealsTakeNoToken(t *testing.T) {
	sealed := string(newBox(t, 1).AppendSealed(nil, []byte(`{"gold":1}`)))
	changed := []byte(sealed)
	changed[len(changed)/2] ^= 1
	for _, row := range []struct{ name, state string }{
		{"a state in the open", `{"gold":1000000}`},
		{"a list", `[]`},
		{"a number", `0`},
		{"false", `false`},
		{"an empty string", `""`},
		{"another string", `"港"`},
		{"a state in a string", `"{\"gold\":1000000}"`},
		{"a changed one", `"` + string(changed) + `"`},
		{"half of one", `"` + sealed[:len(sealed)/2] + `"`},
		{"one in an object", `{"state":"` + sealed + `"}`},
		{"another server's", `"` + string(newBox(t, 2).AppendSealed(nil, []byte(`{"gold":1}`))) + `"`},
		{"a seal over nothing, of the right length", `"k1.` + strings.Repeat("A", len(sealed)-3) + `"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock stands still
				h := newHouse(t, sealing(newBox(t, 1)))
				for range 3 { // more often than the bucket has tokens
					answer := h.sends(row.state)
					said(t, answer, 400, "bad_state")
					if answer.Header.Get("RateLimit") != "" {
						t.Error("the limiter was asked")
					}
				}
				if len(h.player.moves) != 0 {
					t.Errorf("the engine gets %+v", h.player.moves)
				}
				if answer := h.sends(`"` + sealed + `"`); answer.StatusCode != 200 || answer.Header.Get("RateLimit") != `"ip";r=1;t=1` {
					t.Errorf("afterwards the true one got %d and %s", answer.StatusCode, answer.Header.Get("RateLimit"))
				}
			})
		})
	}
	t.Run("what is wrong otherwise is said first", func(t *testing.T) {
		h := newHouse(t, sealing(newBox(t, 1)))
		for body, says := range map[string]string{
			`{"kind":"dance","state":1}`:            "unknown kind",
			`{"state":1}`:                           `"kind" is missing`,
			`{"kind":"look","state":1,"inptu":""}`:  "unknown field",
			`{"kind":"look","state":{"a":1,"a":2}}`: "stands twice",
			`{"kind":"say","state":1,"input":"\n"}`: "control character",
		} {
			if text := said(t, h.ask("POST", "/api/turn", body, asJSON), 400, "bad_request"); !strings.Contains(text, says) {
				t.Errorf("%s: %q, want it to say %q", body, text, says)
			}
		}
		said(t, h.ask("POST", "/api/new", `{"state":"`+sealed+`"}`, asJSON), 400, "bad_request")
	})
}

// A browser, or a program between, may write a string in another way.
func TestEscapedSealOpens(t *testing.T) {
	box := newBox(t, 1)
	h := newHouse(t, sealing(box))
	sealed := string(box.AppendSealed(nil, []byte("{}")))
	if answer := h.sends(`"\u006b` + sealed[1:] + `"`); answer.StatusCode != 200 || string(h.player.moves[0].State) != "{}" {
		t.Errorf("answer %d", answer.StatusCode)
	}
}

// Of a body's bytes a sealed state leaves three quarters to the engine. A larger
// one meets the limit on its way back, as one in the open does that fills the body.
func TestHowLargeASealedStateMayBe(t *testing.T) {
	for _, row := range []struct{ bytes, status int }{{47_000, 200}, {50_000, 413}} {
		h := newHouse(t, sealing(newBox(t, 1)))
		h.replies(`{"state":`, `"`+strings.Repeat("x", row.bytes-2)+`"`, `}`)
		var reply struct{ State json.RawMessage }
		if err := json.Unmarshal([]byte(bodyOf(t, h.ask("POST", "/api/new", ""))), &reply); err != nil {
			t.Fatal(err)
		}
		if answer := h.sends(string(reply.State)); answer.StatusCode != row.status {
			t.Errorf("a state of %d bytes is %d when sealed and meets %d, want %d", row.bytes, len(reply.State), answer.StatusCode, row.status)
		}
	}
}

func TestKeysAreRotatedWithoutLosingAGame(t *testing.T) {
	before, both, after := newBox(t, 1), newBox(t, 2, 1), newBox(t, 2)
	sealedBy := func(box *seal.Box) string {
		var reply struct{ State json.RawMessage }
		h := newHouse(t, sealing(box))
		h.replies(`{"state":`, `{"a":1}`, `}`)
		if err := json.Unmarshal([]byte(bodyOf(t, h.ask("POST", "/api/new", ""))), &reply); err != nil {
			t.Fatal(err)
		}
		return string(reply.State)
	}
	for _, row := range []struct {
		made, sent *seal.Box
		status     int
	}{{before, both, 200}, {both, both, 200}, {both, after, 200}, {before, after, 400}, {both, before, 400}} {
		if got := newHouse(t, sealing(row.sent)).sends(sealedBy(row.made)); got.StatusCode != row.status {
			t.Errorf("status %d, want %d", got.StatusCode, row.status)
		}
	}
}

// Whatever an engine's line is and wherever its state stands: only the state's
// bytes are replaced, and what opens again is those bytes.
func FuzzSplice(f *testing.F) {
	for _, row := range lines {
		f.Add(row.before, row.state, row.after)
	}
	f.Fuzz(func(t *testing.T, before, state, after string) {
		box := newBox(t, 1)
		h := newHouse(t, sealing(box))
		h.replies(before, state, after)
		got := string(h.sealed(h.player.reply))
		if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) || len(got) < len(before)+len(after) {
			t.Fatalf("%q %q %q became %q", before, state, after, got)
		}
		value := got[len(before) : len(got)-len(after)]
		if state == "" || state == "null" {
			if value != state {
				t.Errorf("no state became %q", value)
			}
			return
		}
		if opened, err := h.opened([]byte(value)); err != nil || string(opened) != state {
			t.Errorf("%q came back as %q, %v", state, opened, err)
		}
		if json.Valid([]byte(before+state+after)) && json.Valid([]byte(before+"0"+after)) && !json.Valid([]byte(got)) {
			t.Errorf("%q is JSON no longer", got)
		}
	})
}

// Anything that a player sends where states are sealed: either it was sealed here,
// or the engine does not see it.
func FuzzForeignState(f *testing.F) {
	box := newBox(f, 1)
	sealed := string(box.AppendSealed(nil, []byte(`{"a":1}`)))
	for _, seed := range []string{`{"a":1}`, `null`, `"k1."`, `"` + sealed + `"`, `"` + sealed[:30] + `"`, `["` + sealed + `"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		h := newHouse(t, sealing(box))
		h.sends(string(state))
		for _, m := range h.player.moves {
			if m.State != nil && string(m.State) != "null" && string(m.State) != `{"a":1}` {
				t.Fatalf("%q reached the engine as %q", state, m.State)
			}
		}
	})
}

func BenchmarkTurnSealed(b *testing.B) {
	for _, box := range []*seal.Box{nil, newBox(b, 1)} {
		h := newHouse(&testing.T{}, func(cfg *Config) {
			cfg.Seal = box
			cfg.Limits.PerIPPerSec, cfg.Limits.PerIPBurst = 1e9, 1e9
			cfg.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
		})
		state := `["` + strings.Repeat(`x","`, 1023) + `"]`
		h.replies(`{"id":1,"ok":true,"text":"霧","state":`, state, `,"end":false}`)
		var reply struct{ State json.RawMessage }
		if err := json.Unmarshal(h.sealed(h.player.reply), &reply); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("sealed %v", box != nil), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.player.moves = h.player.moves[:0]
				if answer := h.sends(string(reply.State)); answer.StatusCode != 200 {
					b.Fatal(answer.StatusCode)
				}
			}
		})
	}
}
