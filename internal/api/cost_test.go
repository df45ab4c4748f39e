package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"kiribashiri/internal/simbridge"
)

// An unread is where an answer goes that nobody reads.
type unread struct{ header http.Header }

func (u *unread) Header() http.Header              { return u.header }
func (u *unread) WriteHeader(int)                  {}
func (u *unread) Write(p []byte) (int, error)      { return len(p), nil }
func (u *unread) SetReadDeadline(time.Time) error  { return nil }
func (u *unread) SetWriteDeadline(time.Time) error { return nil }

// What a move and a refusal cost in memory, all checks, headers, metrics and the log
// line included. It may become less. The race detector makes it a little more.
func TestAllocationsOfAMove(t *testing.T) {
	for _, row := range []struct {
		name string
		rate float64
		most float64
	}{
		{"played", 1e9, 36},
		{"refused", 1e-9, 43},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newHouse(t, func(cfg *Config) {
				cfg.Limits.PerIPPerSec, cfg.Limits.PerIPBurst = row.rate, max(1, row.rate)
				cfg.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
				cfg.Player = quick{cfg.Player}
			})
			body := strings.NewReader("")
			r, err := http.NewRequest("POST", "/api/turn", body)
			if err != nil {
				t.Fatal(err)
			}
			r.RemoteAddr = "203.0.113.5:4000"
			r.Header.Set("Content-Type", "application/json")
			r.Body = io.NopCloser(body)
			w := &unread{make(http.Header)}
			move := `{"kind":"say","input":"船長に霧の話を聞く","state":{"a":["` + strings.Repeat(`x","`, 2000) + `"]},"browserId":"b-3f"}`
			got := testing.AllocsPerRun(500, func() {
				clear(w.header)
				body.Reset(move)
				h.ServeHTTP(w, r)
			})
			t.Logf("%.0f allocations", got)
			if got > row.most {
				t.Errorf("%.0f allocations, want at most %.0f", got, row.most)
			}
		})
	}
}

// quick is a player that keeps nothing.
type quick struct{ Player }

func (quick) Play(context.Context, simbridge.Move) (simbridge.Reply, error) {
	return simbridge.Reply{Line: []byte(engineLine)}, nil
}
