package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kiribashiri/internal/advsim"
	"kiribashiri/internal/api"
	"kiribashiri/internal/limits"
	"kiribashiri/internal/simbridge"
	"kiribashiri/internal/static"
)

// An engine is the built-in one at the end of two pipes, for a server in a bubble.
type engine struct {
	mu  sync.Mutex // one move after the other
	in  io.Writer
	out *json.Decoder
}

func startEngine(t *testing.T) *engine {
	moves, in := io.Pipe()
	out, replies := io.Pipe()
	go advsim.Main([]string{"serve"}, moves, replies, io.Discard) // until in is closed
	t.Cleanup(func() { in.Close() })
	return &engine{in: in, out: json.NewDecoder(out)}
}

func (e *engine) Play(_ context.Context, m simbridge.Move) (simbridge.Reply, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	line, err := json.Marshal(map[string]any{"id": 1, "kind": m.Kind, "input": m.Input, "state": json.RawMessage(m.State)})
	if err != nil {
		return simbridge.Reply{}, err
	}
	if _, err := e.in.Write(append(line, '\n')); err != nil {
		return simbridge.Reply{}, err
	}
	var reply json.RawMessage
	if err := e.out.Decode(&reply); err != nil {
		return simbridge.Reply{}, err
	}
	return simbridge.Reply{Line: reply, Rejected: strings.Contains(string(reply), `"ok":false`)}, nil
}

func (e *engine) Status() simbridge.Status { return simbridge.Status{} }

// A visit is one request that the server in the bubble took in.
type visit struct {
	from   string
	at     time.Time
	status int
}

// realServer is the project's own server, from its routes to the limiter, but with
// its engine, its clients and its time in the bubble. delay is how long a request
// takes to it, and an answer back.
func realServer(t *testing.T, delay func() time.Duration) (c *client, visits func() []visit) {
	t.Helper()
	lim := limits.Default()
	site, err := static.New(fstest.MapFS{"index.html": {Data: []byte("<p>")}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := api.New(api.Config{
		Limits: lim, Kinds: []string{"look", "move", "say"}, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Player: startEngine(t), Limiter: newLimiter(t, lim.PerIPPerSec, lim.PerIPBurst), Site: site, Log: slog.New(slog.DiscardHandler),
	}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []visit
	c = clientOver(func(r *http.Request) (*http.Response, error) {
		time.Sleep(delay())
		w := httptest.NewRecorder()
		r.RemoteAddr = "127.0.0.1:1"
		at := time.Now()
		server.ServeHTTP(w, r)
		mu.Lock()
		all = append(all, visit{r.Header.Get("X-Forwarded-For"), at, w.Code})
		mu.Unlock()
		time.Sleep(delay())
		return w.Result(), nil
	})
	return c, func() []visit { return all }
}

func upTo(most time.Duration) func() time.Duration {
	var mu sync.Mutex
	draw := rand.New(rand.NewPCG(1, 2))
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(draw.Int64N(int64(most)))
	}
}

// within claims that in no stretch of T seconds more than 2 + 2·T moves of one
// client came through.
func within(t *testing.T, visits []visit) {
	t.Helper()
	accepted := map[string][]time.Time{}
	for _, v := range visits {
		if v.status == http.StatusOK {
			accepted[v.from] = append(accepted[v.from], v.at)
		}
	}
	for from, times := range accepted {
		for i := range times {
			for j := i; j < len(times); j++ {
				if n, most := float64(j-i+1), 2+2*times[j].Sub(times[i]).Seconds(); n > most+1e-9 {
					t.Fatalf("%q: %v moves in %v", from, n, times[j].Sub(times[i]))
				}
			}
		}
	}
}

// clean claims that all went well.
func clean(t *testing.T, s summary) {
	t.Helper()
	if len(s.Refused) != 0 || len(s.Errors) != 0 || s.GaveUp != 0 || s.NotLegal != 0 || s.Interrupted || s.bad() {
		t.Errorf("%+v, want no refusal, no error and nothing that is not legal", s)
	}
}

func TestSixPlayersEachUnderAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, visits := realServer(t, upTo(20*time.Millisecond))
		c := crowd{client: client, players: 6, length: 10 * time.Minute, forwarded: true, seed: 1}
		s := c.play(t.Context(), io.Discard, false)
		clean(t, s)
		within(t, visits())
		if s.Fewest < 1100 || s.Most > 1202 || s.Moves != int64(len(visits())) || s.Compared < s.Moves/50 {
			t.Errorf("%+v, want about 1150 moves a player, and some compared", s)
		}
	})
}

func TestSixPlayersUnderOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, visits := realServer(t, upTo(20*time.Millisecond))
		c := crowd{client: client, players: 6, length: 10 * time.Minute, seed: 1}
		s := c.play(t.Context(), io.Discard, false)
		clean(t, s)
		within(t, visits())
		if s.Moves < 1100 || s.Moves > 1202 || s.Most-s.Fewest > 1 {
			t.Errorf("%+v, want about 1150 moves, equally many by each", s)
		}
	})
}

// Two crowds that know nothing of each other under one address: refusals are
// waited out, and both go on.
func TestTwoCrowdsUnderOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, visits := realServer(t, upTo(20*time.Millisecond))
		var both [2]summary
		var playing sync.WaitGroup
		for i := range both {
			playing.Go(func() {
				c := crowd{client: client, players: 3, length: 10 * time.Minute, seed: uint64(i)}
				both[i] = c.play(t.Context(), io.Discard, false)
			})
		}
		playing.Wait()
		within(t, visits())
		for _, s := range both {
			if s.bad() || s.Refused["rate_limited"] == 0 || s.Fewest == 0 {
				t.Errorf("%+v, want refusals, and moves by all", s)
			}
		}
	})
}

// One move in twenty is made twice, so that where no two states are alike there is
// still something to compare with.
func TestMovesAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := map[string]int{}
		c := crowd{players: 1, length: 10 * time.Minute, seed: 1, client: clientOver(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			if states[string(body)] == 0 {
				states[string(body)] = len(states) + 1
			}
			return response(200, fmt.Sprintf(`{"text":"","state":%d}`, states[string(body)])), nil
		})}
		s := c.play(t.Context(), io.Discard, false)
		clean(t, s)
		if share := float64(s.Compared) / float64(s.Moves); share < 0.03 || share > 0.07 {
			t.Errorf("%d of %d replies were compared, want a twentieth", s.Compared, s.Moves)
		}
	})
}

// With the same seed the same moves are made.
func TestSeed(t *testing.T) {
	moves := func(seed uint64) (all []string) {
		synctest.Test(t, func(t *testing.T) {
			client, _ := realServer(t, func() time.Duration { return time.Millisecond })
			inner := client.http.Transport
			client.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(r.Body)
				all = append(all, string(body))
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				return inner.RoundTrip(r)
			})
			c := crowd{client: client, players: 1, length: time.Minute, seed: seed}
			clean(t, c.play(t.Context(), io.Discard, false))
		})
		return all
	}
	one, again, other := fmt.Sprint(moves(1)), fmt.Sprint(moves(1)), fmt.Sprint(moves(2))
	if one != again {
		t.Error("one seed, two games")
	}
	if one == strings.ReplaceAll(other, "player-2-", "player-1-") {
		t.Error("two seeds, one game")
	}
}

// fast is an answer of a server whose limit nobody meets.
func fast(body string) *http.Response {
	return response(200, body, "RateLimit-Policy", `"ip";q=1000;w=1`)
}

// In an open loop a server that stalls for 10 of 40 seconds is charged for every
// move that was due meanwhile, however few players there are to be kept waiting.
func TestOpenLoopOmitsNothing(t *testing.T) {
	for _, players := range []int{1, 5, 500} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			c := crowd{players: players, length: 40 * time.Second, rate: 10, forwarded: true, client: clientOver(func(*http.Request) (*http.Response, error) {
				if gone := time.Since(begin); gone >= 20*time.Second && gone < 30*time.Second {
					time.Sleep(30*time.Second - gone)
				}
				return fast(goodReply), nil
			})}
			s := c.play(t.Context(), io.Discard, false)
			// Of 400 moves 100 were due in the stall and waited for its end: 10 s to 100 ms.
			near := func(got, want float64) bool { return got > want*0.99-150 && got < want*1.01+150 }
			l := s.Latency
			if s.Due != 400 || s.Moves != 400 || s.Missed != 0 || l.From != "due" || !near(l.P50, 0) || !near(l.P90, 6000) || !near(l.P99, 9600) || !near(l.Max, 10000) {
				t.Errorf("%d players: %+v", players, s)
			}
		})
	}
}

