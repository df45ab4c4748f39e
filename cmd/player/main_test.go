package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test binary is also the player where this variable is set.
const playerVariable = "TEST_BINARY_PLAYS"

// builtIn is the folder that the real server is built in; empty until it is needed.
var builtIn string

// serverBinary builds the real server, once.
var serverBinary = sync.OnceValues(func() (file string, err error) {
	if builtIn, err = os.MkdirTemp("", "player-test-"); err != nil {
		return "", err
	}
	file = filepath.Join(builtIn, "server")
	if out, err := exec.Command("go", "build", "-o", file, "kiribashiri/cmd/server").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return file, nil
})

func TestMain(m *testing.M) {
	if os.Getenv(playerVariable) != "" {
		main()
	}
	status := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(status)
}

// startServer runs a real server and returns its URL.
func startServer(t *testing.T, environ ...string) string {
	t.Helper()
	binary, err := serverBinary()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	var log bytes.Buffer
	cmd := exec.Command(binary)
	cmd.Env = append(append(os.Environ(), "KIRI_ADDR="+addr, "KIRI_ADMIN_ADDR=", "KIRI_LOG_LEVEL=warn"), environ...)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		answer, err := http.Get("http://" + addr + "/api/health")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return "http://" + addr
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not come up: %v", err)
		}
	}
}

// quick is a server that nobody waits for.
var quick = []string{"KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000"}

// A ran is what a run of the whole program came to.
type ran struct {
	status         int
	stdout, stderr string
}

func play(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return ran{status, stdout.String(), stderr.String()}
}

// ends claims the exit status and what was said.
func (r ran) ends(t *testing.T, status int, said ...string) {
	t.Helper()
	if r.status != status {
		t.Errorf("exit status %d, want %d", r.status, status)
	}
	for _, want := range said {
		if !strings.Contains(r.stdout+r.stderr, want) {
			t.Errorf("%q was not said", want)
		}
	}
	if t.Failed() {
		t.Fatalf("stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
	}
}

// A told server answers each request as a test tells it to.
func toldServer(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

// A transport is a way to a server inside the test, for bubbles.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func clientOver(f transport) *client {
	c := newClient(&url.URL{Scheme: "http", Host: "test"}, 1)
	c.http.Transport = f
	return c
}

// response makes an answer; header has names and values by turns.
func response(status int, body string, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestMistakenArguments(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.txt")
	write(t, script, "港へ\nexpect:\n")
	for _, row := range []struct {
		args string
		says string
	}{
		{"-nonsense", "-nonsense"},
		{"港へ", `"港へ"`},
		{"-players 0 -for 1s", "-players: must be between 1 and 10000, got 0"},
		{"-players 10001 -for 1s", "-players"},
		{"-players many -for 1s", "many"},
		{"-players 2", "-players needs -for"},
		{"-players 2 -for -1s", "-for"},
		{"-players 2 -for 1", "-for"},
		{"-players 2 -for 1000000h", "-for: must be at most 1000h0m0s"},
		{"-for 1s", "-for is for many players"},
		{"-json", "-json is for many players"},
		{"-forwarded", "-forwarded is for many players"},
		{"-seed 1", "-seed is for many players"},
		{"-rate 1", "-rate is for many players"},
		{"-players 2 -for 1s -rate 0", "-rate: must be above 0"},
		{"-players 2 -for 1s -rate NaN", "-rate: must be above 0"},
		{"-players 2 -for 1s -rate +Inf", "-rate"},
		{"-players 2 -for 1s -script x", "do not go together"},
		{"-script=", "-script: the file's name is missing"},
		{"-script /nowhere/at/all.txt", "/nowhere/at/all.txt"},
		{"-script " + script, script + `:2: nothing stands after "expect:"`},
		{"-url 127.0.0.1:8787", "-url"},
		{"-url ftp://127.0.0.1", "-url: must be like"},
		{"-url http://127.0.0.1/?x=1", "-url: must be an address alone"},
		{"-url http://me@127.0.0.1/", "-url: must be an address alone"},
	} {
		t.Run(row.args, func(t *testing.T) {
			play(t, "", strings.Fields(row.args)...).ends(t, exitMistaken, row.says)
		})
	}
}

func TestHelp(t *testing.T) {
	play(t, "", "-h").ends(t, exitOK, "usage: player", "closed", "open", "-forwarded")
}

// A context that is done ends every wait.
func done(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := readURL(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
