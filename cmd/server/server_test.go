package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

// The test binary is also the server and its engines: as a server where this
// variable is set, and as an engine where its first argument says so.
const serverVariable = "TEST_BINARY_SERVES"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "test-engine":
		testEngine()
	case len(os.Args) > 1 && os.Args[1] == engineCommand, os.Getenv(serverVariable) != "":
		main()
	default:
		os.Exit(m.Run())
	}
}

// testEngine is an engine that takes its time: its input says how long.
func testEngine() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var move struct {
			ID    uint64
			Input string
		}
		json.Unmarshal(line, &move)
		if move.Input == "spin" {
			for n := 0; ; n++ {
			}
		}
		d, _ := time.ParseDuration(move.Input)
		time.Sleep(d)
		fmt.Printf("{\"id\":%d,\"ok\":true,\"text\":\"%d\"}\n", move.ID, os.Getpid())
	}
}

// A running server: this test binary as a process of its own.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	url   string
	admin string
	log   *lockedBuffer
	ended chan error
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs a server on ports of its own and waits until its engine is up.
func start(t *testing.T, environ ...string) *running {
	t.Helper()
	s := &running{t: t, log: new(lockedBuffer), ended: make(chan error, 1)}
	addr, admin := freeAddr(t), freeAddr(t)
	s.url, s.admin = "http://"+addr, "http://"+admin
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), append([]string{
		serverVariable + "=1", "GORACE=atexit_sleep_ms=0", "KIRI_ADDR=" + addr, "KIRI_ADMIN_ADDR=" + admin,
	}, environ...)...)
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		if t.Failed() {
			t.Log(s.log)
		}
	})
	eventually(t, "the server is well", func() bool {
		answer, err := http.Get(s.url + "/api/health")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == 200
	})
	return s
}

func withTestEngine() string { return "KIRI_SIM='" + os.Args[0] + "' test-engine" }

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s still not: %s", what)
		}
	}
}

// An answer is what a test looks at of one.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

// post sends a move from client, whom the proxy on loopback vouches for.
func (s *running) post(path, client, body string) answer {
	r, err := http.NewRequest("POST", s.url+path, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Forwarded-For", client)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, string(text), err}
}

// say plays one move of the test engine and returns the answer's status and text.
func (s *running) say(client, input string) (int, string) {
	a := s.post("/api/turn", client, fmt.Sprintf(`{"kind":"say","input":%q}`, input))
	if a.err != nil {
		return 0, a.err.Error()
	}
	var body struct{ Text, Code string }
	json.Unmarshal([]byte(a.body), &body)
	return a.status, body.Text + body.Code
}

// exits claims how the server ends.
func (s *running) exits(want int) {
	s.t.Helper()
	select {
	case <-s.ended:
		if got := s.cmd.ProcessState.ExitCode(); got != want {
			s.t.Errorf("exit status %d (%v), want %d", got, s.cmd.ProcessState, want)
		}
	case <-time.After(30 * time.Second):
		s.t.Error("the server does not end")
	}
}

func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(state, []byte("Z"))
}

// endings says by which of the offered inputs the built-in story comes to each of
// its endings.
var endings = map[string]string{
	"霧の鐘": "harbor 霧の話を聞く hut ランタンを借りる harbor bus_stop diner 鐘の話を聞く マッチを分けてもらう ランタンに火をつける " +
		"bus_stop hill 木槌を取る bus_stop harbor breakwater bell 三つ打って、ひと息おく",
	"最終バス": "harbor 霧の話を聞く bus_stop 最終バスに乗る",
}

