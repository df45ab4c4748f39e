package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
	"kiribashiri/internal/simbridge"
	"kiribashiri/internal/static"
)

// A fakePlayer answers moves as a test says and keeps them.
type fakePlayer struct {
	mu    sync.Mutex
	reply simbridge.Reply
	err   error
	panic any
	moves []simbridge.Move
	down  bool
}

func (p *fakePlayer) Play(ctx context.Context, m simbridge.Move) (simbridge.Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moves = append(p.moves, m)
	if p.panic != nil {
		panic(p.panic)
	}
	return p.reply, p.err
}

func (p *fakePlayer) Status() simbridge.Status {
	s := simbridge.Status{Engines: 2, Up: 1, Waiting: 3, States: map[string]int{"idle": 1, "starting": 1}, Starts: map[string]uint64{"boot": 2, "exit": 1}}
	if p.down {
		s.Up = 0
	}
	return s
}

const engineLine = `{"id":1,"ok":true,"text":"霧","state":{"a":1}}`

// house is a server with a fake player and a log that can be read.
type house struct {
	*Server
	t        *testing.T
	player   *fakePlayer
	log      *bytes.Buffer
	registry *prometheus.Registry
}

func newHouse(t *testing.T, change func(*Config)) *house {
	t.Helper()
	h := &house{
		t:        t,
		player:   &fakePlayer{reply: simbridge.Reply{Line: []byte(engineLine)}},
		log:      new(bytes.Buffer),
		registry: prometheus.NewPedanticRegistry(),
	}
	site, err := static.New(fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Limits:  limits.Default(),
		Kinds:   []string{"look", "move", "say"},
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		Player:  h.player,
		Site:    site,
		Version: "v1.2.3",
		Log:     slog.New(slog.NewJSONHandler(h.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	cfg.Limiter, err = ratelimit.New(ratelimit.Config{
		PerSecond: cfg.Limits.PerIPPerSec, Burst: cfg.Limits.PerIPBurst, Clients: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	if h.Server, err = New(cfg, h.registry); err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends one request from 203.0.113.5. Fields are "Name: value".
func (h *house) ask(method, path, body string, fields ...string) *http.Response {
	h.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, in)
	r.RemoteAddr = "203.0.113.5:4000"
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

const asJSON = "Content-Type: application/json"

func bodyOf(t *testing.T, answer *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// said claims that an answer has a status and a code, in the contract's shape.
func said(t *testing.T, answer *http.Response, status int, code string) string {
	t.Helper()
	body := bodyOf(t, answer)
	if answer.StatusCode != status {
		t.Errorf("status %d, want %d: %s", answer.StatusCode, status, body)
	}
	var e struct {
		OK    *bool
		Code  string
		Error string
	}
	in := json.NewDecoder(strings.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&e); err != nil || e.OK == nil || *e.OK || e.Code != code || e.Error == "" {
		t.Errorf("body %s, want ok false, code %s and an error", body, code)
	}
	for name, want := range map[string]string{"Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store"} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	return e.Error
}

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
		{"nothing", turn(""), 400, "bad_request", ""},
		{"not JSON", turn(`{"kind":`), 400, "bad_request", "not valid JSON"},
		{"an array", turn(`["look"]`), 400, "bad_request", "must be a JSON object"},
		{"null", turn(`null`), 400, "bad_request", "must be a JSON object"},
		{"a second value", turn(`{"kind":"look"} {}`), 400, "bad_request", "not valid JSON"},
		{"an unknown field", turn(`{"kind":"look","inptu":"a"}`), 400, "bad_request", `unknown field "inptu"`},
		{"a field in other letters", turn(`{"Kind":"look"}`), 400, "bad_request", `unknown field "Kind"`},
		{"a field twice", turn(`{"kind":"look","kind":"say"}`), 400, "bad_request", `"kind" stands twice`},
		{"a field twice, once escaped", turn(`{"kind":"look","k\u0069nd":"say"}`), 400, "bad_request", "stands twice"},
		{"a name twice inside the state", turn(`{"kind":"look","state":{"a":[{"b":1,"b":2}]}}`), 400, "bad_request", `"b" stands twice`},
		{"invalid UTF-8", turn("{\"kind\":\"say\",\"input\":\"\xff\"}"), 400, "bad_request", "UTF-8"},
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

// What the bridge says, and what the client is told of it. Details are for the log.
func TestPlayersErrors(t *testing.T) {
	detail := errors.New("pid 4711 in /srv/secret")
	for _, row := range []struct {
		err    error
		status int
		code   string
		retry  string
	}{
		{simbridge.ErrEngineDown, 503, "engine_down", "1"},
		{simbridge.ErrQueueFull, 429, "queue_full", "1"},
		{simbridge.ErrPoisonMove, 422, "poison_move", ""},
		{fmt.Errorf("%w: %w", simbridge.ErrEngineFailed, detail), 502, "engine_failed", ""},
		{fmt.Errorf("%w: %w", simbridge.ErrEngineTimeout, detail), 504, "engine_timeout", ""},
		{detail, 500, "internal", ""},
	} {
		t.Run(row.code, func(t *testing.T) {
			h := newHouse(t, nil)
			h.player.err = row.err
			answer := h.ask("POST", "/api/turn", `{"kind":"look"}`, asJSON)
			if text := said(t, answer, row.status, row.code); strings.Contains(text, "secret") {
				t.Errorf("the client reads %q", text)
			}
			if got := answer.Header.Get("Retry-After"); got != row.retry {
				t.Errorf("Retry-After %q, want %q", got, row.retry)
			}
			if got := answer.Header.Get("RateLimit"); got != `"ip";r=1;t=1` {
				t.Errorf("RateLimit %q: the token is spent, and every answer says so", got)
			}
			if errors.Is(row.err, detail) && !strings.Contains(h.log.String(), "secret") {
				t.Errorf("the log does not explain: %s", h.log)
			}
			count := testutil.ToFloat64(h.metrics.requests.WithLabelValues("turn", fmt.Sprint(row.status), row.code))
			if count != 1 {
				t.Errorf("counted %v times, want once", count)
			}
		})
	}
}

// A client that has left is noted, and gets nothing, not even if it only closed
// its sending side.
func TestClientThatHasLeft(t *testing.T) {
	h := newHouse(t, nil)
	h.player.err = context.Canceled
	func() {
		defer func() {
			if got := recover(); got != http.ErrAbortHandler {
				t.Errorf("the handler ended with %v, want the connection cut", got)
			}
		}()
		h.ask("POST", "/api/turn", `{"kind":"look"}`, asJSON)
	}()
	if n := testutil.ToFloat64(h.metrics.requests.WithLabelValues("turn", "499", "client_left")); n != 1 {
		t.Errorf("counted %v times, want once", n)
	}
	if !strings.Contains(h.log.String(), `"status":499,"code":"client_left"`) {
		t.Errorf("the log does not say so: %s", h.log)
	}
}

func TestRejectedMoveKeepsTheEnginesBody(t *testing.T) {
	h := newHouse(t, nil)
	h.player.reply = simbridge.Reply{Line: []byte(`{"id":1,"ok":false,"error":"その記録は読めません"}`), Rejected: true}
	answer := h.ask("POST", "/api/turn", `{"kind":"look"}`, asJSON)
	if got := bodyOf(t, answer); answer.StatusCode != 422 || got != string(h.player.reply.Line) {
		t.Errorf("answer %d %s", answer.StatusCode, got)
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

func TestPanicIsAnInternalError(t *testing.T) {
	h := newHouse(t, nil)
	h.player.panic = "secret"
	if text := said(t, h.ask("POST", "/api/new", ""), 500, "internal"); strings.Contains(text, "secret") {
		t.Errorf("the client reads %q", text)
	}
	if log := h.log.String(); !strings.Contains(log, "secret") || !strings.Contains(log, "api.(*Server)") {
		t.Errorf("the log has no reason or no stack: %s", log)
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

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		time.Sleep(1500 * time.Millisecond)
		answer := h.ask("GET", "/api/health", "")
		want := `{"ok":true,"engines":2,"enginesUp":1,"waiting":3,"uptimeSeconds":1.5,"version":"v1.2.3"}`
		if got := bodyOf(t, answer); answer.StatusCode != 200 || got != want {
			t.Errorf("answer %d %s, want %s", answer.StatusCode, got, want)
		}
		h.player.down = true
		answer = h.ask("GET", "/api/health", "")
		want = `{"ok":false,"engines":2,"enginesUp":0,"waiting":3,"uptimeSeconds":1.5,"version":"v1.2.3"}`
		if got := bodyOf(t, answer); answer.StatusCode != 503 || got != want {
			t.Errorf("answer %d %s, want 503 %s", answer.StatusCode, got, want)
		}
	})
}

func TestPageStandsBesideTheAPI(t *testing.T) {
	h := newHouse(t, nil)
	if answer := h.ask("GET", "/", ""); answer.StatusCode != 200 || bodyOf(t, answer) != "<!doctype html>" {
		t.Errorf("the page: %d", answer.StatusCode)
	}
	for _, row := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/", 405}, {"GET", "/nope", 404}, {"GET", "//", 404}, {"GET", "/index.html", 404}, {"GET", "/assets/", 404}, {"GET", "/metrics", 404}, {"GET", "/debug/pprof/", 404},
	} {
		answer := h.ask(row.method, row.path, "")
		if answer.StatusCode != row.status || answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s %s: %d as %s, want %d as text", row.method, row.path, answer.StatusCode, answer.Header.Get("Content-Type"), row.status)
		}
	}
}

func TestSecurityHeadersOnEveryAnswer(t *testing.T) {
	h := newHouse(t, nil)
	h.player.err = errors.New("broken")
	for _, answer := range []*http.Response{
		h.ask("GET", "/", ""), h.ask("GET", "/nope", ""), h.ask("GET", "/api/nope", ""), h.ask("GET", "/api/health", ""),
		h.ask("POST", "/api/new", ""), h.ask("POST", "/api/turn", "{", asJSON), h.ask("PUT", "/", ""),
	} {
		for _, header := range securityHeaders {
			if got := answer.Header.Get(header[0]); got != header[1] {
				t.Errorf("%d: %s: %q", answer.StatusCode, header[0], got)
			}
		}
		if answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("an origin is allowed that nobody has listed")
		}
	}
}

func TestOrigins(t *testing.T) {
	const friend, stranger = "https://friend.example", "https://stranger.example"
	newGame := func(h *house, fields ...string) *http.Response { return h.ask("POST", "/api/new", "", fields...) }
	with := func(cfg *Config) { cfg.Origins = []string{friend} }

	t.Run("a listed origin reads every answer", func(t *testing.T) {
		h := newHouse(t, with)
		for _, answer := range []*http.Response{
			newGame(h, "Origin: "+friend, "Sec-Fetch-Site: cross-site"),
			h.ask("POST", "/api/turn", "{", asJSON, "Origin: "+friend, "Sec-Fetch-Site: cross-site"),
			h.ask("GET", "/api/nope", "", "Origin: "+friend),
			h.ask("GET", "/api/health", "", "Origin: "+friend),
		} {
			if answer.StatusCode == 403 {
				t.Error("refused")
			}
			for name, want := range map[string]string{
				"Access-Control-Allow-Origin":   friend,
				"Access-Control-Expose-Headers": "Retry-After, RateLimit, RateLimit-Policy",
				"Vary":                          "Origin",
				"Cross-Origin-Resource-Policy":  "cross-origin",
			} {
				if got := answer.Header.Get(name); got != want {
					t.Errorf("%d: %s: %q, want %q", answer.StatusCode, name, got, want)
				}
			}
		}
	})
	t.Run("a preflight spends no token", func(t *testing.T) {
		h := newHouse(t, with)
		for range 5 {
			answer := h.ask("OPTIONS", "/api/turn", "", "Origin: "+friend, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type")
			if answer.StatusCode != 204 || answer.Header.Get("Access-Control-Allow-Headers") != "Content-Type" ||
				answer.Header.Get("Access-Control-Allow-Methods") != "GET, POST" || answer.Header.Get("Access-Control-Allow-Origin") != friend {
				t.Errorf("preflight: %d %v", answer.StatusCode, answer.Header)
			}
		}
		if got := newGame(h).Header.Get("RateLimit"); got != `"ip";r=1;t=1` {
			t.Errorf("RateLimit after five preflights: %s", got)
		}
	})
	for _, row := range []struct {
		name   string
		fields []string
		status int
	}{
		{"a stranger's page", []string{"Origin: " + stranger, "Sec-Fetch-Site: cross-site"}, 403},
		{"a stranger's page in an old browser", []string{"Origin: " + stranger}, 403},
		{"a sibling of ours", []string{"Origin: https://other.example.com", "Sec-Fetch-Site: same-site"}, 403},
		{"a page without an origin", []string{"Origin: null", "Sec-Fetch-Site: cross-site"}, 403},
		{"the listed origin with another port", []string{"Origin: " + friend + ":8443", "Sec-Fetch-Site: cross-site"}, 403},
		{"our own page", []string{"Origin: http://example.com", "Sec-Fetch-Site: same-origin"}, 200},
		{"our own page in an old browser", []string{"Origin: http://example.com"}, 200},
		{"a program", nil, 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newHouse(t, with)
			answer := newGame(h, row.fields...)
			if answer.StatusCode != row.status || answer.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("status %d, allowed %q; want %d and none", answer.StatusCode, answer.Header.Get("Access-Control-Allow-Origin"), row.status)
			}
			if row.status == 403 {
				said(t, answer, 403, "cross_origin")
				if answer.Header.Get("RateLimit") != "" {
					t.Error("it took a token")
				}
			}
			if lost := h.ask("OPTIONS", "/api/nope", "", "Origin: "+friend, "Access-Control-Request-Method: POST"); lost.StatusCode != 404 {
				t.Errorf("a preflight of an unknown path: %d, want 404", lost.StatusCode)
			}
			preflight := h.ask("OPTIONS", "/api/new", "", append(row.fields, "Access-Control-Request-Method: POST")...)
			if preflight.StatusCode != 405 {
				t.Errorf("its preflight: %d, want 405", preflight.StatusCode)
			}
		})
	}
	if _, err := newOrigins([]string{"friend.example"}); err == nil || !strings.Contains(err.Error(), "friend.example") {
		t.Errorf("an origin without a scheme: %v, want an error that names it", err)
	}
}

func TestClientAddr(t *testing.T) {
	proxies := []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8"),
	}
	for _, row := range []struct {
		name, peer string
		lines      []string
		want       string
	}{
		{"nobody else named", "127.0.0.1:1", nil, "127.0.0.1"},
		{"one client", "127.0.0.1:1", []string{"1.2.3.4"}, "1.2.3.4"},
		{"an untrusted peer's word", "192.0.2.9:1", []string{"1.2.3.4"}, "192.0.2.9"},
		{"the right end counts", "127.0.0.1:1", []string{"1.2.3.4, 5.6.7.8"}, "5.6.7.8"},
		{"two lines are one list", "127.0.0.1:1", []string{"9.9.9.9", "203.0.113.5"}, "203.0.113.5"},
		{"a proxy is passed over", "127.0.0.1:1", []string{"6.6.6.6, 1.2.3.4, 10.0.0.9"}, "1.2.3.4"},
		{"proxies across lines", "127.0.0.1:1", []string{"6.6.6.6, 1.2.3.4", "10.0.0.9,127.0.0.1"}, "1.2.3.4"},
		{"garbage only", "127.0.0.1:1", []string{"junk"}, "127.0.0.1"},
		{"garbage further left", "127.0.0.1:1", []string{"junk, 5.6.7.8"}, "5.6.7.8"},
		{"garbage ends the walk", "127.0.0.1:1", []string{"6.6.6.6, junk, 10.0.0.9"}, "10.0.0.9"},
		{"an empty entry ends it", "127.0.0.1:1", []string{"6.6.6.6,,10.0.0.9"}, "10.0.0.9"},
		{"an empty line ends it", "127.0.0.1:1", []string{"6.6.6.6", ""}, "127.0.0.1"},
		{"only proxies", "127.0.0.1:1", []string{"10.0.0.1, 10.0.0.2"}, "10.0.0.1"},
		{"a port", "127.0.0.1:1", []string{"1.2.3.4:5555"}, "1.2.3.4"},
		{"IPv6 with a port", "127.0.0.1:1", []string{"[2001:db8::7]:443"}, "2001:db8::7"},
		{"IPv6", "[::1]:1", []string{"2001:db8::7"}, "2001:db8::7"},
		{"brackets without a port are no address", "127.0.0.1:1", []string{"[2001:db8::7]"}, "127.0.0.1"},
		{"mapped IPv4", "127.0.0.1:1", []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		{"a mapped proxy", "[::ffff:127.0.0.1]:1", []string{"::ffff:10.0.0.1"}, "10.0.0.1"},
		{"a zone", "[fe80::1%eth0]:1", nil, "fe80::1"},
		{"tabs and spaces", "127.0.0.1:1", []string{"\t 1.2.3.4 \t"}, "1.2.3.4"},
		{"a unix socket is ours", "@", []string{"1.2.3.4"}, "1.2.3.4"},
		{"a unix socket that names nobody", "@", nil, "invalid IP"},
		{"a unix socket that names garbage", "", []string{"junk"}, "invalid IP"},
		{"another 127 address", "127.0.0.2:1", []string{"1.2.3.4"}, "1.2.3.4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/api/turn", nil)
			r.RemoteAddr = row.peer
			r.Header["X-Forwarded-For"] = row.lines
			for _, name := range []string{"X-Real-Ip", "Forwarded", "True-Client-Ip", "Cf-Connecting-Ip"} {
				r.Header.Set(name, "6.6.6.6")
			}
			if got := clientAddr(r, proxies).String(); got != row.want {
				t.Errorf("client %s, want %s", got, row.want)
			}
		})
	}
}

// Whatever stands in the header: the client is the peer, or an address that stands
// in it, and never one left of an entry that no proxy of ours has written.
func FuzzClientAddr(f *testing.F) {
	f.Add("127.0.0.1:1", "6.6.6.6, 1.2.3.4, 10.0.0.9")
	f.Add("192.0.2.9:1", "1.2.3.4")
	f.Add("@", ",,[::1]:2,")
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, peer, line string) {
		r := httptest.NewRequest("POST", "/api/turn", nil)
		r.RemoteAddr = peer
		r.Header["X-Forwarded-For"] = []string{line}
		client := clientAddr(r, proxies)
		last := line[strings.LastIndex(line, ",")+1:]
		addr, ok := parseEntry(last)
		if from, err := netip.ParseAddrPort(peer); err == nil && !contains(proxies, from.Addr().Unmap()) {
			if client != from.Addr().Unmap().WithZone("") {
				t.Errorf("untrusted peer %s became %s", peer, client)
			}
		} else if ok && !contains(proxies, addr) && client != addr {
			t.Errorf("%q: client %s, want the right end", line, client)
		} else if !ok && err == nil && client != from.Addr().Unmap().WithZone("") {
			t.Errorf("%q: client %s, want the peer", line, client)
		}
	})
}

