//go:build linux

package deploy

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

var units = []string{"kiribashiri.service", "kiribashiri.socket", "kiribashiri-admin.socket"}

// installed returns a folder with the units, whose program is the one just built.
func installed(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, unit := range units {
		write(t, filepath.Join(folder, unit), strings.ReplaceAll(read(t, unit), "/usr/local/bin/kiribashiri", built(t)))
	}
	return folder
}

func TestUnitsAreValid(t *testing.T) {
	cmd := exec.Command(found(t, "systemd-analyze"), append([]string{"verify", "--recursive-errors=yes"}, units...)...)
	cmd.Dir = installed(t)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// The lines that the manual adds for a key are ones that systemd understands.
func TestUnitTakesAStateKey(t *testing.T) {
	var recipe string
	for line := range strings.Lines(read(t, "../docs/OPERATING.md")) {
		if strings.HasPrefix(line, "printf '[Service]\\nLoadCredential=") {
			recipe, _, _ = strings.Cut(line, " >")
		}
	}
	added, err := exec.Command("sh", "-c", recipe).Output()
	if err != nil || !strings.Contains(string(added), "\nEnvironment=KIRI_STATE_KEY_FILE=%d/state-key\n") {
		t.Fatalf("%q makes %q, %v", recipe, added, err)
	}
	for _, row := range []struct {
		added string
		valid bool
	}{{string(added), true}, {strings.Replace(string(added), "LoadC", "LaodC", 1), false}} {
		folder := installed(t)
		if err := os.Mkdir(filepath.Join(folder, "kiribashiri.service.d"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "kiribashiri.service.d", "state-key.conf"), row.added)
		cmd := exec.Command(found(t, "systemd-analyze"), append([]string{"verify", "--recursive-errors=yes"}, units...)...)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); (err == nil && len(out) == 0) != row.valid {
			t.Errorf("%q: %v: %s", row.added, err, out)
		}
	}
}

func TestServiceIsExposedLittle(t *testing.T) {
	cmd := exec.Command(found(t, "systemd-analyze"), "security", "--offline=true", "--no-pager", "--threshold=10", "./kiribashiri.service") // 1.0
	cmd.Dir = installed(t)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	t.Log(regexp.MustCompile("(?m)^.*Overall.*$").FindString(string(out)))
}

// setting returns the last value of a key in a unit.
func setting(t *testing.T, unit, key string) string {
	t.Helper()
	all := regexp.MustCompile("(?m)^"+regexp.QuoteMeta(key)+"=(.*)$").FindAllStringSubmatch(read(t, unit), -1)
	if len(all) == 0 {
		t.Fatalf("%s has no %s", unit, key)
	}
	return all[len(all)-1][1]
}

