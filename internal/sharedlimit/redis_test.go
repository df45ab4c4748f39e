package sharedlimit

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
)

// missing ends a test that needs a program which is not there: where every check has
// to run it fails, elsewhere it is skipped.
func missing(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// A redis is a real server.
type redis struct {
	t      *testing.T
	port   string
	args   []string
	env    []string
	folder string
	cmd    *exec.Cmd
}

// startRedis starts a server with nothing kept on disk.
func startRedis(t *testing.T, args ...string) *redis {
	t.Helper()
	r := &redis{t: t, port: freePort(t), args: args, folder: t.TempDir()}
	r.start()
	return r
}

func (r *redis) start() {
	r.t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		missing(r.t, err)
	}
	r.cmd = exec.Command(path, append([]string{"--port", r.port, "--bind", "127.0.0.1", "--save", "", "--dir", r.folder}, r.args...)...)
	r.cmd.Env = append(os.Environ(), r.env...)
	var out bytes.Buffer
	r.cmd.Stdout = &out
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	cmd := r.cmd
	r.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	eventually(r.t, "Redis answers", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+r.port)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
}

func (r *redis) kill() {
	r.cmd.Process.Kill()
	r.cmd.Wait()
}

func (r *redis) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// say has the server do one command, and returns its answer but for arrays.
func (r *redis) say(words ...string) string {
	r.t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+r.port)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	answer, err := talk(conn, bufio.NewReader(conn), words...)
	if err != nil {
		r.t.Fatalf("%q: %v", words, err)
	}
	return answer
}

func talk(w io.Writer, in *bufio.Reader, words ...string) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return "", err
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	switch line[0] {
	case '$':
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", err
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(in, body)
		return string(body[:n]), err
	case '-':
		return "", fmt.Errorf("%s", line)
	}
	return line[1:], nil
}

// scripts returns how many scripts the server has been asked to run.
func (r *redis) scripts() int {
	n := 0
	for _, m := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`).FindAllStringSubmatch(r.say("INFO", "commandstats"), -1) {
		calls, _ := strconv.Atoi(m[1])
		n += calls
	}
	return n
}

// startRedisWithClock starts a server whose wall clock set sets off by seconds.
func startRedisWithClock(t *testing.T) (r *redis, set func(seconds int64)) {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		missing(t, err)
	}
	r = &redis{t: t, port: freePort(t), folder: t.TempDir()}
	clock, file := filepath.Join(r.folder, "clock.so"), filepath.Join(r.folder, "clock")
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", clock, "testdata/clock.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	set = func(seconds int64) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644) // the same file: it is mapped
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := binary.Write(f, binary.NativeEndian, seconds); err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	r.env = []string{"LD_PRELOAD=" + clock, "CLOCK_FILE=" + file}
	r.start()
	return r, set
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s still not: %s", what)
		}
	}
}

// A log is what a server has written.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A server is one of a fleet: its limiter, running.
type server struct {
	*Limiter
	log  *log
	stop func() // and wait
}

// patience is what a wait is too long at most.
const patience = 20 * time.Second

// patient is for tests of what is decided, on machines that are slow to answer.
func patient(perSecond, burst float64) limits.Limits {
	lim := limits.Default()
	lim.PerIPPerSec, lim.PerIPBurst = perSecond, burst
	lim.StoreTime, lim.StoreDial, lim.StorePause = patience, patience, 10*time.Millisecond
	return lim
}

// startServer returns a server that does not necessarily have its store yet.
func startServer(t *testing.T, url string, lim limits.Limits) *server {
	t.Helper()
	var store Store
	if err := store.UnmarshalText([]byte(url)); err != nil {
		t.Fatal(err)
	}
	local, err := ratelimit.New(ratelimit.Config{PerSecond: lim.PerIPPerSec, Burst: lim.PerIPBurst, Clients: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{log: new(log)}
	s.Limiter, err = New(Config{Limits: lim, Store: store, Local: local, Log: slog.New(slog.NewTextHandler(s.log, nil))}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := withCancel(t)
	ended := make(chan struct{})
	go func() { // ends with ctx
		defer close(ended)
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	s.stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(s.stop)
	return s
}

// joined starts servers and waits until each has its store.
func joined(t *testing.T, n int, url string, lim limits.Limits) []*server {
	t.Helper()
	fleet := make([]*server, n)
	for i := range fleet {
		fleet[i] = startServer(t, url, lim)
		fleet[i].joins(t)
	}
	return fleet
}

func (s *server) isUp() bool { return testutil.ToFloat64(s.up) == 1 && s.store.Load() != nil }

func (s *server) joins(t *testing.T) {
	t.Helper()
	eventually(t, "the server has its store", s.isUp)
}

func (s *server) count(o outcome) int { return int(testutil.ToFloat64(s.decisions[o])) }

// saw claims what came of the server's questions.
func (s *server) saw(t *testing.T, want map[outcome]int) {
	t.Helper()
	for o := range s.decisions {
		if got := s.count(o); got != want[o] {
			t.Errorf("%s: %d moves, want %d", o, got, want[o])
		}
	}
}

// said claims how often the log has a text.
func (s *server) said(t *testing.T, text string, times int) {
	t.Helper()
	if got := strings.Count(s.log.String(), text); got != times {
		t.Errorf("the log says %d times %q, want %d:\n%s", got, text, times, s.log)
	}
}

var (
	alice = netip.MustParseAddr("192.0.2.1")
	bob   = netip.MustParseAddr("2001:db8::1")
)

func allows(t *testing.T, s *server, client netip.Addr, n int) {
	t.Helper()
	for i := range n {
		if d := s.Take(client); !d.Allowed() {
			t.Fatalf("move %d of %d: refused for %v, want allowed", i+1, n, d.Wait)
		}
	}
}

// refuses claims that the next move is refused, for no longer than most.
func refuses(t *testing.T, s *server, client netip.Addr, most time.Duration) {
	t.Helper()
	if d := s.Take(client); d.Allowed() || d.Wait > most || d.Next != d.Wait || d.Remaining != 0 {
		t.Fatalf("%+v, want a refusal for at most %v", d, most)
	}
}