// The built-in story, from the first move to each of its endings, with nothing
// but what the replies offer.
func TestStoryIsPlayedToItsEndings(t *testing.T) {
	s := start(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000")
	for ending, moves := range endings {
		var reply struct {
			Text            string
			State           json.RawMessage
			Choices, Places []struct{ Label, Kind, Input string }
			End             bool
		}
		a := s.post("/api/new", "192.0.2.1", "")
		for input := range strings.FieldsSeq(moves) {
			if a.status != 200 {
				t.Fatalf("%s: before %q: %d %s %v", ending, input, a.status, a.body, a.err)
			}
			if err := json.Unmarshal([]byte(a.body), &reply); err != nil {
				t.Fatal(err)
			}
			kind := ""
			for _, offer := range append(reply.Choices, reply.Places...) {
				if offer.Input == input {
					kind = offer.Kind
				}
			}
			if kind == "" {
				t.Fatalf("%s: %q is not offered: %s", ending, input, a.body)
			}
			a = s.post("/api/turn", "192.0.2.1", fmt.Sprintf(`{"kind":%q,"input":%q,"state":%s}`, kind, input, reply.State))
		}
		if err := json.Unmarshal([]byte(a.body), &reply); err != nil || !reply.End || !strings.Contains(reply.Text, ending) {
			t.Errorf("the last reply is no ending %s: %s", ending, a.body)
		}
	}
	a := s.post("/api/turn", "192.0.2.1", `{"kind":"look","state":{"v":1,"place":"moon"}}`)
	if a.status != 422 || !strings.Contains(a.body, `"ok":false`) {
		t.Errorf("a state that the engine cannot have made: %d %s, want 422 and the engine's words", a.status, a.body)
	}
}

// Ten moves at once from one client, over real sockets; so slowly refilled that no
// machine is too busy for it.
func TestTenAtOnce(t *testing.T) {
	s := start(t, "KIRI_PER_IP_PER_SEC=0.001")
	var mu sync.Mutex
	counts := map[string]int{}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			a := s.post("/api/new", "192.0.2.1", "")
			mu.Lock()
			defer mu.Unlock()
			counts[strings.TrimSpace(fmt.Sprint(a.status, " ", a.header.Get("Retry-After")))]++
		})
	}
	wg.Wait()
	if counts["200"] != 2 || counts["429 1000"]+counts["429 999"] != 8 {
		t.Errorf("answers %v, want two 200 and eight 429", counts)
	}
	if a := s.post("/api/new", "192.0.2.2", ""); a.status != 200 {
		t.Errorf("another client: %d", a.status)
	}
}

func TestFortyClientsAtOnce(t *testing.T) {
	s := start(t, withTestEngine())
	var mu sync.Mutex
	counts := map[string]int{}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			input := "50ms"
			if i == 0 {
				input = "2s" // long enough for all the others to come
			} else {
				time.Sleep(500 * time.Millisecond)
			}
			began := time.Now()
			status, said := s.say(fmt.Sprintf("192.0.2.%d", i), input)
			mu.Lock()
			defer mu.Unlock()
			if status == 200 {
				said = ""
			} else if waited := time.Since(began); waited > time.Second {
				t.Errorf("refused after %v, want at once", waited)
			}
			counts[fmt.Sprint(status, " ", said)]++
		})
	}
	wg.Wait()
	if counts["200 "] != 32 || counts["429 queue_full"] != 8 {
		t.Errorf("answers %v, want 32 played and 8 refused for a full queue", counts)
	}
}