// Whatever a client sends as a move, the player gets something within the contract.
func FuzzMove(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"say","input":"船長に霧の話を聞く","state":{"a":[1,2.5e300,"\u2028"]},"browserId":"b"}`,
		`{"kind":"look"}`, `{}`, `{"kind":"say","kind":"say"}`, "{\"kind\":\"say\",\"state\":\"\xff\"}", `[[[[`, `{"kind":"say","input":"\ud800"}`, " {\n\"kind\":\"look\"}\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		h := newHouse(t, nil)
		answer := h.ask("POST", "/api/turn", string(body), asJSON)
		switch answer.StatusCode {
		case 200:
			m := h.player.moves[0]
			if !h.kinds[m.Kind] || m.Input != nil && len([]rune(*m.Input)) > 200 || m.State != nil && !json.Valid(m.State) {
				t.Errorf("%q became %+v", body, m)
			}
			if !json.Valid(body) {
				t.Errorf("%q was taken for JSON", body)
			}
		case 400, 413:
			if len(h.player.moves) != 0 {
				t.Error("refused, and played all the same")
			}
		default:
			t.Errorf("%q: status %d", body, answer.StatusCode)
		}
	})
}

func TestLogLinesAreBoundedAndPlain(t *testing.T) {
	h := newHouse(t, nil)
	h.ask("POST", "/api/turn", `{"kind":"look","browserId":"a\u202eb\u009bc\u007f\n霧"}`, asJSON)
	if got, want := h.log.String(), `"browser":"a�b�c��霧"`; !strings.Contains(got, want) {
		t.Errorf("the log says %s, want %s", got, want)
	}
	h.log.Reset()
	h.ask(strings.Repeat("M", 5000), "/"+strings.Repeat("x", 10_000), "")
	if got := h.log.Len(); got > 2000 {
		t.Errorf("a stranger's request made a log line of %d bytes", got)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// The names are other people's dashboards: they change only on purpose.
func TestMetricNames(t *testing.T) {
	h := newHouse(t, nil)
	h.ask("POST", "/api/new", "")
	h.ask("GET", "/wp-login.php", "")
	h.ask("GET", "/another/wrong/path", "")
	families, err := h.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, family := range families {
		fmt.Fprintf(&got, "%s %s", family.GetName(), strings.ToLower(family.GetType().String()))
		for _, label := range family.GetMetric()[0].GetLabel() {
			fmt.Fprintf(&got, " %s", label.GetName())
		}
		fmt.Fprintf(&got, "\n\t%s\n", family.GetHelp())
	}
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the metrics are\n%swant\n%s", got.String(), want)
	}
	if problems, err := testutil.GatherAndLint(h.registry); err != nil || len(problems) != 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	if n := testutil.ToFloat64(h.metrics.requests.WithLabelValues("other", "404", "not_found")); n != 2 {
		t.Errorf("two unknown paths are counted as %v under other", n)
	}
}

func TestAdmin(t *testing.T) {
	h := newHouse(t, nil)
	admin := Admin(h.registry)
	for path, status := range map[string]int{"/metrics": 200, "/debug/pprof/": 200, "/debug/pprof/cmdline": 200, "/": 404, "/api/turn": 404} {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
	}
}

func BenchmarkTurn(b *testing.B) {
	h := newHouse(&testing.T{}, func(cfg *Config) {
		cfg.Limits.PerIPPerSec, cfg.Limits.PerIPBurst = 1e9, 1e9
		cfg.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	})
	for _, size := range []int{100, 8000} {
		b.Run(fmt.Sprintf("state of %d bytes", size), func(b *testing.B) {
			body := `{"kind":"say","input":"船長に霧の話を聞く","state":{"a":["` + strings.Repeat(`x","`, size/4) + `"]}}`
			b.ReportAllocs()
			for b.Loop() {
				h.player.moves = h.player.moves[:0]
				if answer := h.ask("POST", "/api/turn", body, asJSON); answer.StatusCode != 200 {
					b.Fatal(answer.StatusCode)
				}
			}
		})
	}
}
