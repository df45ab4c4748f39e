//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"kiribashiri/internal/limits"
)

// A held socket stays open while servers come and go, as systemd keeps its own.
type held struct {
	addr string
	file *os.File
}

func hold(t *testing.T, network, addr string) held {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false)
	}
	file, err := l.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // file is a duplicate
	t.Cleanup(func() { file.Close() })
	return held{l.Addr().String(), file}
}

// inherits has s find files as systemd passes them. LISTEN_PID is the pid of the
// process that gets them, which only a shell before it knows.
func (s *running) inherits(names string, files ...*os.File) {
	s.cmd.Path, s.cmd.Err = exec.LookPath("sh")
	s.cmd.Args = []string{"sh", "-c", `LISTEN_PID=$$ exec "$0"`, os.Args[0]}
	s.cmd.ExtraFiles = files
	s.cmd.Env = append(s.cmd.Env, "LISTEN_FDS="+strconv.Itoa(len(files)), "LISTEN_FDNAMES="+names)
}

// startHeld runs a server on a socket that is held.
func startHeld(t *testing.T, socket held, environ ...string) *running {
	t.Helper()
	s := prepare(t, environ...)
	s.inherits("http", socket.file)
	s.url = "http://" + socket.addr
	s.run()
	return s
}

func TestInheritedSockets(t *testing.T) {
	public, admin := hold(t, "tcp", "127.0.0.1:0"), hold(t, "tcp", "127.0.0.1:0")
	s := prepare(t, "KIRI_ADMIN_ADDR=")
	opened := strings.TrimPrefix(s.url, "http://")
	s.inherits("admin:http", admin.file, public.file)
	s.url, s.admin = "http://"+public.addr, "http://"+admin.addr
	s.run()
	s.well()
	got, err := http.Get(s.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	if got.StatusCode != 200 {
		t.Errorf("metrics on the admin socket: %d", got.StatusCode)
	}
	if a := s.get("/metrics"); a.status != 404 {
		t.Errorf("metrics on the public socket: %d", a.status)
	}
	if _, err := net.Dial("tcp", opened); err == nil {
		t.Error("KIRI_ADDR is open too")
	}
}

// The two phases of the drain, on a socket that is not ours to close: while one
// server drains everything is answered, while none is there connections wait, and
// the next one answers them.
func TestInheritedSocketOutlivesTheServer(t *testing.T) {
	socket := hold(t, "tcp", "127.0.0.1:0")
	first := startHeld(t, socket, withTestEngine())
	first.well()
	playing := make(chan string, 1)
	go func() {
		status, _ := first.say("192.0.2.1", "1s")
		playing <- fmt.Sprint(status)
	}()
	eventually(t, "the move is taken", func() bool { return strings.Contains(first.get("/api/health").body, `"waiting":1`) })
	first.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the drain begins", func() bool { return strings.Contains(first.log.String(), "draining") })
	if a := first.get("/api/health"); a.status != 200 {
		t.Errorf("health while draining: %d %s %v, want 200", a.status, a.body, a.err)
	}
	if got := <-playing; got != "200" {
		t.Errorf("the move that was being played: %s", got)
	}
	first.exits(0)

	queued := make(chan string, 10)
	for i := range cap(queued) { // nobody is there to answer
		go func() {
			status, said := first.say(fmt.Sprintf("192.0.2.1%d", i), "")
			queued <- fmt.Sprint(status, " ", said)
		}()
	}
	second := startHeld(t, socket, withTestEngine())
	for range cap(queued) {
		if got := <-queued; !strings.HasPrefix(got, "200 ") {
			t.Errorf("a move that came while no server ran: %s", got)
		}
	}

	second.cmd.Process.Kill()
	<-second.ended
	http.DefaultClient.CloseIdleConnections() // a move on one of those has reached nobody
	go func() {
		status, said := first.say("192.0.2.30", "")
		queued <- fmt.Sprint(status, " ", said)
	}()
	startHeld(t, socket, withTestEngine())
	if got := <-queued; !strings.HasPrefix(got, "200 ") {
		t.Errorf("a move that came after the server was killed: %s", got)
	}
}

// Connections wait for an engine that loads slowly, instead of being told that
// there is none; but not for one that fails.
func TestConnectionsWaitForTheFirstEngine(t *testing.T) {
	t.Run("one that loads slowly", func(t *testing.T) {
		s := startHeld(t, hold(t, "tcp", "127.0.0.1:0"), withTestEngine()+" 2s") // longer than a move waits
		if status, said := s.say("192.0.2.1", ""); status != 200 {
			t.Errorf("%d %s", status, said)
		}
	})
	t.Run("one that fails", func(t *testing.T) {
		s := startHeld(t, hold(t, "tcp", "127.0.0.1:0"), "KIRI_SIM=sh -c 'exit 1'")
		if status, said := s.say("192.0.2.1", ""); status != 503 || said != "engine_down" {
			t.Errorf("%d %s", status, said)
		}
		var health struct{ UptimeSeconds float64 }
		json.Unmarshal([]byte(s.get("/api/health").body), &health)
		if all := limits.Default().StartWait.Seconds(); health.UptimeSeconds > all {
			t.Errorf("the first answer came after all of %v s", all)
		}
	})
}

// A proxy on a unix socket has no address, and is believed.
func TestInheritedUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http.socket")
	s := prepare(t)
	s.inherits("http", hold(t, "unix", path).file)
	s.run()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	for _, row := range []struct{ forwarded, client string }{
		{"203.0.113.7", "203.0.113.7/32"},
		{"6.6.6.6, 203.0.113.8", "203.0.113.8/32"},
		{"2001:db8:1:2:3::1", "2001:db8:1:2::/64"},
	} {
		r, _ := http.NewRequest("POST", "http://kiribashiri/api/new", nil)
		r.Header.Set("X-Forwarded-For", row.forwarded)
		got, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		eventually(t, "the log names "+row.client, func() bool { return strings.Contains(s.log.String(), `"client":"`+row.client+`"`) })
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.exits(0)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket is systemd's, and gone: %v", err)
	}
}