// As many steady clients as there are slots never meet a full queue: a slot is free
// again before the answer that says so.
func TestSteadyClientsMeetNoFullQueue(t *testing.T) {
	s := start(t, withTestEngine(), "KIRI_PER_IP_PER_SEC=100000", "KIRI_PER_IP_BURST=100000")
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 20 {
				if status, said := s.say(fmt.Sprintf("192.0.2.%d", i), "1ms"); status != 200 {
					t.Errorf("client %d: %d %s", i, status, said)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestEngineKilledInMidMove(t *testing.T) {
	s := start(t, withTestEngine())
	_, first := s.say("192.0.2.1", "")
	pid, _ := strconv.Atoi(first)
	time.AfterFunc(300*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGKILL) })
	if status, said := s.say("192.0.2.2", "20s"); status != 502 || said != "engine_failed" {
		t.Errorf("the move that was being played: %d %s", status, said)
	}
	began := time.Now()
	if status, said := s.say("192.0.2.3", ""); status != 200 || said == first {
		t.Errorf("the next move: %d %s", status, said)
	}
	t.Logf("the next move was answered after %v", time.Since(began))
}

func TestClientThatLeaves(t *testing.T) {
	s := start(t, withTestEngine())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/api/turn", strings.NewReader(`{"kind":"say","input":"1s"}`))
	r.Header.Set("Content-Type", "application/json")
	if _, err := http.DefaultClient.Do(r); err == nil {
		t.Fatal("it was answered")
	}
	eventually(t, "the log says so", func() bool { return strings.Contains(s.log.String(), `"status":499,"code":"client_left"`) })
	if status, said := s.say("192.0.2.1", ""); status != 200 {
		t.Errorf("the next move: %d %s", status, said)
	}
}

// No engine outlives the server, even if neither gets a chance.
func TestNoEngineOutlivesAKilledServer(t *testing.T) {
	s := start(t, withTestEngine())
	_, said := s.say("192.0.2.1", "")
	pid, err := strconv.Atoi(said)
	if err != nil {
		t.Fatal(said)
	}
	go s.say("192.0.2.2", "spin") // reads no end of input
	eventually(t, "the engine spins", func() bool {
		a := s.get("/api/health")
		return strings.Contains(a.body, `"waiting":1`)
	})
	s.cmd.Process.Kill()
	<-s.ended
	eventually(t, "the engine is gone", func() bool { return gone(pid) })
}

func (s *running) get(path string) answer {
	got, err := http.Get(s.url + path)
	if err != nil {
		return answer{err: err}
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, string(text), err}
}

func TestDrain(t *testing.T) {
	s := start(t, withTestEngine())
	_, said := s.say("192.0.2.1", "")
	pid, _ := strconv.Atoi(said)
	playing := make(chan string, 2)
	for i := range 2 { // one is played, one waits
		go func() {
			status, said := s.say(fmt.Sprintf("192.0.2.1%d", i), "1500ms")
			playing <- fmt.Sprint(status, " ", said)
		}()
	}
	eventually(t, "both moves are taken", func() bool { return strings.Contains(s.get("/api/health").body, `"waiting":2`) })
	s.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the drain begins", func() bool { return strings.Contains(s.log.String(), "draining") })
	time.Sleep(100 * time.Millisecond)

	// The first phase: everything is answered, and the connection is to be closed.
	a := s.get("/api/health")
	if a.status != 200 || !strings.Contains(a.body, `"ok":true`) {
		t.Errorf("health while draining: %d %s %v, want 200", a.status, a.body, a.err)
	}
	fresh := &http.Client{Transport: &http.Transport{}}
	got, err := fresh.Post(s.url+"/api/new", "", nil)
	if err != nil {
		t.Fatalf("a move while draining: %v", err)
	}
	if got.Body.Close(); got.StatusCode != 200 || !got.Close {
		t.Errorf("a move while draining: %d, close %v; want 200 and a connection that closes", got.StatusCode, got.Close)
	}
	for range 2 {
		if got := <-playing; got != "200 "+said {
			t.Errorf("a move that was taken before: %s", got)
		}
	}
	s.exits(0)
	if !gone(pid) {
		t.Error("the engine is left over")
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		t.Error("the listener is still open")
	}
}

// Who waits longer than a drain may take is told so, and not cut off.
func TestDrainAnswersWhatItCannotWaitFor(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the drain's whole 12 s")
	}
	s := start(t, withTestEngine())
	done := make(chan string, 1)
	go func() {
		status, said := s.say("192.0.2.1", "60s")
		done <- fmt.Sprint(status, " ", said)
	}()
	eventually(t, "the move is taken", func() bool { return strings.Contains(s.get("/api/health").body, `"waiting":1`) })
	s.cmd.Process.Signal(os.Interrupt)
	if got := <-done; got != "503 engine_down" {
		t.Errorf("the long move: %s, want 503 engine_down", got)
	}
	s.exits(0)
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	s := start(t, withTestEngine())
	go s.say("192.0.2.1", "60s")
	eventually(t, "the move is taken", func() bool { return strings.Contains(s.get("/api/health").body, `"waiting":1`) })
	s.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the drain begins", func() bool { return strings.Contains(s.log.String(), "draining") })
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.exits(-1) // by the signal
}

