//go:build linux

package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var restarts = flag.Int("restarts", 0, "how often each run of TestRestarts restarts the server; 0 leaves the test out")

const (
	perSecond = 400  // requests, every other one a move
	leastSent = 8000 // requests of one run
	moveBytes = 4000 // of a move's body: a state is a few KB
)

// A way is how one server gives way to the next.
type way string

const (
	stopStart way = "stop, then start" // as systemctl restart does
	overlap   way = "start, then stop" // two servers on the one socket
	kill      way = "kill -9, then start"
)

// Requests keep coming while the server is restarted again and again, behind Caddy
// with the shipped Caddyfile and on a socket that is held as systemd holds one.
// None may be lost: each is answered in whole, with 200. Only kill -9 may cut a page.
func TestRestarts(t *testing.T) {
	if *restarts == 0 {
		t.Skip("without -restarts; .ci/run and .ci/long have it")
	}
	var mu sync.Mutex
	var rows []string
	t.Cleanup(func() {
		slices.Sort(rows)
		t.Logf("\n| Caddy, server | restarts | requests | lost | pages cut | moves played twice | p50 | p99 | longest |\n|---|---|---|---|---|---|---|---|---|\n%s", strings.Join(rows, "\n"))
	})
	for _, run := range []struct {
		name, caddy string
		retry       bool
		way         way
	}{
		{"2.6.2", "caddy", false, stopStart},
		{"2.6.2", "caddy", false, overlap},
		{"2.11", "caddy-2.11", false, stopStart},
		{"2.11", "caddy-2.11", false, overlap},
		{"2.11 with retry.caddy", "caddy-2.11", true, stopStart},
		{"2.11 with retry.caddy", "caddy-2.11", true, kill},
	} {
		name := fmt.Sprintf("%s, %s", run.name, run.way)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := found(t, run.caddy)
			s := openSocket(t)
			ring := newRing(t, s)
			first := ring.start()
			port, _ := startCaddy(t, path, s.addr, run.retry, nil)
			load := newLoad(t, "http://127.0.0.1:"+port)
			done := make(chan struct{})
			go func() { // ends once load is told to
				defer close(done)
				load.run()
			}()

			server, n := first, 0
			for ; n < *restarts || load.sentSoFar() < leastSent; n++ {
				server = ring.next(server, run.way)
				// Ordinary play, once what waited for the restart is answered. A machine
				// that is too busy for it goes on all the same.
				for patience := 300; patience > 0 && load.underWay() > perSecond/8; patience-- {
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(300 * time.Millisecond)
			}
			load.stop()
			<-done
			server.cmd.Process.Signal(syscall.SIGTERM)
			<-server.ended

			for _, failure := range load.failures[:min(len(load.failures), 10)] {
				t.Errorf("lost: %s", failure)
			}
			if load.cut > 0 && run.way != kill {
				t.Errorf("%d pages were cut", load.cut)
			}
			if load.cut > n/10 {
				t.Errorf("%d pages were cut by %d restarts, want hardly any", load.cut, n)
			}
			twice := ring.playedTwice()
			if twice > 0 && run.way != kill {
				t.Errorf("%d moves were played twice", twice)
			}
			row := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %v | %v | %v |", name, n, len(load.took)+len(load.failures)+load.cut, len(load.failures), load.cut, twice,
				load.quantile(0.5), load.quantile(0.99), load.quantile(1))
			mu.Lock()
			rows = append(rows, row)
			mu.Unlock()
		})
	}
}

// A ring is the servers that follow one another on a socket.
type ring struct {
	t      *testing.T
	socket socket
	states *net.UnixConn // what they tell systemd
	moves  string        // file of the lines that reached an engine
	sim    string
}

func newRing(t *testing.T, s socket) *ring {
	folder := t.TempDir()
	states, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(folder, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { states.Close() })
	moves := filepath.Join(folder, "moves")
	write(t, moves, "")
	return &ring{t, s, states, moves, fmt.Sprintf("sh -c 'tee -a %q | %q adv-sim serve'", moves, built(t))}
}