// In a closed loop the same stall is one slow move a player.
func TestClosedLoopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c := crowd{players: 1, length: 40 * time.Second, client: clientOver(func(*http.Request) (*http.Response, error) {
			if gone := time.Since(begin); gone >= 20*time.Second && gone < 30*time.Second {
				time.Sleep(30*time.Second - gone)
			}
			return response(200, goodReply), nil
		})}
		s := c.play(t.Context(), io.Discard, false)
		if l := s.Latency; l.From != "sent" || l.P90 > 1 || l.Max < 9900 {
			t.Errorf("%+v", s)
		}
	})
}

// A server that never comes back does not look quick: what was due and never begun
// counts with the time that it had waited.
func TestOpenLoopMissedMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c := crowd{players: 2, length: 20 * time.Second, rate: 10, forwarded: true, client: clientOver(func(r *http.Request) (*http.Response, error) {
			if time.Since(begin) >= 10*time.Second {
				return silent(r)
			}
			return fast(goodReply), nil
		})}
		s := c.play(t.Context(), io.Discard, false)
		// The run ends at 30 s, and 5 s later the two requests under way are given up.
		if s.Due != 200 || s.Moves != 100 || s.Missed != 98 || s.Unfinished != 2 || s.Seconds != 35 || s.Latency.P90 < 20000 || s.Latency.Max < 24000 {
			t.Errorf("%+v", s)
		}
	})
}

// Moves are due when they are due, however long each takes.
func TestOpenLoopKeepsItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var n atomic.Int64
		c := crowd{players: 100, length: 10 * time.Second, rate: 7, forwarded: true, client: clientOver(func(*http.Request) (*http.Response, error) {
			i := n.Add(1) - 1
			if got, want := time.Since(begin), time.Duration(float64(i)/7*float64(time.Second)); got != want {
				t.Errorf("move %d after %v, want %v", i, got, want)
			}
			time.Sleep(3 * time.Second)
			return fast(goodReply), nil
		})}
		if s := c.play(t.Context(), io.Discard, false); s.Due != 70 || s.Moves != 70 || s.Latency.P50 < 2990 || s.Latency.P50 > 3010 {
			t.Errorf("%+v", s)
		}
	})
}

// What goes wrong is counted by its kind, and the play goes on.
func TestErrorsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		c := crowd{players: 1, length: 10 * time.Minute, client: clientOver(func(*http.Request) (*http.Response, error) {
			switch n.Add(1) {
			case 3:
				return refusing("rate_limited", "1")()
			case 4:
				return refusing("queue_full", "1")()
			case 6:
				return answers(502, `{"ok":false,"code":"engine_failed","error":"no"}`)()
			case 7:
				return lost()
			case 9:
				return answers(422, `{"ok":false,"code":"poison_move","error":"no"}`)()
			}
			return response(200, goodReply), nil
		})}
		s := c.play(t.Context(), io.Discard, false)
		want := summary{
			Loop: "closed", Players: 1, Seconds: 600, Moves: s.Moves, Fewest: s.Moves, Most: s.Moves,
			Refused: map[string]int64{"rate_limited": 1, "queue_full": 1},
			Errors:  map[string]int64{"502 engine_failed": 1, "lost connection": 1, "422 poison_move": 1},
			GaveUp:  1, Compared: s.Compared, Latency: s.Latency,
		}
		if got := fmt.Sprintf("%+v", s); got != fmt.Sprintf("%+v", want) || s.Moves < 1100 || !s.bad() {
			t.Errorf("got  %+v\nwant %+v", s, want)
		}
	})
}