// The operator has put a new engine in place: it plays, and no move fails.
func TestHangupReplacesTheEngine(t *testing.T) {
	s := start(t, withTestEngine(), "KIRI_PER_IP_PER_SEC=100000", "KIRI_PER_IP_BURST=100000")
	_, first := s.say("192.0.2.1", "")
	s.cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, "another engine plays", func() bool {
		status, said := s.say("192.0.2.1", "10ms")
		if status != 200 {
			t.Fatalf("a move failed: %d %s", status, said)
		}
		return said != first
	})
	pid, _ := strconv.Atoi(first)
	eventually(t, "the old engine is gone", func() bool { return gone(pid) })
}

func TestHealthCommand(t *testing.T) {
	s := start(t)
	run := func(addr string) (int, string) {
		cmd := exec.Command(os.Args[0], "health")
		cmd.Env = append(os.Environ(), serverVariable+"=1", "KIRI_ADDR="+addr, "HTTP_PROXY=http://127.0.0.1:1", "GORACE=atexit_sleep_ms=0")
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	addr := strings.TrimPrefix(s.url, "http://")
	if status, out := run(addr); status != 0 || !strings.Contains(out, `"ok":true`) {
		t.Errorf("of a good server: %d %s", status, out)
	}
	_, port, _ := net.SplitHostPort(addr)
	if status, out := run("0.0.0.0:" + port); status != 0 {
		t.Errorf("of one that listens everywhere: %d %s", status, out)
	}
	if status, out := run(freeAddr(t)); status != 1 || out == "" {
		t.Errorf("of none: %d %q", status, out)
	}
}

func TestMetricsAreOnTheAdminListenerOnly(t *testing.T) {
	s := start(t)
	s.get("/")
	got, err := http.Get(s.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, _ := io.ReadAll(got.Body)
	for _, want := range []string{"kiri_engines_up 1\n", `kiri_requests_total{code="ok",route="page",status="200"} 1`, "go_goroutines", "process_start_time_seconds"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if a := s.get("/metrics"); a.status != 404 {
		t.Errorf("/metrics on the public listener: %d", a.status)
	}
}

func TestWrongUse(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "engine.txt")
	if err := os.WriteFile(text, []byte("hello"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, says string
		args       []string
		environ    []string
	}{
		{"an unknown command", "usage:", []string{"serve"}, nil},
		{"an argument too many", "usage:", []string{"health", "now"}, nil},
		{"a mistake", "KIRI_QUEUE: ", nil, []string{"KIRI_QUEUE=many"}},
		{"a program that is none", "KIRI_SIM: ", nil, []string{"KIRI_SIM=" + text}},
		{"a page that is no origin", "KIRI_ORIGINS: ", nil, []string{"KIRI_ORIGINS=friend.example"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var stderr lockedBuffer
			environ := append([]string{"KIRI_ADDR=127.0.0.1:0", "KIRI_ADMIN_ADDR="}, row.environ...)
			if got := run(t.Context(), nil, row.args, environ, nil, io.Discard, &stderr); got != exitMistaken {
				t.Errorf("exit status %d, want 2", got)
			}
			if !strings.Contains(stderr.String(), row.says) {
				t.Errorf("it says %q, want %s", stderr.String(), row.says)
			}
		})
	}
	t.Run("an address in use", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for _, name := range []string{"KIRI_ADDR", "KIRI_ADMIN_ADDR"} {
			var stderr lockedBuffer
			environ := []string{"KIRI_ADDR=127.0.0.1:0", "KIRI_ADMIN_ADDR=127.0.0.1:0", name + "=" + l.Addr().String()}
			if got := run(t.Context(), nil, nil, environ, nil, io.Discard, &stderr); got != exitFailed || !strings.Contains(stderr.String(), name+": ") {
				t.Errorf("exit status %d and %q, want 1 and %s", got, stderr.String(), name)
			}
		}
	})
}

func TestUnknownVariablesAreNamed(t *testing.T) {
	s := start(t, "KIRI_QUEU=5")
	if !strings.Contains(s.log.String(), `"name":"KIRI_QUEU"`) {
		t.Errorf("the log does not name it: %s", s.log)
	}
}

func TestConfig(t *testing.T) {
	t.Run("defaults", func(t *testing.T) {
		cfg, err := readConfig(nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, pair := range map[string][2]any{
			"KIRI_ADDR":       {cfg.Addr, "127.0.0.1:8787"},
			"KIRI_ADMIN_ADDR": {cfg.AdminAddr, "127.0.0.1:9464"},
			"KIRI_SIM":        {len(cfg.Sim), 0},
			"KIRI_KINDS":      {strings.Join(cfg.Kinds, " "), "look move say"},
			"KIRI_PROXIES":    {fmt.Sprint(cfg.Proxies), "[127.0.0.0/8 ::1/128]"},
			"KIRI_ORIGINS":    {len(cfg.Origins), 0},
			"KIRI_LOG_FORMAT": {string(cfg.LogFormat), "auto"},
			"KIRI_LOG_LEVEL":  {cfg.LogLevel, slog.LevelInfo},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
			}
		}
		if cfg.Limits != limits.Default() {
			t.Errorf("limits %+v", cfg.Limits)
		}
	})
	t.Run("everything set", func(t *testing.T) {
		cfg, err := readConfig([]string{
			"KIRI_ADDR=:80", "KIRI_ADMIN_ADDR=[::1]:81", `KIRI_SIM=sh -c 'exec cat "$0"' "a b"`, "KIRI_SIM_ENGINES=3",
			"KIRI_KINDS=look, dance", "KIRI_PROXIES=10.0.0.0/8, 192.0.2.7,2001:db8::/32", "KIRI_ORIGINS=https://A.example:443,https://b.example:8443",
			"KIRI_LOG_FORMAT=json", "KIRI_LOG_LEVEL=debug", "KIRI_PER_IP_PER_SEC=0.4", "KIRI_PER_IP_BURST=1.5", "KIRI_QUEUE=1",
			"KIRI_SIM_REPLY=1500ms", "KIRI_BODY_BYTES=1000", "KIRI_INPUT_CHARS=10", "KIRI_CLIENTS=5",
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"sh", "-c", `exec cat "$0"`, "a b"}; !slices.Equal(cfg.Sim, want) {
			t.Errorf("command %q, want %q", cfg.Sim, want)
		}
		if got, want := fmt.Sprint(cfg.Addr, cfg.AdminAddr, cfg.Kinds, cfg.Proxies, cfg.Origins, cfg.LogFormat, cfg.LogLevel),
			":80[::1]:81[look dance][10.0.0.0/8 192.0.2.7/32 2001:db8::/32][https://a.example https://b.example:8443]jsonDEBUG"; strings.ReplaceAll(got, " [", "[") != want {
			t.Errorf("read %s", got)
		}
		l := cfg.Limits
		if got, want := fmt.Sprint(l.SimEngines, l.PerIPPerSec, l.PerIPBurst, l.Queue, l.SimReply, l.BodyBytes, l.InputChars, l.Clients), "3 0.4 1.5 1 1.5s 1000 10 5"; got != want {
			t.Errorf("limits %s, want %s", got, want)
		}
	})
	t.Run("set to nothing", func(t *testing.T) {
		cfg, err := readConfig([]string{"KIRI_ADMIN_ADDR=", "KIRI_PROXIES=", "KIRI_QUEUE=", "KIRI_SIM=", "KIRI_KINDS="})
		if err != nil {
			t.Fatal(err)
		}
		if cfg.AdminAddr != "" || len(cfg.Proxies) != 0 || cfg.Limits.Queue != 32 || len(cfg.Sim) != 0 || len(cfg.Kinds) != 3 {
			t.Errorf("%+v", cfg)
		}
	})
	t.Run("all mistakes at once", func(t *testing.T) {
		wrong := []string{
			"KIRI_ADDR=8787", "KIRI_ADMIN_ADDR=localhost", "KIRI_SIM=/nowhere/engine serve", "KIRI_SIM_ENGINES=0", "KIRI_KINDS=look,new",
			"KIRI_PROXIES=10.0.0.0/33", "KIRI_LOG_FORMAT=xml", "KIRI_LOG_LEVEL=loud", "KIRI_PER_IP_PER_SEC=0", "KIRI_PER_IP_BURST=NaN",
			"KIRI_QUEUE=many", "KIRI_SIM_REPLY=30", "KIRI_BODY_BYTES=-1", "KIRI_INPUT_CHARS=1.5", "KIRI_CLIENTS=99999999999999999999", "KIRI_ORIGINS=friend.example",
		}
		if len(wrong) != len(variables()) {
			t.Errorf("%d rows for %d variables", len(wrong), len(variables()))
		}
		_, err := readConfig(wrong)
		if !errors.Is(err, errMistaken) {
			t.Fatalf("error %v", err)
		}
		for _, entry := range wrong {
			name, _, _ := strings.Cut(entry, "=")
			if n := strings.Count(err.Error(), "\n"+name+": "); n != 1 {
				t.Errorf("%s is named in %d lines of\n%v", name, n, err)
			}
		}
	})
	for _, row := range []struct{ entry, says string }{
		{`KIRI_SIM=cat "unfinished`, "KIRI_SIM: "},
		{"KIRI_SIM=  ", "no program"},
		{"KIRI_KINDS=look,look", "twice"},
		{"KIRI_KINDS=ping", "own kind"},
		{"KIRI_KINDS=\xff", "not UTF-8"},
		{"KIRI_ORIGINS=https://a.example,", "an entry is empty"},
		{"KIRI_ORIGINS=https://a.example/path", "no origin such as"},
		{"KIRI_ORIGINS=ftp://a.example", "http or https"},
		{"KIRI_PROXIES=fe80::1%eth0", "neither an address"},
		{"KIRI_PROXIES=::ffff:10.0.0.0/104", "write it as IPv4"},
		{"KIRI_ADDR=localhost:http-nonsense", "no port"},
		{"KIRI_ADDR=example.org:80", "want an address"},
	} {
		if _, err := readConfig([]string{row.entry}); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want it to say %q", row.entry, err, row.says)
		}
	}
}

func TestEngineDoesNotInheritWhatIsOurs(t *testing.T) {
	cfg, err := readConfig([]string{"PATH=/bin", "KIRI_QUEUE=5", "NOTIFY_SOCKET=/run/x", "LISTEN_FDS=1", "WATCHDOG_USEC=1", "LANG=ja_JP.UTF-8"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(cfg.engineEnv, " "); got != "PATH=/bin LANG=ja_JP.UTF-8" {
		t.Errorf("the engine gets %s", got)
	}
}

// Each manual explains every variable, with its default.
func TestManualsExplainEveryVariable(t *testing.T) {
	for _, name := range []string{"README.md", "README.ja.md"} {
		manual, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, variable := range variables() {
			if !bytes.Contains(manual, []byte("| `"+variable+"` |")) {
				t.Errorf("%s has no row for %s", name, variable)
			}
		}
	}
}

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
	lim.HeaderTime, lim.RequestTime, lim.IdleTime = 500*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond
	limiter, err := ratelimit.New(ratelimit.Config{PerSecond: 1000, Burst: 1000, Clients: 10})
	if err != nil {
		t.Fatal(err)
	}
	site, err := static.New(web.Files)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	handler, err := api.New(api.Config{
		Limits: lim, Kinds: []string{"look"}, Proxies: []netip.Prefix{}, Player: slowPlayer(1500 * time.Millisecond),
		Limiter: limiter, Site: site, Log: log,
	}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(handler, lim, log)
	var serving sync.WaitGroup
	serving.Go(func() { f.server.Serve(l) })
	t.Cleanup(func() {
		f.server.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

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
