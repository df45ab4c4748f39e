package api

import (
	"net/http"
	"strings"
	"testing"
)

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
