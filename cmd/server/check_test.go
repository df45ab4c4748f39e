package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCheck(t *testing.T) {
	text := filepath.Join(t.TempDir(), "engine.txt")
	if err := os.WriteFile(text, []byte("hello"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name    string
		args    []string
		environ []string
		exit    int
		says    string // on stdout and stderr
	}{
		{"the built-in engine", []string{"check"}, nil, exitOK, "The server can use this engine."},
		{"the engine of KIRI_SIM", []string{"check"}, []string{withTestEngine()}, exitFailed, `has no "state"`},
		{"another engine", []string{"check", "--", os.Args[0], "test-engine"}, nil, exitFailed, `has no "state"`},
		{"one that does not know its kinds", []string{"check"}, []string{"KIRI_KINDS=dance"}, exitFailed, "KIRI_KINDS (dance)"},
		{"one that does not answer", []string{"check", "--", "sleep", "60"}, []string{"KIRI_SIM_REPLY=100ms"}, exitFailed, "did not answer within 100ms"},
		{"no such program", []string{"check", "--", "adv-sin"}, nil, exitMistaken, "adv-sin"},
		{"no program", []string{"check", "--", text}, nil, exitMistaken, text},
		{"nothing to check", []string{"check", "--"}, nil, exitMistaken, "usage:"},
		{"no dashes", []string{"check", "adv-sim"}, nil, exitMistaken, "usage:"},
		{"a mistake", []string{"check"}, []string{"KIRI_KINDS=new"}, exitMistaken, "KIRI_KINDS: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			environ := append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), row.environ...)
			out := new(lockedBuffer)
			if got := run(t.Context(), nil, row.args, environ, nil, out, out); got != row.exit {
				t.Errorf("exit status %d, want %d", got, row.exit)
			}
			if !strings.Contains(out.String(), row.says) {
				t.Errorf("it says %s\nwant %s", out, row.says)
			}
		})
	}
}

// Ctrl-C ends a check that waits, and its engine.
func TestCheckIsInterrupted(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0], "check", "--", "sh", "-c", `echo $$ > "$0"; exec sleep 600`, mark)
	cmd.Env = append(os.Environ(), serverVariable+"=1", "GORACE=atexit_sleep_ms=0")
	out := new(lockedBuffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	eventually(t, "the engine runs", func() bool {
		text, _ := os.ReadFile(mark)
		n, _ := fmt.Sscan(string(text), &pid)
		return n == 1
	})
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitFailed || !strings.Contains(out.String(), "was stopped before its end") {
		t.Errorf("exit status %d and %s", got, out)
	}
	if !gone(pid) {
		t.Error("the engine lives on")
	}
}

// exampleEngine returns KIRI_SIM for the Python engine that authors are shown.
func exampleEngine(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("skipped without python3: ", err)
	}
	program, err := filepath.Abs("../../examples/engines/lamp.py")
	if err != nil {
		t.Fatal(err)
	}
	return "KIRI_SIM=python3 '" + program + "'"
}

// The example's story, through the server, with nothing but what the replies offer.
func TestExampleIsPlayedToItsEnd(t *testing.T) {
	s := start(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000", exampleEngine(t))
	var reply struct {
		Text            string
		State           json.RawMessage
		Choices, Places []struct{ Label, Kind, Input string }
		End             bool
	}
	a := s.post("/api/new", "192.0.2.1", "")
	for _, label := range []string{"戸口へ", "戸を開ける", "小屋へ", "ランプをともす", "戸口へ", "戸を開ける", ""} {
		if err := json.Unmarshal([]byte(a.body), &reply); err != nil || a.status != 200 {
			t.Fatalf("before %q: %d %s %v", label, a.status, a.body, a.err)
		}
		if reply.End != (label == "") {
			t.Fatalf("before %q the end is %v: %s", label, reply.End, a.body)
		}
		for _, offer := range append(reply.Choices, reply.Places...) {
			if offer.Label == label {
				a = s.post("/api/turn", "192.0.2.1", fmt.Sprintf(`{"kind":%q,"input":%q,"state":%s}`, offer.Kind, offer.Input, reply.State))
			}
		}
	}
	a = s.post("/api/turn", "192.0.2.1", `{"kind":"look","state":{"at":["moon"]}}`)
	if a.status != 422 || !strings.Contains(a.body, "bad_state") {
		t.Errorf("a state of another game: %d %s, want 422 and the engine's words", a.status, a.body)
	}
}
