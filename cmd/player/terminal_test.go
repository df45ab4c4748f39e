package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A screen is a terminal with the player on it.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File

	mu    sync.Mutex
	shown strings.Builder
	over  chan struct{} // closed when all is shown
}

func startOnTerminal(t *testing.T, args ...string) *screen {
	t.Helper()
	s := &screen{t: t, cmd: exec.Command(os.Args[0], args...), over: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), playerVariable+"=1", "GORACE=atexit_sleep_ms=0", "TERM=xterm", "LC_ALL=C.UTF-8")
	terminal, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("there is no terminal to be had: %v", err)
	}
	s.keys = terminal
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		terminal.Close()
	})
	go func() { // until the player, or the terminal, is gone
		defer close(s.over)
		part := make([]byte, 4096)
		for {
			n, err := terminal.Read(part)
			s.mu.Lock()
			s.shown.Write(part[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// types waits for a prompt after what is shown n times, and then writes keys.
func (s *screen) types(keys, after string, n int) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		shown := s.shown.String()
		s.mu.Unlock()
		if parts := strings.Split(shown, after); len(parts) > n && strings.Contains(parts[len(parts)-1], "> ") {
			break
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%q is not shown %d times with a prompt after it: %q", after, n, shown)
		}
	}
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) ends(status int) {
	s.t.Helper()
	defer time.AfterFunc(20*time.Second, func() { s.cmd.Process.Kill() }).Stop()
	s.cmd.Wait()
	<-s.over
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.t.Errorf("exit status %d, want %d: %q", got, status, s.shown.String())
	}
}

const left, up = "\x1b[D", "\x1b[A"

// Japanese is edited letter by letter, and what was entered comes back by the
// arrow keys.
func TestTyping(t *testing.T) {
	s := startCounting(t)
	terminal := startOnTerminal(t, "-url", s.url)
	terminal.types("霧話を聞くx\x7f"+left+left+left+left+"の\r", "庭へ", 1)
	terminal.types(up+"\r", "庭へ", 2)
	terminal.types("99\r", "庭へ", 3)
	terminal.types("/quit\r", "その番号の選択肢はありません。", 1)
	terminal.ends(exitOK)
	s.wasAsked(t, "new  ", "say 霧の話を聞く 1", "say 霧の話を聞く 2")
}

func TestLeavingByKey(t *testing.T) {
	for name, key := range map[string]string{"Ctrl-C": "\x03", "Ctrl-D": "\x04"} {
		t.Run(name, func(t *testing.T) {
			s := startCounting(t)
			terminal := startOnTerminal(t, "-url", s.url)
			terminal.types(key, "庭へ", 1)
			terminal.ends(exitOK)
		})
	}
}

// Ctrl-C while a move is under way ends the game too.
func TestLeavingDuringAMove(t *testing.T) {
	playing := make(chan struct{})
	server := toldServer(t, func(w http.ResponseWriter, r *http.Request) {
		if readMove(t, r).Kind == kindNew {
			fmt.Fprint(w, goodReply)
			return
		}
		close(playing)
		<-r.Context().Done()
	})
	terminal := startOnTerminal(t, "-url", server)
	terminal.types("港へ\r", "はい", 1)
	<-playing
	terminal.keys.WriteString("\x03")
	terminal.ends(exitOK)
}

// The bar is for terminals.
func TestBar(t *testing.T) {
	s := startCounting(t)
	terminal := startOnTerminal(t, "-url", s.url, "-players", "1", "-for", "2s")
	terminal.ends(exitOK)
	if shown := terminal.shown.String(); !strings.Contains(shown, "[##########..........] ") || !strings.Contains(shown, "closed loop") {
		t.Errorf("%q", shown)
	}
}