// A server that is away, or gives out nothing but errors, is asked no more often
// than one that is well.
func TestABrokenServerIsNotFlooded(t *testing.T) {
	for name, answer := range map[string]func() (*http.Response, error){
		"lost": lost, "404": answers(404, ""), "500": answers(500, ""), "422": answers(422, `{"ok":false}`), "no reply": answers(200, "hello"),
	} {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int64
			c := crowd{players: 3, length: time.Minute, client: clientOver(func(*http.Request) (*http.Response, error) {
				n.Add(1)
				return answer()
			})}
			s := c.play(t.Context(), io.Discard, false)
			if n.Load() > 122 || s.Moves != 0 || !s.bad() {
				t.Errorf("%s: %d requests in a minute: %+v", name, n.Load(), s)
			}
		})
	}
}

// A server that gives one player's reply to another is found out.
func TestRepliesOfOthersAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := realServer(t, func() time.Duration { return time.Millisecond })
		inner := client.http.Transport
		var last []byte
		var n int
		var mu sync.Mutex
		client.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
			answer, err := inner.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			body, _ := io.ReadAll(answer.Body)
			if n++; n%50 == 0 {
				body, last = last, body // one behind
			} else {
				last = body
			}
			answer.Body = io.NopCloser(strings.NewReader(string(body)))
			return answer, nil
		})
		c := crowd{client: client, players: 6, length: 2 * time.Minute, forwarded: true, seed: 1}
		s := c.play(t.Context(), io.Discard, false)
		if s.NotLegal == 0 || len(s.Shown) == 0 || len(s.Shown) > maxShown || !s.bad() {
			t.Errorf("%+v, want replies that are not legal", s)
		}
	})
}

// A state of the server's own that it then rejects is not legal either.
func TestARejectedStateIsNotLegal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd{players: 1, length: 10 * time.Second, client: clientOver(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/new") {
				return response(200, goodReply), nil
			}
			return response(422, `{"ok":false,"code":"bad_state","error":"no"}`), nil
		})}
		if s := c.play(t.Context(), io.Discard, false); s.NotLegal < 5 || s.Moves < 5 || s.GaveUp != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// An interrupted run ends soon and says what it has come to.
func TestInterruptedRun(t *testing.T) {
	for _, rate := range []float64{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10100*time.Millisecond, func() { cancel(errors.New("interrupt")) })
			c := crowd{players: 2, length: time.Hour, rate: rate, forwarded: true, client: clientOver(func(r *http.Request) (*http.Response, error) {
				if time.Since(begin) > 9*time.Second {
					return silent(r)
				}
				return response(200, goodReply), nil
			})}
			s := c.play(ctx, io.Discard, false)
			if !s.Interrupted || s.Seconds != 15.1 || s.Unfinished != 2 || s.Moves < 10 || s.bad() {
				t.Errorf("%+v", s)
			}
			if rate > 0 && (s.Due != 21 || s.Moves+s.Unfinished+s.Missed != s.Due) {
				t.Errorf("%+v, want 21 moves due until the interrupt", s)
			}
		})
	}
}

// The whole program against the real server, by the arguments of the README.
func TestCrowdOnTheRealServer(t *testing.T) {
	server := startServer(t)
	got := play(t, "", "-url", server, "-players", "6", "-for", "2s", "-forwarded", "-seed", "7", "-json")
	got.ends(t, exitOK, "6 players for 2s, seed 7")
	var s summary
	if err := json.Unmarshal([]byte(got.stdout), &s); err != nil {
		t.Fatal(err)
	}
	clean(t, s)
	if s.Players != 6 || s.Seed != 7 || s.Fewest < 2 || s.Most > 6 {
		t.Errorf("%+v", s)
	}
	play(t, "", "-url", server, "-players", "3", "-for", "1s", "-rate", "2").ends(t, exitOK, "open loop", "p99", "not legal 0")
}

// Ctrl-C on the program itself.
func TestInterruptedProgram(t *testing.T) {
	played := make(chan struct{}, 100)
	server := toldServer(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, goodReply)
		played <- struct{}{}
	})
	cmd := exec.Command(os.Args[0], "-url", server, "-players", "2", "-for", "1h", "-json")
	cmd.Env = append(os.Environ(), playerVariable+"=1", "GORACE=atexit_sleep_ms=0")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-played
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	var s summary
	if err := json.Unmarshal([]byte(stdout.String()), &s); err != nil || !s.Interrupted || s.Moves < 2 {
		t.Errorf("%v: %s", err, stdout.String())
	}
}