// start runs a server and returns it once it says that it is ready.
func (r *ring) start() *program {
	server := r.socket.serve(r.t, "NOTIFY_SOCKET="+r.states.LocalAddr().String(), "KIRI_SIM="+r.sim, "KIRI_LOG_LEVEL=warn",
		"KIRI_PER_IP_PER_SEC=1000000", "KIRI_PER_IP_BURST=1000000", "KIRI_QUEUE=10000")
	r.states.SetReadDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 1<<10)
	for {
		n, err := r.states.Read(b)
		if err != nil {
			r.t.Fatalf("no server gets ready: %v", err)
		}
		if string(b[:n]) == "READY=1" {
			return server
		}
	}
}

func (r *ring) next(server *program, w way) *program {
	switch w {
	case overlap:
		next := r.start()
		server.cmd.Process.Signal(syscall.SIGTERM)
		<-server.ended
		return next
	case kill:
		server.cmd.Process.Kill()
	default:
		server.cmd.Process.Signal(syscall.SIGTERM)
	}
	<-server.ended
	return r.start()
}

var moveNumber = regexp.MustCompile(`"input":"m\d+"`)

// playedTwice returns how many moves reached an engine more than once.
func (r *ring) playedTwice() int {
	times := map[string]int{}
	for _, move := range moveNumber.FindAllString(read(r.t, r.moves), -1) {
		times[move]++
	}
	twice := 0
	for _, n := range times {
		if n > 1 {
			twice++
		}
	}
	return twice
}

// A load is requests that come at their own pace, whether earlier ones have been
// answered or not.
type load struct {
	site   string
	state  []byte // of a new game
	client http.Client
	ended  chan struct{}

	mu       sync.Mutex
	sent     int
	took     []time.Duration
	failures []string
	cut      int // pages that ended in their middle
}

func newLoad(t *testing.T, site string) *load {
	l := &load{site: site, ended: make(chan struct{}), client: http.Client{
		Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1000},
	}}
	got, err := l.client.Post(site+"/api/new", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	var reply struct{ State json.RawMessage }
	if err := json.NewDecoder(got.Body).Decode(&reply); err != nil || len(reply.State) == 0 {
		t.Fatalf("a new game: %d %v", got.StatusCode, err)
	}
	l.state = reply.State
	return l
}

func (l *load) sentSoFar() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// underWay returns how many requests are still to be answered.
func (l *load) underWay() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent - len(l.took) - len(l.failures) - l.cut
}

func (l *load) stop() { close(l.ended) }

// run sends requests until it is stopped, and returns when all are answered.
func (l *load) run() {
	began := time.Now()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	for n := 0; ; {
		select {
		case <-ticker.C:
		case <-l.ended:
			return
		}
		due := int(time.Since(began).Seconds() * perSecond)
		for i := n; i < due; i++ {
			under.Go(func() { l.take(i) })
		}
		n = due
		l.mu.Lock()
		l.sent = n
		l.mu.Unlock()
	}
}

// take sends request n and notes what came of it.
func (l *load) take(n int) {
	began := time.Now()
	err := l.send(n)
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, errCutPage) {
		l.cut++
	} else if err != nil {
		l.failures = append(l.failures, fmt.Sprintf("request %d after %v: %v", n, time.Since(began), err))
	} else {
		l.took = append(l.took, time.Since(began))
	}
}

// errCutPage says that the page came and was not whole. It is longer than what the
// server hands to the system at once, so that a SIGKILL can fall in between, and what
// has been sent of an answer cannot be sent again. The reply to a move is shorter.
var errCutPage = errors.New("the page was cut")

// send sends request n. Every other one is a move, with spaces in its state for size.
func (l *load) send(n int) error {
	var got *http.Response
	var err error
	switch {
	case n%2 == 0:
		move := fmt.Appendf(nil, `{"kind":"say","input":"m%d","state":`, n)
		move = append(append(move, l.state[:len(l.state)-1]...), bytes.Repeat([]byte(" "), moveBytes-len(l.state))...)
		got, err = l.client.Post(l.site+"/api/turn", "application/json", bytes.NewReader(append(move, "}}"...)))
	case n%4 == 1:
		got, err = l.client.Get(l.site + "/")
	default:
		got, err = l.client.Get(l.site + "/api/health")
	}
	if err != nil {
		return err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) && got.Request.URL.Path == "/" {
		return errCutPage
	}
	if err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d %s", got.Request.Method, got.Request.URL.Path, got.StatusCode, body)
	}
	return nil
}

func (l *load) quantile(q float64) time.Duration {
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return l.took[int(q*float64(len(l.took)-1))].Round(100 * time.Microsecond)
}