func TestWrongSockets(t *testing.T) {
	socket := func(t *testing.T) *os.File { return hold(t, "tcp", "127.0.0.1:0").file }
	connection := func(t *testing.T) *os.File {
		to := hold(t, "tcp", "127.0.0.1:0")
		conn, err := net.Dial("tcp", to.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		file, err := conn.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	datagrams := func(t *testing.T) *os.File {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		file, err := conn.(*net.UDPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	text := func(t *testing.T) *os.File {
		file, err := os.Create(filepath.Join(t.TempDir(), "text"))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	type files []func(*testing.T) *os.File
	for _, row := range []struct {
		name    string
		names   string
		files   files
		environ []string
		says    string
	}{
		{"an unknown name", "web", files{socket}, nil, `LISTEN_FDNAMES: a socket is named "web"`},
		{"only the admin's", "admin", files{socket}, nil, `LISTEN_FDNAMES: no socket is named "http"`},
		{"one name twice", "http:http", files{socket, socket}, nil, `LISTEN_FDNAMES: two sockets are named "http"`},
		{"two without names", "", files{socket, socket}, nil, `LISTEN_FDNAMES: a socket is named "LISTEN_FD_3"`},
		{"three", "http:admin:x", files{socket, socket, socket}, nil, "LISTEN_FDS: 3 sockets"},
		{"a connection", "http", files{connection}, nil, `LISTEN_FDS: the socket named "http": it is no socket that listens`},
		{"datagrams", "http", files{datagrams}, nil, `LISTEN_FDS: the socket named "http": `},
		{"a file", "http", files{text}, nil, `LISTEN_FDS: the socket named "http": it is no socket`},
		{"none where one is said to be", "http", nil, []string{"LISTEN_FDS=1"}, `LISTEN_FDS: the socket named "http": it is no socket`},
		{"no number", "http", files{socket}, []string{"LISTEN_FDS=one"}, `LISTEN_FDS: "one"`},
		{"less than none", "http", files{socket}, []string{"LISTEN_FDS=-1"}, `LISTEN_FDS: "-1"`},
		{"a watchdog that is no number", "", nil, []string{"WATCHDOG_USEC=15s"}, `WATCHDOG_USEC: "15s"`},
		{"a watchdog that never waits", "", nil, []string{"WATCHDOG_USEC=0"}, `WATCHDOG_USEC: "0"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := prepare(t)
			var inherited []*os.File
			for _, open := range row.files {
				file := open(t)
				defer file.Close()
				inherited = append(inherited, file)
			}
			s.inherits(row.names, inherited...)
			s.cmd.Env = append(s.cmd.Env, row.environ...)
			s.run()
			s.exits(exitMistaken)
			if !strings.Contains(s.log.String(), row.says) {
				t.Errorf("it says %q, want %q", s.log, row.says)
			}
		})
	}
	t.Run("another process's", func(t *testing.T) {
		s := prepare(t)
		s.inherits("http", socket(t))
		s.cmd.Args[2] = `LISTEN_PID=$$ "$0"; exit $?` // without exec
		s.run()
		s.exits(exitMistaken)
		if want := "LISTEN_PID: the sockets are for process"; !strings.Contains(s.log.String(), want) {
			t.Errorf("it says %q, want %q", s.log, want)
		}
	})
}

// An engine could otherwise say in our name how we are, or take our connections.
func TestEngineInheritsNothingOfSystemd(t *testing.T) {
	s := prepare(t, withTestEngine(), "NOTIFY_SOCKET="+listenForStates(t).LocalAddr().String(), "WATCHDOG_USEC=60000000")
	public, admin := hold(t, "tcp", "127.0.0.1:0"), hold(t, "tcp", "127.0.0.1:0")
	s.inherits("http:admin", public.file, admin.file)
	s.url = "http://" + public.addr
	s.run()
	_, pid := s.say("192.0.2.1", "")
	environ, err := os.ReadFile("/proc/" + pid + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(environ), "\x00") {
		for _, ours := range []string{"LISTEN_", "NOTIFY_", "WATCHDOG_"} {
			if strings.HasPrefix(entry, ours) {
				t.Errorf("the engine's environment has %s", entry)
			}
		}
	}
	files, err := os.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if to, _ := os.Readlink("/proc/" + pid + "/fd/" + file.Name()); strings.HasPrefix(to, "socket:") {
			t.Errorf("the engine has a socket at %s", file.Name())
		}
	}
}

// listenForStates is the other end of NOTIFY_SOCKET.
func listenForStates(t *testing.T) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func nextState(t *testing.T, from *net.UnixConn) string {
	t.Helper()
	from.SetReadDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 1<<10)
	n, err := from.Read(b)
	if err != nil {
		t.Fatalf("nothing is told: %v", err)
	}
	return string(b[:n])
}

func TestSystemdIsTold(t *testing.T) {
	states := listenForStates(t)
	s := prepare(t, withTestEngine(), "NOTIFY_SOCKET="+states.LocalAddr().String(), "WATCHDOG_USEC=400000")
	s.run()
	if got := nextState(t, states); got != "READY=1" {
		t.Errorf("first %q, want READY=1", got)
	}
	if a := s.get("/api/health"); a.status != 200 {
		t.Errorf("health when it is ready: %d %v", a.status, a.err)
	}
	for range 3 {
		if got := nextState(t, states); got != "WATCHDOG=1" {
			t.Errorf("then %q, want WATCHDOG=1", got)
		}
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	var last string
	for last = nextState(t, states); last == "WATCHDOG=1"; last = nextState(t, states) {
	}
	if last != "STOPPING=1" {
		t.Errorf("at the end %q, want STOPPING=1", last)
	}
	s.exits(0)
}

// A server that systemd cannot hear plays all the same.
func TestSystemdThatDoesNotListen(t *testing.T) {
	s := start(t, "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "nobody"))
	eventually(t, "the log says so", func() bool { return strings.Contains(s.log.String(), "systemd cannot be told") })
}

func TestWatchdogIsFedOnlyWhileAnEngineIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var up atomic.Bool
		var told []string
		done := make(chan struct{})
		go func() { // ends with ctx
			defer close(done)
			attend(ctx, 10*time.Second, up.Load, func(state string) {
				told = append(told, fmt.Sprint(time.Since(began).Round(time.Second), " ", state))
			})
		}()
		at := func(d time.Duration, is bool) {
			time.Sleep(d - time.Since(began))
			up.Store(is)
		}
		at(3900*time.Millisecond, true)
		at(16*time.Second, false) // after three words
		at(31*time.Second, true)
		time.Sleep(6 * time.Second)
		cancel()
		<-done
		want := []string{"4s READY=1", "9s WATCHDOG=1", "14s WATCHDOG=1", "34s WATCHDOG=1"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

func TestWithoutAWatchdogOnlyReadinessIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		attend(t.Context(), 0, func() bool { return true }, func(string) { told++ }) // returns
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	})
}

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

// systemd's own program passes a socket as systemd does, and starts the server with
// the first connection.
func TestSystemdSocketActivate(t *testing.T) {
	activate := found(t, "systemd-socket-activate")
	s := prepare(t)
	addr := freeAddr(t)
	s.url = "http://" + addr
	args := []string{"-l", addr, "--fdname=http"}
	for _, entry := range s.cmd.Env { // it passes on next to nothing of its own
		if name, _, _ := strings.Cut(entry, "="); name == serverVariable || name == "PATH" || strings.HasPrefix(name, "KIRI_") || name == "GORACE" {
			args = append(args, "-E", entry)
		}
	}
	s.cmd.Path, s.cmd.Args = activate, append(append([]string{activate}, args...), os.Args[0])
	s.run()
	s.well()
	s.cmd.Process.Signal(syscall.SIGTERM) // it has become the server
	s.exits(0)
}
