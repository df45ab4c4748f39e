package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the server and its engines: as a server where this
// variable is set, and as an engine where its first argument says so.
const serverVariable = "TEST_BINARY_SERVES"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "test-engine":
		testEngine()
	case len(os.Args) > 1 && os.Args[1] == "test-echo":
		testEcho()
	case len(os.Args) > 1 && os.Args[1] == engineCommand, os.Getenv(serverVariable) != "":
		main()
	default:
		os.Exit(m.Run())
	}
}

// testEngine is an engine that takes its time: its argument says how long it loads,
// and each input how long it thinks.
func testEngine() {
	if len(os.Args) > 2 {
		d, _ := time.ParseDuration(os.Args[2])
		time.Sleep(d)
	}
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

// testEcho is an engine that says whatever a player says, wherever a reply has room
// for it; what begins with "no" it rejects in the same words.
func testEcho() {
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
		said := move.Input
		offers := []map[string]string{{"label": said, "kind": "say", "input": said}}
		reply, err := json.Marshal(map[string]any{
			"id": move.ID, "ok": !strings.HasPrefix(said, "no"), "error": said, "text": said, "place": said,
			"choices": offers, "places": offers, "state": said,
		})
		if err != nil {
			return
		}
		fmt.Printf("%s\n", reply)
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
	s := prepare(t, environ...)
	s.run()
	s.well()
	return s
}

// prepare returns a server that is still to be run.
func prepare(t *testing.T, environ ...string) *running {
	t.Helper()
	s := &running{t: t, log: new(lockedBuffer), ended: make(chan error, 1)}
	addr, admin := freeAddr(t), freeAddr(t)
	s.url, s.admin = "http://"+addr, "http://"+admin
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), append([]string{
		serverVariable + "=1", "GORACE=atexit_sleep_ms=0", "KIRI_ADDR=" + addr, "KIRI_ADMIN_ADDR=" + admin,
	}, environ...)...)
	s.cmd.Stderr = s.log
	return s
}

func (s *running) run() {
	s.t.Helper()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	s.t.Cleanup(func() {
		s.cmd.Process.Kill()
		if s.t.Failed() {
			s.t.Log(s.log)
		}
	})
}

func (s *running) well() {
	s.t.Helper()
	eventually(s.t, "the server is well", func() bool { return s.get("/api/health").status == 200 })
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
		"bus_stop hill 木槌を取る bus_stop harbor breakwater bell 三つ打って、ひと息おく breakwater harbor ときわ丸を迎える",
	"最終バス": "harbor 霧の話を聞く bus_stop 最終バスに乗る",
	"白鳴": "harbor 霧の話を聞く hut ランタンを借りる harbor bus_stop diner マッチを分けてもらう ランタンに火をつける おかみに話しかける 握り飯を預かる " +
		"bus_stop hill 木槌を取る shrine 女の子に話しかける 握り飯を渡す 何が見えるのか聞く harbor bus_stop bus 運転手に話しかける 手袋のことを聞く " +
		"運転手を鐘に誘う 切符を見せる bus_stop harbor breakwater bell 三つ打って、ひと息おく 耳を澄ます",
}

// The built-in story, from the first move to its endings, with nothing but what
// the replies offer.
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
	counts := map[int]int{}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			a := s.post("/api/new", "192.0.2.1", "")
			mu.Lock()
			defer mu.Unlock()
			counts[a.status]++
			if wait, _ := strconv.Atoi(a.header.Get("Retry-After")); a.status == 429 && (wait < 900 || wait > 1000) {
				t.Errorf("429 with Retry-After %q, want about 1000", a.header.Get("Retry-After"))
			}
		})
	}
	wg.Wait()
	if counts[200] != 2 || counts[429] != 8 {
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

func (s *running) get(path string) answer {
	got, err := http.Get(s.url + path)
	if err != nil {
		return answer{err: err}
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, string(text), err}
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
	for _, want := range []string{"kiri_engines_up 1\n", `kiri_requests_total{code="ok",route="page",status="200"} 1`, "go_goroutines", "process_start_time_seconds",
		"\nkiri_connections ", "\nkiri_connections_limit ", "\nkiri_connections_dropped_total 0\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if a := s.get("/metrics"); a.status != 404 {
		t.Errorf("/metrics on the public listener: %d", a.status)
	}
}
