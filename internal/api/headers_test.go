package api

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"kiribashiri/internal/simbridge"
)

// guarded claims that no browser can frame an answer, guess its type, or run
// anything because of it, and that one of the API is a JSON object and nothing else.
func guarded(t *testing.T, path string, answer *http.Response) {
	t.Helper()
	api := strings.HasPrefix(path, "/api/")
	for _, f := range securityFields {
		want := f.value
		if api && f.name == "Content-Security-Policy" {
			want = apiPolicy
		}
		if got := answer.Header.Values(f.name); !slices.Equal(got, want) {
			t.Errorf("%s %d: %s: %q, want once %q", path, answer.StatusCode, f.name, got, want)
		}
	}
	for name := range answer.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s %d: %s, and no origin is listed", path, answer.StatusCode, name)
		}
	}
	body := bodyOf(t, answer)
	if answer.StatusCode == http.StatusNotModified || answer.StatusCode == http.StatusNoContent {
		if body != "" {
			t.Errorf("%s %d: a body %q", path, answer.StatusCode, body)
		}
		return
	}
	media, parameters, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || strings.HasPrefix(media, "text/") && parameters["charset"] != "utf-8" {
		t.Errorf("%s %d: Content-Type %q", path, answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	if !api {
		return
	}
	var object map[string]any
	if media != "application/json" || body != "" && (json.Unmarshal([]byte(body), &object) != nil || object == nil) {
		t.Errorf("%s %d: %s %q, want a JSON object", path, answer.StatusCode, media, body)
	}
	if answer.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %d: Cache-Control %q", path, answer.StatusCode, answer.Header.Get("Cache-Control"))
	}
}

// What the headers say is a promise to players, and changes only on purpose.
func TestSecurityHeaders(t *testing.T) {
	h := newHouse(t, nil)
	for path, policy := range map[string]string{
		"/": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; " +
			"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"/api/health": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
	} {
		header := h.ask("GET", path, "").Header
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", path, name, got, want)
			}
		}
		for _, feature := range []string{"camera=()", "microphone=()", "geolocation=()", "payment=()", "usb=()"} {
			if got := header.Get("Permissions-Policy"); !strings.Contains(got, feature) {
				t.Errorf("%s: Permissions-Policy %q lacks %s", path, got, feature)
			}
		}
	}
}

