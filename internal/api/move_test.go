package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMove(t *testing.T) {
	h := newHouse(t, nil)
	answer := h.ask("POST", "/api/turn", `{"kind":"say","input":"船長に霧の話を聞く","state":{ "x" : [1, 2] },"browserId":"b-3f"}`, asJSON)
	if got := bodyOf(t, answer); answer.StatusCode != 200 || got != engineLine {
		t.Errorf("answer %d %s, want the engine's line as it came", answer.StatusCode, got)
	}
	for name, want := range map[string]string{
		"Content-Type":     "application/json; charset=utf-8",
		"Cache-Control":    "no-store",
		"RateLimit":        `"ip";r=1;t=1`,
		"RateLimit-Policy": `"ip";q=2;w=1`,
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	m := h.player.moves[0]
	if m.Kind != "say" || *m.Input != "船長に霧の話を聞く" || string(m.State) != `{ "x" : [1, 2] }` {
		t.Errorf("the player got %+v", m)
	}
	var line map[string]any
	if err := json.Unmarshal(h.log.Bytes(), &line); err != nil {
		t.Fatalf("the log has not one line a request: %v\n%s", err, h.log)
	}
	for name, want := range map[string]any{
		"msg": "request", "method": "POST", "route": "turn", "status": 200.0, "code": "ok", "client": "203.0.113.5/32", "kind": "say", "browser": "b-3f",
	} {
		if line[name] != want {
			t.Errorf("log: %s is %v, want %v", name, line[name], want)
		}
	}
}

// What a move may look like, and what the player then gets.
func TestAcceptedMoves(t *testing.T) {
	for _, row := range []struct {
		name, path, body string
		fields           []string
		want             string // kind, input, state
	}{
		{"all of it", "/api/turn", `{"kind":"say","input":"a","state":{"b":1},"browserId":"c"}`, []string{asJSON}, `say "a" {"b":1}`},
		{"only a kind", "/api/turn", `{"kind":"look"}`, []string{asJSON}, `look - `},
		{"nulls are as absent", "/api/turn", `{"kind":"look","input":null,"browserId":null}`, []string{asJSON}, `look - `},
		{"a null state is handed on", "/api/turn", `{"kind":"look","state":null}`, []string{asJSON}, `look - null`},
		{"any state", "/api/turn", `{"kind":"look","state":[1,"\u0000",{}]}`, []string{asJSON}, `look - [1,"\u0000",{}]`},
		{"an empty input", "/api/turn", `{"kind":"say","input":""}`, []string{asJSON}, `say "" `},
		{"an escaped kind", "/api/turn", `{"k\u0069nd":"s\u0061y"}`, []string{asJSON}, `say - `},
		{"200 characters", "/api/turn", `{"kind":"say","input":"` + strings.Repeat("霧", 200) + `"}`, []string{asJSON}, `say "` + strings.Repeat("霧", 200) + `" `},
		{"200 characters outside the BMP", "/api/turn", `{"kind":"say","input":"` + strings.Repeat(`\ud83c\udf00`, 200) + `"}`, []string{asJSON}, `say "` + strings.Repeat("🌀", 200) + `" `},
		{"64 characters of browserId", "/api/turn", `{"kind":"look","browserId":"` + strings.Repeat("霧", 64) + `"}`, []string{asJSON}, `look - `},
		{"64 levels", "/api/turn", `{"kind":"look","state":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, []string{asJSON}, `look - ` + strings.Repeat("[", 63) + strings.Repeat("]", 63)},
		{"brackets in a string", "/api/turn", `{"kind":"say","input":"` + strings.Repeat(`[{\"`, 50) + `"}`, []string{asJSON}, `say "` + strings.Repeat(`[{\"`, 50) + `" `},
		{"space around it", "/api/turn", " \r\n\t{\"kind\":\"look\"}\n", []string{asJSON}, `look - `},
		{"a charset", "/api/turn", `{"kind":"look"}`, []string{"Content-Type: application/json; charset=UTF-8"}, `look - `},
		{"capitals in the media type", "/api/turn", `{"kind":"look"}`, []string{"Content-Type: Application/JSON"}, `look - `},
		{"a new game without a body", "/api/new", ``, nil, `new - `},
		{"a new game without a body but a media type", "/api/new", ``, []string{"Content-Type: text/plain"}, `new - `},
		{"an empty object", "/api/new", `{}`, []string{asJSON}, `new - `},
		{"a new game by its name", "/api/new", `{"kind":"new","state":null,"input":"x","browserId":"b"}`, []string{asJSON}, `new "x" `},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newHouse(t, nil)
			answer := h.ask("POST", row.path, row.body, row.fields...)
			if answer.StatusCode != 200 {
				t.Fatalf("status %d: %s", answer.StatusCode, bodyOf(t, answer))
			}
			m := h.player.moves[0]
			input := "-"
			if m.Input != nil {
				input = fmt.Sprintf("%q", *m.Input)
			}
			if got := fmt.Sprintf("%s %s %s", m.Kind, input, m.State); got != row.want {
				t.Errorf("the player got %s, want %s", got, row.want)
			}
		})
	}
}

// Each row is refused before the limiter is asked: it takes no token.
func TestRefusedMovesTakeNoToken(t *testing.T) {
	turn := func(body string) func(*house) *http.Response {
		return func(h *house) *http.Response { return h.ask("POST", "/api/turn", body, asJSON) }
	}
	for _, row := range []struct {
		name   string
		ask    func(*house) *http.Response
		status int
		code   string
		says   string
	}{
		{"no such path", func(h *house) *http.Response { return h.ask("POST", "/api/nope", "{", asJSON) }, 404, "not_found", ""},
		{"a path below", func(h *house) *http.Response { return h.ask("POST", "/api/turn/", `{"kind":"look"}`, asJSON) }, 404, "not_found", ""},
		{"a path in other letters", func(h *house) *http.Response { return h.ask("POST", "/api/Turn", `{"kind":"look"}`, asJSON) }, 404, "not_found", ""},
		{"an escaped path", func(h *house) *http.Response { return h.ask("POST", "/api/%74urn", `{"kind":"look"}`, asJSON) }, 404, "not_found", ""},
		{"a path that climbs", func(h *house) *http.Response { return h.ask("POST", "/api/../api/turn", `{"kind":"look"}`, asJSON) }, 404, "not_found", ""},
		{"GET of a move", func(h *house) *http.Response { return h.ask("GET", "/api/turn", "") }, 405, "method_not_allowed", ""},
		{"HEAD of a move", func(h *house) *http.Response { return h.ask("HEAD", "/api/new", "") }, 405, "method_not_allowed", ""},
		{"POST of the health", func(h *house) *http.Response { return h.ask("POST", "/api/health", "") }, 405, "method_not_allowed", ""},
		{"OPTIONS without CORS", func(h *house) *http.Response { return h.ask("OPTIONS", "/api/turn", "") }, 405, "method_not_allowed", ""},
		{"no media type", func(h *house) *http.Response { return h.ask("POST", "/api/turn", `{"kind":"look"}`) }, 415, "unsupported_media_type", ""},
		{"another media type", func(h *house) *http.Response {
			return h.ask("POST", "/api/turn", `{"kind":"look"}`, "Content-Type: text/plain")
		}, 415, "unsupported_media_type", ""},
		{"another charset", func(h *house) *http.Response {
			return h.ask("POST", "/api/turn", `{"kind":"look"}`, "Content-Type: application/json; charset=shift_jis")
		}, 415, "unsupported_media_type", ""},
		{"a new game with a body of no media type", func(h *house) *http.Response { return h.ask("POST", "/api/new", `{}`) }, 415, "unsupported_media_type", ""},
		{"media type before size", func(h *house) *http.Response { return h.ask("POST", "/api/turn", strings.Repeat("x", 70_000)) }, 415, "unsupported_media_type", ""},
		{"65537 bytes", turn(`{"kind":"look","state":"` + strings.Repeat("x", 65537-26) + `"}`), 413, "too_large", ""},
		{"size before shape", turn(strings.Repeat("x", 70_000)), 413, "too_large", ""},
		{"nothing", turn(""), 400, "bad_request", "the body is empty"},
		{"not JSON", turn(`{"kind":`), 400, "bad_request", "not valid JSON"},
		{"an array", turn(`["look"]`), 400, "bad_request", "must be a JSON object"},
		{"null", turn(`null`), 400, "bad_request", "must be a JSON object"},
		{"a second value", turn(`{"kind":"look"} {}`), 400, "bad_request", "not valid JSON"},
		{"an unknown field", turn(`{"kind":"look","inptu":"a"}`), 400, "bad_request", `unknown field "inptu"`},
		{"a field in other letters", turn(`{"Kind":"look"}`), 400, "bad_request", `unknown field "Kind"`},
		{"a field twice", turn(`{"kind":"look","kind":"say"}`), 400, "bad_request", `"kind" stands twice`},
		{"a field twice, once escaped", turn(`{"kind":"look","k\u0069nd":"say"}`), 400, "bad_request", "stands twice"},
		{"a name twice inside the state", turn(`{"kind":"look","state":{"a":[{"b":1,"b":2}]}}`), 400, "bad_request", `"b" stands twice`},
		{"invalid UTF-8", turn("{\"kind\":\"say\",\"input\":\"\xff\"}"), 400, "bad_request", "not UTF-8 at byte 23"},
		{"invalid UTF-8 inside the state", turn("{\"kind\":\"say\",\"state\":[\"\xe9\"]}"), 400, "bad_request", "UTF-8"},
		{"a lone surrogate", turn(`{"kind":"say","input":"\ud800"}`), 400, "bad_request", ""},
		{"a lone surrogate inside the state", turn(`{"kind":"say","state":{"a":"\udc00"}}`), 400, "bad_request", ""},
		{"65 levels", turn(`{"kind":"look","state":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`), 400, "bad_request", "deeper than 64"},
		{"20000 levels", turn(`{"kind":"look","state":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`), 400, "bad_request", ""},
		{"no kind", turn(`{"input":"a"}`), 400, "bad_request", `"kind" is missing`},
		{"a kind that is no string", turn(`{"kind":1}`), 400, "bad_request", `"kind" must be a string`},
		{"a kind that is null", turn(`{"kind":null}`), 400, "bad_request", `"kind" must be a string`},
		{"an empty kind", turn(`{"kind":""}`), 400, "bad_request", `"kind" is empty`},
		{"an unknown kind", turn(`{"kind":"dance"}`), 400, "bad_request", `unknown kind "dance", known are: look, move, say`},
		{"the server's own kinds", turn(`{"kind":"ping"}`), 400, "bad_request", "unknown kind"},
		{"a new game as a turn", turn(`{"kind":"new"}`), 400, "bad_request", "unknown kind"},
		{"an input that is no string", turn(`{"kind":"say","input":["a"]}`), 400, "bad_request", `"input" must be a string`},
		{"201 characters", turn(`{"kind":"say","input":"` + strings.Repeat("霧", 201) + `"}`), 400, "bad_request", "longer than 200"},
		{"a control character", turn(`{"kind":"say","input":"a\u0000"}`), 400, "bad_request", "control character"},
		{"a line break", turn(`{"kind":"say","input":"a\nb"}`), 400, "bad_request", "control character"},
		{"DEL", turn("{\"kind\":\"say\",\"input\":\"\x7f\"}"), 400, "bad_request", "control character"},
		{"65 characters of browserId", turn(`{"kind":"look","browserId":"` + strings.Repeat("b", 65) + `"}`), 400, "bad_request", "longer than 64"},
		{"a browserId that is no string", turn(`{"kind":"look","browserId":{}}`), 400, "bad_request", `"browserId" must be a string`},
		{"a new game of another kind", func(h *house) *http.Response { return h.ask("POST", "/api/new", `{"kind":"say"}`, asJSON) }, 400, "bad_request", `must be "new"`},
		{"a new game of kind null", func(h *house) *http.Response { return h.ask("POST", "/api/new", `{"kind":null}`, asJSON) }, 400, "bad_request", "must be a string"},
		{"a new game with a state", func(h *house) *http.Response { return h.ask("POST", "/api/new", `{"state":{}}`, asJSON) }, 400, "bad_request", "a new game has none"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock stands still
				h := newHouse(t, nil)
				for range 3 { // more often than the bucket has tokens
					answer := row.ask(h)
					if text := said(t, answer, row.status, row.code); !strings.Contains(text, row.says) {
						t.Errorf("error %q, want it to say %q", text, row.says)
					}
					if answer.Header.Get("RateLimit") != "" {
						t.Error("the limiter was asked")
					}
					if row.status == 405 && answer.Header.Get("Allow") == "" {
						t.Error("405 without Allow")
					}
				}
				if len(h.player.moves) != 0 {
					t.Error("the player was asked")
				}
				if answer := h.ask("POST", "/api/new", ""); answer.StatusCode != 200 || answer.Header.Get("RateLimit") != `"ip";r=1;t=1` {
					t.Errorf("afterwards a good move got %d and %s", answer.StatusCode, answer.Header.Get("RateLimit"))
				}
			})
		})
	}
}

// Whoever announces a large body and does not send it costs no memory.
func TestAnnouncedBodyCostsNothing(t *testing.T) {
	h := newHouse(t, func(cfg *Config) { cfg.Limits.BodyBytes = 64 << 20 })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := httptest.NewRequest("POST", "/api/turn", strings.NewReader("{"))
	r.ContentLength = 64 << 20
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(httptest.NewRecorder(), r)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("one byte of 64 MiB took %d bytes of memory", took)
	}
}

// The rows of the limiter through the real handler.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		var statuses []string
		for range 10 {
			answer := h.ask("POST", "/api/turn", `{"kind":"look"}`, asJSON)
			statuses = append(statuses, fmt.Sprint(answer.StatusCode))
			if answer.StatusCode == 429 {
				if text := said(t, answer, 429, "rate_limited"); text != "rate limit: 2 turns/sec per IP" {
					t.Errorf("text %q", text)
				}
				if got := answer.Header.Get("Retry-After"); got != "1" {
					t.Errorf("Retry-After %q, want 1", got)
				}
				if got := answer.Header.Get("RateLimit"); got != `"ip";r=0;t=1` {
					t.Errorf("RateLimit %q", got)
				}
			}
		}
		if got, want := strings.Join(statuses, " "), "200 200 429 429 429 429 429 429 429 429"; got != want {
			t.Errorf("ten at once: %s, want %s", got, want)
		}
		time.Sleep(1200 * time.Millisecond)
		passed, asked := 0, 0
		for range 50 {
			if asked++; h.ask("POST", "/api/turn", `{"kind":"look"}`, asJSON).StatusCode == 200 {
				passed++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if passed < 11 || passed > 12 {
			t.Errorf("one each 100 ms for 5 s: %d of %d passed, want 11 or 12", passed, asked)
		}
	})
}

func TestRateInForceIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(cfg *Config) { cfg.Limits.PerIPPerSec, cfg.Limits.PerIPBurst = 0.4, 1 })
		h.ask("POST", "/api/new", "")
		answer := h.ask("POST", "/api/new", "")
		if text := said(t, answer, 429, "rate_limited"); text != "rate limit: 0.4 turns/sec per IP" {
			t.Errorf("text %q", text)
		}
		for name, want := range map[string]string{"Retry-After": "3", "RateLimit": `"ip";r=0;t=3`, "RateLimit-Policy": `"ip";q=1;w=3`} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	})
}

// Whatever the configuration, the field is one that a parser of structured fields reads.
func TestRatePolicy(t *testing.T) {
	for _, row := range []struct {
		perSecond, burst float64
		want             string
	}{
		{2, 2, `"ip";q=2;w=1`},
		{0.4, 2, `"ip";q=2;w=5`},
		{100, 10, `"ip";q=10;w=1`},
		{2, 2.5, `"ip";q=2;w=2`},
		{1e-300, 1e300, `"ip";q=999999999999999;w=999999999999999`},
	} {
		if got := ratePolicy(row.perSecond, row.burst); got != row.want {
			t.Errorf("%v a second, burst %v: %s, want %s", row.perSecond, row.burst, got, row.want)
		}
	}
}

// Whatever a client sends as a move: see gauntlet.runs.
func FuzzMove(f *testing.F) {
	for _, row := range hostile {
		if len(row.body) < 2000 {
			f.Add([]byte(row.body))
		}
	}
	f.Add([]byte(aMove))
	f.Add([]byte(`{"kind":"say","input":"船長に霧の話を聞く","state":{"a":[1,2.5e300,"\u2028"]},"browserId":"b"}`))
	g := newGauntlet()
	f.Fuzz(func(t *testing.T, body []byte) { g.runs(t, string(body)) })
}
