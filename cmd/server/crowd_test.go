//go:build linux

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

// Ten thousand connections that somebody holds for nothing, in every way in which
// that can be done: there are never more than the limit, neither memory nor files
// grow beyond their bound, and whoever comes to play meanwhile plays.
func TestCrowdOfConnections(t *testing.T) {
	t.Parallel()
	lim := limits.Default()
	most := lim.Conns + lim.Queue
	crowd := 10_000
	if may := int(maxFiles()) - 500; may < crowd {
		t.Logf("only %d connections: this process may open no more files", may)
		crowd = may
	}
	if raceEnabled {
		t.Log("a smaller crowd, and no look at memory: the race detector multiplies both")
		crowd = 2*most + 1
	}
	if crowd <= 2*most {
		t.Fatalf("a crowd of %d is no crowd: ulimit -n must be raised", crowd)
	}
	const (
		header = "POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		health = "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"
		memory = 384 << 10 // KiB: MemoryMax of the unit, the built-in engine included
	)
	for _, row := range []struct {
		name  string
		crowd int
		sends string
		reads int // bytes of an answer, after which nothing more is read
	}{
		{"nothing is sent", crowd, "", 0},
		{"one byte is sent", crowd, "P", 0},
		{"after an answer nothing more comes", crowd, health, 100},
		{"headers of 16 KB that do not end", 2 * most, header + "X: " + strings.Repeat("x", 16_000), 0},
		{"bodies of 64 KB of which a byte is missing", 2 * most, header + "X: " + strings.Repeat("x", 15_000) + "\r\nContent-Length: 65536\r\n\r\n" + strings.Repeat(" ", 65535), 0},
		{"states of 9000 levels", 2 * most, header + "Content-Length: 18024\r\n\r\n" + `{"kind":"look","state":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", 100},
		{"answers that nobody reads", 2 * most, strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 100), 0},
	} {
		if raceEnabled && len(row.sends) > 1000 {
			t.Logf("left out: %s", row.name)
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			s := start(t, "KIRI_PER_IP_PER_SEC=1e9", "KIRI_PER_IP_BURST=1e9", "KIRI_LOG_LEVEL=warn", "GOMEMLIMIT=200MiB")
			addr := strings.TrimPrefix(s.url, "http://")
			var left atomic.Int64
			left.Store(int64(row.crowd))
			var mu sync.Mutex
			var held []net.Conn
			var crowding sync.WaitGroup
			for range 16 {
				crowding.Go(func() {
					for left.Add(-1) >= 0 {
						conn, err := net.Dial("tcp", addr)
						if err != nil {
							t.Errorf("the crowd is not let in: %v", err)
							return
						}
						mu.Lock()
						held = append(held, conn)
						mu.Unlock()
						conn.SetDeadline(time.Now().Add(time.Minute))
						conn.(*net.TCPConn).SetReadBuffer(4096)
						if _, err := io.WriteString(conn, row.sends); err == nil && row.reads > 0 {
							io.ReadFull(conn, make([]byte, row.reads)) // or it was dropped meanwhile
						}
					}
				})
			}
			leave := func() {
				for _, conn := range held {
					conn.Close()
				}
			}
			t.Cleanup(leave)
			crowded := make(chan struct{})
			go func() {
				crowding.Wait()
				close(crowded)
			}()
			player := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
			moves, slowest := 0, time.Duration(0)
			for over := false; !over || moves < 20; moves++ {
				select {
				case <-crowded:
					over = true
				default:
				}
				began := time.Now()
				got, err := player.Post(s.url+"/api/new", "", nil)
				if err != nil {
					t.Fatalf("move %d: %v", moves, err)
				}
				if got.Body.Close(); got.StatusCode != 200 {
					t.Fatalf("move %d: %d", moves, got.StatusCode)
				}
				slowest = max(slowest, time.Since(began))
			}
			open, dropped := s.metric("kiri_connections"), s.metric("kiri_connections_dropped_total")
			if open > float64(most) {
				t.Errorf("%v connections, want at most %d", open, most)
			}
			files := s.files()
			if bound := most + lim.AdminConns + lim.EngineFiles + lim.OtherFiles; files > bound {
				t.Errorf("%d files are open, want at most %d", files, bound)
			}
			peak := s.peak()
			if peak > memory && !raceEnabled {
				t.Errorf("the server has taken %d KiB, want at most %d", peak, memory)
			}
			t.Logf("%d connections came, %v are there, %v were dropped; %d files, at most %d MiB; %d moves were played, the slowest in %v",
				row.crowd, open, dropped, files, peak>>10, moves, slowest)
			if len(row.sends) > 1000 { // the drain waits ten seconds for who has sent so much
				leave()
			}
			s.cmd.Process.Signal(syscall.SIGTERM) // it ends in the middle of it, too
			s.exits(0)
		})
	}
}

// The admin listener has a limit, too.
func TestCrowdOnTheAdminListener(t *testing.T) {
	s := start(t)
	lim := limits.Default()
	for range 10 * lim.AdminConns {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.admin, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	if got := s.metric("kiri_engines_up"); got != 1 {
		t.Errorf("%v engines are up", got)
	}
	if got, most := s.files(), lim.AdminConns+lim.EngineFiles+lim.OtherFiles; got > most {
		t.Errorf("%d files are open, want at most %d", got, most)
	}
}

// files returns how many files the server has open.
func (s *running) files() int {
	s.t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(files)
}

// metric returns the value of one that has no labels.
func (s *running) metric(name string) float64 {
	s.t.Helper()
	got, err := http.Get(s.admin + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	m := regexp.MustCompile("(?m)^" + name + " (.*)$").FindSubmatch(text)
	if m == nil {
		s.t.Fatalf("there is no metric %s", name)
	}
	value, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

// peak returns how much memory the server has had at most, in KiB.
func (s *running) peak() int {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		s.t.Fatalf("no peak in %s", status)
	}
	kib, _ := strconv.Atoi(string(m[1]))
	return kib
}
