package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
	t        testing.TB
	player   *fakePlayer
	log      *bytes.Buffer
	registry *prometheus.Registry
}

func newHouse(t testing.TB, change func(*Config)) *house {
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

// What players say and carry is theirs: of a move that goes well, is refused or is
// rejected, the log has neither.
func TestLogHoldsNoStory(t *testing.T) {
	for _, row := range []struct {
		body  string
		reply simbridge.Reply
		err   error
	}{
		{`{"kind":"say","input":"ひみつ","state":{"a":"ないしょ"}}`, simbridge.Reply{Line: []byte(engineLine)}, nil},
		{`{"kind":"say","input":"ひみつ","state":{"a":"ないしょ"}}`, simbridge.Reply{Line: []byte(`{"ok":false,"error":"ないしょ"}`), Rejected: true}, nil},
		{`{"kind":"say","input":"ひみつ","state":{"a":"ないしょ"}}`, simbridge.Reply{}, simbridge.ErrEngineFailed},
		{`{"kind":"say","input":"ひみつ\n","state":{"a":"ないしょ"}}`, simbridge.Reply{}, nil},
		{`{"kind":"say","input":"ひみつ","state":{"a":"ないしょ"`, simbridge.Reply{}, nil},
	} {
		h := newHouse(t, nil)
		h.player.reply, h.player.err = row.reply, row.err
		h.ask("POST", "/api/turn", row.body, asJSON)
		if log := h.log.String(); !strings.Contains(log, `"route":"turn"`) || strings.Contains(log, "ひみつ") || strings.Contains(log, "ないしょ") {
			t.Errorf("%s: the log says %s", row.body, log)
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