// Every row of the table of errors is brought about, on the API and where it can be
// on a page. A row that nobody brings about here fails the test, so that a new one
// is thought of.
func TestEveryErrorIsGuarded(t *testing.T) {
	fails := func(err error) func(*house) {
		return func(h *house) { h.player.err = err }
	}
	type request struct {
		prepare            func(*house)
		method, path, body string
		fields             []string
	}
	turn := func(prepare func(*house), body string) request {
		return request{prepare, "POST", "/api/turn", body, []string{asJSON}}
	}
	const look = `{"kind":"look"}`
	stranger := []string{"Origin: https://stranger.example", "Sec-Fetch-Site: cross-site", asJSON}
	for _, row := range statuses {
		ways := map[string][]request{
			"not_found":              {{nil, "GET", "/api/<script>", "", nil}, {nil, "GET", "/<script>alert(1)</script>", "", nil}},
			"method_not_allowed":     {{nil, "PUT", "/api/turn", look, nil}, {nil, "POST", "/", "<b>", nil}, {nil, "BREW", "/token-bucket", "", nil}},
			"cross_origin":           {{nil, "POST", "/api/turn", look, stranger}},
			"unsupported_media_type": {{nil, "POST", "/api/turn", look, []string{"Content-Type: text/html"}}},
			"too_large":              {turn(nil, strings.Repeat("<", 70_000))},
			"bad_request":            {turn(nil, `{"<script>alert(1)</script>":1}`), {nil, "POST", "/api/token-bucket", `<`, []string{asJSON}}},
			"bad_state":              {turn(nil, `{"kind":"look","state":"<script>"}`)},
			"invalid_input":          {{nil, "POST", "/api/token-bucket", `{"capacity":"<b>"}`, []string{asJSON}}},
			"rate_limited":           {turn(func(h *house) { h.ask("POST", "/api/new", ""); h.ask("POST", "/api/new", "") }, look)},
			"engine_down":            {turn(fails(simbridge.ErrEngineDown), look)},
			"queue_full":             {turn(fails(simbridge.ErrQueueFull), look)},
			"poison_move":            {turn(fails(simbridge.ErrPoisonMove), look)},
			"engine_failed":          {turn(fails(simbridge.ErrEngineFailed), look)},
			"engine_timeout":         {turn(fails(simbridge.ErrEngineTimeout), look)},
			"client_left":            {turn(fails(context.Canceled), look)},
			"internal":               {turn(fails(fmt.Errorf("<script>")), look), turn(func(h *house) { h.player.panic = "<script>" }, look)},
		}[row.code]
		if len(ways) == 0 {
			t.Errorf("nothing here brings about %s", row.code)
		}
		for _, r := range ways {
			h := newHouse(t, sealing(newBox(t, 1)))
			if r.prepare != nil {
				r.prepare(h)
			}
			answer := askUnlessCut(h, r.method, r.path, r.body, r.fields...)
			if row.status == statusClientLeft {
				if answer != nil {
					t.Errorf("%s: answered with %d", row.code, answer.StatusCode)
				}
				continue
			}
			if answer.StatusCode != row.status {
				t.Errorf("%s: %s %s: status %d, want %d", row.code, r.method, r.path, answer.StatusCode, row.status)
			}
			guarded(t, r.path, answer)
		}
	}
}

// askUnlessCut returns no answer where the connection is cut instead.
func askUnlessCut(h *house, method, path, body string, fields ...string) (answer *http.Response) {
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler {
			panic(v)
		}
	}()
	return h.ask(method, path, body, fields...)
}

// Every route under every method, and what is neither an error nor a success.
func TestEveryAnswerIsGuarded(t *testing.T) {
	h := newHouse(t, func(cfg *Config) { cfg.Limits.PerIPPerSec, cfg.Limits.PerIPBurst = 1e6, 1e6 })
	paths := []string{"/", "/nope", "/api/", "/api/nope", "/assets/nope", "/metrics", "//", "/%2e%2e/", "/token-bucket?capacity=%3Cscript%3E"}
	for path := range h.routes {
		paths = append(paths, path)
	}
	seen := make(map[int]bool)
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			for _, fields := range [][]string{nil, {asJSON}, {"Origin: null", "Sec-Fetch-Site: cross-site"}, {"Origin: https://friend.example", "Access-Control-Request-Method: POST"}} {
				answer := h.ask(method, path, "{}", fields...)
				seen[answer.StatusCode] = true
				guarded(t, path, answer)
			}
		}
	}
	for _, path := range []string{"/", "/token-bucket"} {
		again := h.ask("GET", path, "", "If-None-Match: "+h.ask("GET", path, "").Header.Get("Etag"))
		seen[again.StatusCode] = true
		guarded(t, path, again)
	}
	h.player.down = true
	down := h.ask("GET", "/api/health", "")
	seen[down.StatusCode] = true
	guarded(t, "/api/health", down)
	h.player.reply.Line, h.player.reply.Rejected = []byte(`{"ok":false,"error":"<img src=x onerror=alert(1)>"}`), true
	rejected := h.ask("POST", "/api/turn", `{"kind":"look"}`, asJSON)
	seen[rejected.StatusCode] = true
	guarded(t, "/api/turn", rejected)
	for _, want := range []int{200, 304, 400, 403, 404, 405, 415, 422, 503} {
		if !seen[want] {
			t.Errorf("no answer of status %d was looked at", want)
		}
	}
}
