package simbridge

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kiribashiri/internal/limits"
)

// Where the server is process 1, nothing that engines leave behind stays in the
// table of processes, and no engine's end is taken from whoever waits for it. The
// test binary is process 1 of a namespace of its own.
func TestOrphansOfProcessOne(t *testing.T) {
	if os.Getpid() != 1 {
		asProcessOne(t)
		return
	}
	const engines = 100
	s := onStage(t, "", func(lim *limits.Limits) {
		lim.BackoffMin, lim.BackoffMax = time.Millisecond, 2*time.Millisecond
	})
	for n := range engines {
		if got := s.played(say(fmt.Sprint("litter ", n))); got != "<nil>" {
			t.Fatalf("the puppet cannot leave anything behind: %s", got)
		}
		if n == 0 {
			eventually(t, "what ends while its engine lives is reaped", func() bool { return processes(t) == 3 })
		}
		s.failed(say(fmt.Sprint("crash ", n)), ErrEngineFailed)
	}
	eventually(t, "the log knows how each engine ended", func() bool { // the last one's players hear of it sooner
		return strings.Count(s.log.String(), "exit status 7") == engines
	})
	eventually(t, "only the server and its engine are left", func() bool { return processes(t) == 2 })
}

// asProcessOne runs the test that calls it once more, as process 1.
func asProcessOne(t *testing.T) {
	t.Helper()
	isolate := []string{"--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Getuid() != 0 {
		isolate = append(isolate, "--user", "--map-root-user")
	}
	if out, err := exec.Command("unshare", append(isolate, "true")...).CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("unshare: %v: %s", err, out)
		}
		t.Skipf("unshare makes no namespace here: %v: %s", err, out)
	}
	out, err := exec.Command("unshare", append(isolate, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")...).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("as process 1: %v\n%s", err, out)
	}
}

// processes counts the processes of this namespace, the ended but unreaped ones too.
func processes(t *testing.T) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// An engine that has ended is seen and left to be reaped, also by a kernel that has no
// handles of processes.
func TestWaitUnreaped(t *testing.T) {
	for _, row := range []struct {
		name string
		wait func(pid int) bool
	}{
		{"by a handle", waitUnreaped},
		{"without one", func(pid int) bool { return waitid(pid, 0) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			cmd := exec.Command("cat")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if waitid(cmd.Process.Pid, unix.WNOHANG) {
				t.Error("it has ended, they say, and it waits for input")
			}
			ended := make(chan bool, 1)
			go func() { ended <- row.wait(cmd.Process.Pid) }()
			stdin.Close()
			if !<-ended {
				t.Error("it is no child of ours, they say")
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it cannot be reaped: %v", err)
			}
			if row.wait(cmd.Process.Pid) {
				t.Error("it has ended, they say, and it is not there any more")
			}
		})
	}
}
