//go:build linux

// Package deploy has nothing but tests: that the files beside them do, with the
// real programs, what they are for.
package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// found returns the program's path. Where it is missing the test is skipped, but
// not where every check has to run.
func found(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// caddies are the programs that the Caddyfile is for: Debian 12's, and a current
// one under this name. retries says which of them retry.caddy is for.
var caddies = []struct {
	name    string
	program string
	retries bool
}{
	{"Caddy 2.6.2", "caddy", false},
	{"Caddy 2.11", "caddy-2.11", true},
}

// withEachCaddy runs a test for each of them, at the same time.
func withEachCaddy(t *testing.T, test func(t *testing.T, program string, retries bool)) {
	for _, caddy := range caddies {
		t.Run(caddy.name, func(t *testing.T) {
			t.Parallel()
			test(t, found(t, caddy.program), caddy.retries)
		})
	}
}

// built returns the path of the server's program, which is built once.
func built(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "kiribashiri")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/server").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

var folder string // of what several tests use

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "kiribashiri-deploy"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(folder)
	os.Exit(status)
}

// An output is what a process has written so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// A program is a process of a test.
type program struct {
	cmd   *exec.Cmd
	log   *output
	ended chan struct{}
}

// launch starts a program, which is killed when the test ends.
func launch(t *testing.T, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{cmd, new(output), make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the program
		cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-p.ended
		if text := p.log.String(); t.Failed() && text != "" {
			t.Logf("%s says: …%s", cmd.Path, text[max(0, len(text)-2000):])
		}
	})
	return p
}

// A socket is held open as systemd holds one, while servers come and go.
type socket struct {
	addr string
	file *os.File
}

func openSocket(t *testing.T) socket {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // file is a duplicate
	t.Cleanup(func() { file.Close() })
	return socket{l.Addr().String(), file}
}

// serve starts a server on a socket. LISTEN_PID is the pid of the process that gets
// the socket, which only a shell before it knows.
func (s socket) serve(t *testing.T, environ ...string) *program {
	t.Helper()
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0"`, built(t))
	cmd.ExtraFiles = []*os.File{s.file}
	cmd.Env = append(os.Environ(), append([]string{"LISTEN_FDS=1", "LISTEN_FDNAMES=http", "KIRI_ADMIN_ADDR="}, environ...)...)
	return launch(t, cmd)
}

// startCaddy runs Caddy with a copy of the Caddyfile, to which edit may do what an
// operator would, and with retry.caddy beside it if retry is true. It returns the
// port of a site without TLS.
func startCaddy(t *testing.T, path, upstream string, retry bool, edit func(caddyfile, port string) string) (port string, caddy *program) {
	t.Helper()
	port = freePort(t)
	caddyfile := read(t, "Caddyfile")
	if edit != nil {
		caddyfile = edit(caddyfile, port)
	}
	return port, runCaddy(t, path, caddyfile, port, "KIRI_UPSTREAM="+upstream, retry)
}

// runCaddy runs Caddy with a Caddyfile that finds its servers in a variable.
func runCaddy(t *testing.T, path, caddyfile, port, servers string, retry bool) (caddy *program) {
	t.Helper()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "Caddyfile"), caddyfile)
	if retry {
		write(t, filepath.Join(folder, "kiribashiri.d", "retry.caddy"), read(t, "retry.caddy"))
	}
	cmd := exec.Command(path, "run", "--adapter", "caddyfile", "--config", filepath.Join(folder, "Caddyfile"))
	cmd.Env = append(os.Environ(), "KIRI_SITE=http://:"+port, servers, "CADDY_ADMIN=127.0.0.1:"+freePort(t),
		"HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	caddy = launch(t, cmd)
	eventually(t, "Caddy listens", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return caddy
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

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s still not: %s", what)
		}
	}
}

// well waits until the server at an address plays.
func well(t *testing.T, addr string) {
	t.Helper()
	eventually(t, "the server is well", func() bool {
		got, err := http.Get("http://" + addr + "/api/health")
		if err != nil {
			return false
		}
		got.Body.Close()
		return got.StatusCode == 200
	})
}

// charged returns the client that the log says was charged for the move that bears
// a browser's name.
func charged(t *testing.T, server *program, browser string) string {
	t.Helper()
	client := ""
	eventually(t, "the log has "+browser, func() bool {
		for line := range strings.Lines(server.log.String()) {
			var entry struct{ Browser, Client string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Browser == browser {
				client = entry.Client
				return true
			}
		}
		return false
	})
	return client
}
