package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kiribashiri/internal/api"
	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
	"kiribashiri/internal/simbridge"
	"kiribashiri/internal/static"
	"kiribashiri/web"
)

// The connections of strangers: a server with short limits in front of a player
// who takes his time.
type slowPlayer time.Duration

func (p slowPlayer) Play(ctx context.Context, _ simbridge.Move) (simbridge.Reply, error) {
	select {
	case <-time.After(time.Duration(p)):
		return simbridge.Reply{Line: []byte(`{"ok":true}`)}, nil
	case <-ctx.Done():
		return simbridge.Reply{}, ctx.Err()
	}
}

func (slowPlayer) Status() simbridge.Status { return simbridge.Status{Engines: 1, Up: 1} }

// impatient serves with limits of half a second and returns its address.
func impatient(t *testing.T) string {
	t.Helper()
	lim := limits.Default()
	lim.PerIPPerSec, lim.PerIPBurst = 1000, 1000
	lim.HeaderTime, lim.RequestTime, lim.IdleTime = 500*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	openFront(t, l, lim, slowPlayer(1500*time.Millisecond))
	return l.Addr().String()
}

// openFront has a front of its own, with the game behind it, serve l until the test ends.
func openFront(t *testing.T, l net.Listener, lim limits.Limits, player api.Player) *front {
	t.Helper()
	f := newFront(gameFor(t, lim, player), lim.Conns, lim, quiet())
	var serving sync.WaitGroup
	serving.Go(func() { f.serve(l) })
	t.Cleanup(func() {
		f.server.Close()
		serving.Wait()
	})
	return f
}

// gameFor returns what answers a player's requests.
func gameFor(t testing.TB, lim limits.Limits, player api.Player) http.Handler {
	t.Helper()
	limiter, err := ratelimit.New(ratelimit.Config{PerSecond: lim.PerIPPerSec, Burst: lim.PerIPBurst, Clients: 10})
	if err != nil {
		t.Fatal(err)
	}
	site, err := static.New(web.Files)
	if err != nil {
		t.Fatal(err)
	}
	game, err := api.New(api.Config{
		Limits: lim, Kinds: []string{"look", "say"}, Proxies: []netip.Prefix{}, Player: player, Limiter: limiter, Site: site, Log: quiet(),
	}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return game
}

// quiet is a log of nothing.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestSlowConnectionsAreEnded(t *testing.T) {
	for _, row := range []struct{ name, sends, says string }{
		{"nothing at all", "", ""},
		{"half a header", "POST /api/turn HTTP/1.1\r\nHost: x\r\n", ""},
		{"half a body", "POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", "400 Bad Request"},
		{"no body for a path that is none", "POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", "404 Not Found"},
		{"nothing more after a good request", "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK"},
		{"a header that is too large", "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431 Request Header Fields Too Large"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", impatient(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, row.sends)
			conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			got, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the connection is never ended")
			}
			if !strings.Contains(string(got), row.says) {
				t.Errorf("it says %q, want %q", got, row.says)
			}
		})
	}
}

// The limit of a request's arrival does not count the engine's thinking.
func TestMoveMayThinkLongerThanARequestMayArrive(t *testing.T) {
	for _, body := range []string{"", `{"kind":"new"}`} {
		got, err := http.Post("http://"+impatient(t)+"/api/new", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != 200 {
			t.Errorf("body %q: status %d", body, got.StatusCode)
		}
	}
}