// span reads a time of systemd's, whose unit is a second if it has none.
func span(t *testing.T, unit, key string) time.Duration {
	t.Helper()
	value := setting(t, unit, key)
	if _, err := strconv.Atoi(value); err == nil {
		value += "s"
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// systemd has to wait for as long as the server may need by its own limits.
func TestServiceWaitsLongEnough(t *testing.T) {
	lim := limits.Default()
	engineStops := 2*lim.StopStep + lim.ReapTime + lim.PipeLinger // closed stdin, SIGTERM, SIGKILL
	for _, row := range []struct {
		key, what string
		takes     time.Duration
	}{
		{"TimeoutStopSec", "both phases of the drain, and the engine's end after them", 2*lim.DrainClose + lim.DrainWait + engineStops},
		{"TimeoutStartSec", "an engine that loads as slowly as it may, after one that failed", 2*lim.SimReply + lim.BackoffMin},
		// It is fed at half of its time, so a feed may come that much earlier.
		{"WatchdogSec", "twice the longest time without an engine that ends well", 2 * (lim.BackoffMax + lim.SimReply)},
	} {
		if got := span(t, "kiribashiri.service", row.key); got <= row.takes {
			t.Errorf("%s=%v, but %s may take %v", row.key, got, row.what, row.takes)
		}
	}
}

func TestUnitsSayWhatTheServerRestsOn(t *testing.T) {
	for _, row := range []struct{ unit, key, want string }{
		{"kiribashiri.socket", "FileDescriptorName", "http"},
		{"kiribashiri.socket", "ListenStream", "127.0.0.1:8787"}, // where the Caddyfile looks
		{"kiribashiri-admin.socket", "FileDescriptorName", "admin"},
		{"kiribashiri-admin.socket", "ListenStream", "127.0.0.1:9464"},
		{"kiribashiri-admin.socket", "Service", "kiribashiri.service"},
		{"kiribashiri.service", "Type", "notify"},
		{"kiribashiri.service", "NotifyAccess", "main"},  // an engine has no say
		{"kiribashiri.service", "KillMode", "mixed"},     // SIGTERM is not for the engine
		{"kiribashiri.service", "OOMPolicy", "continue"}, // an engine without memory ends alone
		{"kiribashiri.service", "ExecReload", "/bin/kill -HUP $MAINPID"},
	} {
		if got := setting(t, row.unit, row.key); got != row.want {
			t.Errorf("%s: %s=%s, want %s", row.unit, row.key, got, row.want)
		}
	}
	if !strings.Contains(read(t, "Caddyfile"), setting(t, "kiribashiri.socket", "ListenStream")) {
		t.Error("the Caddyfile does not name the socket's address")
	}
}

// What the server and its engine ask of the kernel, from the start to the end, is
// inside the service's filter.
func TestSystemCallsAreInsideTheFilter(t *testing.T) {
	strace, analyze := found(t, "strace"), found(t, "systemd-analyze")
	if out, err := exec.Command(strace, "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("strace: %v: %s", err, out)
		}
		t.Skipf("strace: %v: %s", err, out)
	}

	folder := t.TempDir()
	s := openSocket(t)
	trace, pid := filepath.Join(folder, "trace"), filepath.Join(folder, "pid")
	cmd := exec.Command(strace, "-f", "-qq", "-o", trace, "sh", "-c", `echo $$ >"$1"; LISTEN_PID=$$ exec "$0"`, built(t), pid)
	cmd.ExtraFiles = []*os.File{s.file}
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=http", "KIRI_ADMIN_ADDR=", "GOMEMLIMIT=200MiB", "WATCHDOG_USEC=1000000",
		"NOTIFY_SOCKET="+filepath.Join(folder, "notify"))
	server := launch(t, cmd)
	well(t, s.addr)
	main, err := strconv.Atoi(strings.TrimSpace(read(t, pid)))
	if err != nil {
		t.Fatal(err)
	}
	play := func() {
		t.Helper()
		got, err := http.Post("http://"+s.addr+"/api/new", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != 200 {
			t.Errorf("a move: %d", got.StatusCode)
		}
	}
	engines := func() []int {
		var all []int
		children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", main))
		for _, name := range children {
			text, _ := os.ReadFile(name)
			for field := range strings.FieldsSeq(string(text)) {
				child, _ := strconv.Atoi(field)
				all = append(all, child)
			}
		}
		return all
	}
	play()
	syscall.Kill(main, syscall.SIGHUP) // another engine
	eventually(t, "the engine is replaced", func() bool { return strings.Contains(server.log.String(), "engine is replaced") })
	eventually(t, "one engine is there", func() bool { return len(engines()) == 1 })
	syscall.Kill(engines()[0], syscall.SIGKILL) // as the kernel does when memory is short
	eventually(t, "the end of the engine is noticed", func() bool { return strings.Contains(server.log.String(), "engine failed") })
	well(t, s.addr)
	play()
	time.Sleep(time.Second) // for the runtime's own calls, and the watchdog
	syscall.Kill(main, syscall.SIGTERM)
	<-server.ended

	sets := map[string][]string{}
	expand := func(set string) []string {
		out, err := exec.Command(analyze, "syscall-filter", "--no-pager").Output()
		if err != nil {
			t.Fatal(err)
		}
		if len(sets) == 0 {
			name := ""
			for line := range strings.Lines(string(out)) {
				word := strings.TrimSpace(line)
				switch {
				case strings.HasPrefix(line, "@"):
					name = word
				case word != "" && !strings.HasPrefix(word, "#"):
					sets[name] = append(sets[name], word)
				}
			}
		}
		var calls []string
		var into func(string)
		into = func(entry string) {
			if !strings.HasPrefix(entry, "@") {
				calls = append(calls, entry)
				return
			}
			for _, one := range sets[entry] {
				into(one)
			}
		}
		into(set)
		return calls
	}
	allowed := map[string]bool{}
	for _, line := range regexp.MustCompile("(?m)^SystemCallFilter=(.*)$").FindAllStringSubmatch(read(t, "kiribashiri.service"), -1) {
		entries, denied := strings.CutPrefix(line[1], "~")
		for set := range strings.FieldsSeq(entries) {
			for _, call := range expand(set) {
				allowed[call] = !denied
			}
		}
	}
	if len(allowed) < 200 {
		t.Fatalf("only %d system calls are named by the filter", len(allowed))
	}
	var used, outside []string
	for _, call := range regexp.MustCompile(`(?m)^\d+ +([a-z_0-9]+)\(`).FindAllStringSubmatch(read(t, trace), -1) {
		if !slices.Contains(used, call[1]) {
			used = append(used, call[1])
			if !allowed[call[1]] {
				outside = append(outside, call[1])
			}
		}
	}
	t.Logf("%d system calls: %v", len(used), used)
	if len(outside) > 0 {
		t.Errorf("outside of the filter: %v", outside)
	}
	if len(used) < 20 {
		t.Errorf("the trace has only %v", used)
	}
}

// The manuals' commands for it, as far as they can be tried without a systemd.
func TestUnitsAreEnabled(t *testing.T) {
	systemctl := found(t, "systemctl")
	root := t.TempDir()
	for _, unit := range units {
		write(t, filepath.Join(root, "etc/systemd/system", unit), read(t, unit))
	}
	if out, err := exec.Command(systemctl, append([]string{"--root=" + root, "enable"}, units...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, link := range []string{
		"multi-user.target.wants/kiribashiri.service", "sockets.target.wants/kiribashiri.socket", "sockets.target.wants/kiribashiri-admin.socket",
	} {
		if _, err := os.Lstat(filepath.Join(root, "etc/systemd/system", link)); err != nil {
			t.Error(err)
		}
	}
}

// Both manuals give the same commands, and name files that are there.
func TestManualsGiveTheSameCommands(t *testing.T) {
	blocks := func(name string) []string {
		return regexp.MustCompile("(?ms)^```\n.*?^```$").FindAllString(read(t, filepath.Join("..", "docs", name)), -1)
	}
	english, japanese := blocks("OPERATING.md"), blocks("OPERATING.ja.md")
	if len(english) < 5 || !slices.Equal(english, japanese) {
		t.Errorf("%d blocks in English, %d in Japanese, or they differ", len(english), len(japanese))
	}
	for _, file := range regexp.MustCompile(`deploy/[\w.-]+`).FindAllString(strings.Join(english, "\n"), -1) {
		if _, err := os.Stat(filepath.Join("..", file)); err != nil {
			t.Error(err)
		}
	}
}

// PrivateNetwork= leaves the server nothing but the sockets that it is given.
func TestServerNeedsNoNetwork(t *testing.T) {
	unshare := found(t, "unshare")
	if out, err := exec.Command(unshare, "--net", "true").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skipf("%v: %s", err, out)
	}
	s := openSocket(t)
	cmd := exec.Command(unshare, "--net", "sh", "-c", `LISTEN_PID=$$ exec "$0"`, built(t))
	cmd.ExtraFiles = []*os.File{s.file}
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=http", "KIRI_ADMIN_ADDR=")
	server := launch(t, cmd)
	well(t, s.addr)
	exchange(t, "127.0.0.2", s.addr, newGame("alone", "X-Forwarded-For: 203.0.113.7"))
	if got := charged(t, server, "alone"); got != "203.0.113.7/32" {
		t.Errorf("%s was charged", got)
	}
}

// The drop-ins of docs/SCALING.md are valid, and do to the units what they are for.
func TestDropInsOfTheManual(t *testing.T) {
	for _, manual := range []string{"SCALING.md", "SCALING.ja.md"} {
		folder := installed(t)
		blocks := regexp.MustCompile("(?ms)^```ini\n# /etc/systemd/system/(\\S+)\n(.*?)^```$").FindAllStringSubmatch(read(t, filepath.Join("..", "docs", manual)), -1)
		if len(blocks) != 2 {
			t.Fatalf("%s has %d drop-ins, want 2", manual, len(blocks))
		}
		for _, block := range blocks {
			write(t, filepath.Join(folder, block[1]), block[2])
		}
		verify := func() string {
			cmd := exec.Command(found(t, "systemd-analyze"), append([]string{"verify", "--recursive-errors=yes"}, units...)...)
			cmd.Dir = folder
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Sprintf("%v: %s", err, out)
			}
			return string(out)
		}
		if said := verify(); said != "" {
			t.Errorf("%s: %s", manual, said)
		}
		for _, block := range blocks { // they are really read
			write(t, filepath.Join(folder, block[1]), block[2]+"NoSuchKey=yes\n")
			if said := verify(); !strings.Contains(said, "NoSuchKey") {
				t.Errorf("%s: a mistake in %s is not noticed: %q", manual, block[1], said)
			}
			write(t, filepath.Join(folder, block[1]), block[2])
		}
	}
}
