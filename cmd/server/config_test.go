package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
)

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
		{"buckets too slow to share", "KIRI_BUCKETS: ", nil, []string{"KIRI_BUCKETS=redis://127.0.0.1", "KIRI_PER_IP_PER_SEC=1e-9", "KIRI_PER_IP_BURST=10"}},
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
			"KIRI_ADDR":           {cfg.Addr, "127.0.0.1:8787"},
			"KIRI_ADMIN_ADDR":     {cfg.AdminAddr, "127.0.0.1:9464"},
			"KIRI_SIM":            {len(cfg.Sim), 0},
			"KIRI_KINDS":          {strings.Join(cfg.Kinds, " "), "look move say"},
			"KIRI_PROXIES":        {fmt.Sprint(cfg.Proxies), "[127.0.0.0/8 ::1/128]"},
			"KIRI_ORIGINS":        {len(cfg.Origins), 0},
			"KIRI_STATE_KEY_FILE": {cfg.StateKeys, keyFile{}},
			"KIRI_LOG_FORMAT":     {string(cfg.LogFormat), "auto"},
			"KIRI_LOG_LEVEL":      {cfg.LogLevel, slog.LevelInfo},
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
		keys := writeKeys(t, 1, 2)
		cfg, err := readConfig([]string{
			"KIRI_ADDR=:80", "KIRI_ADMIN_ADDR=[::1]:81", `KIRI_SIM=sh -c 'exec cat "$0"' "a b"`, "KIRI_SIM_ENGINES=3",
			"KIRI_KINDS=look, dance", "KIRI_PROXIES=10.0.0.0/8, 192.0.2.7,2001:db8::/32", "KIRI_ORIGINS=https://A.example:443,https://b.example:8443",
			"KIRI_LOG_FORMAT=json", "KIRI_LOG_LEVEL=debug", "KIRI_PER_IP_PER_SEC=0.4", "KIRI_PER_IP_BURST=1.5", "KIRI_QUEUE=1",
			"KIRI_STATE_KEY_FILE=" + keys, "KIRI_SIM_REPLY=1500ms", "KIRI_BODY_BYTES=1000", "KIRI_INPUT_CHARS=10", "KIRI_CLIENTS=5",
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
		if cfg.StateKeys.box == nil || cfg.StateKeys.shared {
			t.Errorf("keys %+v", cfg.StateKeys)
		}
		l := cfg.Limits
		if got, want := fmt.Sprint(l.SimEngines, l.PerIPPerSec, l.PerIPBurst, l.Queue, l.SimReply, l.BodyBytes, l.InputChars, l.Clients), "3 0.4 1.5 1 1.5s 1000 10 5"; got != want {
			t.Errorf("limits %s, want %s", got, want)
		}
	})
	t.Run("set to nothing", func(t *testing.T) {
		cfg, err := readConfig([]string{"KIRI_ADMIN_ADDR=", "KIRI_PROXIES=", "KIRI_QUEUE=", "KIRI_SIM=", "KIRI_KINDS=", "KIRI_STATE_KEY_FILE="})
		if err != nil {
			t.Fatal(err)
		}
		if cfg.AdminAddr != "" || len(cfg.Proxies) != 0 || cfg.Limits.Queue != 32 || len(cfg.Sim) != 0 || len(cfg.Kinds) != 3 || cfg.StateKeys.box != nil {
			t.Errorf("%+v", cfg)
		}
	})
	t.Run("all mistakes at once", func(t *testing.T) {
		wrong := []string{
			"KIRI_ADDR=8787", "KIRI_ADMIN_ADDR=localhost", "KIRI_SIM=/nowhere/engine serve", "KIRI_SIM_ENGINES=0", "KIRI_KINDS=look,new",
			"KIRI_PROXIES=10.0.0.0/33", "KIRI_LOG_FORMAT=xml", "KIRI_LOG_LEVEL=loud", "KIRI_PER_IP_PER_SEC=0", "KIRI_PER_IP_BURST=NaN",
			"KIRI_QUEUE=many", "KIRI_SIM_REPLY=30", "KIRI_BODY_BYTES=-1", "KIRI_INPUT_CHARS=1.5", "KIRI_CLIENTS=99999999999999999999", "KIRI_ORIGINS=friend.example",
			"KIRI_STATE_KEY_FILE=/nowhere/keys",
			"KIRI_BUCKETS=http://store",
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
		{`KIRI_SIM=cat "unfinished`, "a quote or a backslash has no end"},
		{"KIRI_SIM=  ", "no program"},
		{"KIRI_KINDS=look,look", "twice"},
		{"KIRI_KINDS=ping", "own kind"},
		{"KIRI_KINDS=\xff", "not UTF-8"},
		{"KIRI_ORIGINS=https://a.example,", "an entry is empty"},
		{"KIRI_ORIGINS=https://a.example/path", "without a slash"},
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

func TestBuckets(t *testing.T) {
	for _, row := range []struct{ value, where string }{
		{"redis://store", "store:6379"},
		{"valkey://alice:open%3Asesame@10.0.0.7:6380/3", "10.0.0.7:6380"},
		{"rediss://[2001:db8::7]", "[2001:db8::7]:6379"},
		{"valkeys://:open-sesame@store/", "store:6379"},
		{"redis://a:1, redis://b:2,redis://c:3", "a:1,b:2,c:3"},
		{"redis://alice:open-sesame@a,valkey://alice:open-sesame@b", "a:6379,b:6379"},
		{"", ""},
	} {
		cfg, err := readConfig([]string{"KIRI_BUCKETS=" + row.value})
		if err != nil || cfg.Buckets.String() != row.where || cfg.Buckets.IsZero() != (row.value == "") {
			t.Errorf("%q: %q, %v, want %q", row.value, cfg.Buckets, err, row.where)
		}
	}
	for _, row := range []struct{ value, says string }{
		{"http://alice:open-sesame@store", "want redis, rediss, valkey or valkeys"},
		{"alice:open-sesame@store:6379", "want redis"},
		{"store:6379", "want redis"},
		{"redis:store", "want redis://host:port"},
		{"redis://alice:open-sesame%zz@store", "want redis://host:port"},
		{"redis://alice:open-sesame@store:many", "want redis://host:port"},
		{"redis://alice:open-sesame@:6379", "no host"},
		{"redis://alice:open-sesame@store:70000", "the port"},
		{"redis://alice:open-sesame@store/first", "number of a database"},
		{"redis://alice:open-sesame@store/-1", "number of a database"},
		{"redis://alice:open-sesame@store?db=3", "no options"},
		{"redis://a,", "entry 2: want redis"},
		{"redis://alice:open-sesame@a,redis://b", "entry 2: a cluster's servers have one user"},
		{"redis://a,rediss://b", "all TLS or none"},
		{"redis://a,redis://b/1", "no databases"},
		{"redis://a/1,redis://b", "no databases"},
	} {
		_, err := readConfig([]string{"KIRI_BUCKETS=" + row.value})
		if err == nil || !strings.Contains(err.Error(), "KIRI_BUCKETS: ") || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want it to say %q", row.value, err, row.says)
		} else if strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "alice") {
			t.Errorf("%s: the credentials are shown: %v", row.value, err)
		}
	}
}

// writeKeys makes a file of keys, each of which is n throughout.
func writeKeys(t *testing.T, n ...byte) string {
	t.Helper()
	var text strings.Builder
	for _, n := range n {
		fmt.Fprintln(&text, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, 32)))
	}
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// What is wrong with a file of keys is said with its line, and no key is shown.
func TestKeyFileMistakes(t *testing.T) {
	const secret = "c2VjcmV0IHNlY3JldA=="
	name := filepath.Join(t.TempDir(), "keys")
	for _, row := range []struct{ file, says string }{
		{"", "no key in it"},
		{secret + "\n", "line 1 has 13 bytes, want 32"},
		{secret + "!\n", "line 1 is not base64"},
		{strings.Repeat(secret, 300), "too large"},
	} {
		if err := os.WriteFile(name, []byte(row.file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readConfig([]string{"KIRI_STATE_KEY_FILE=" + name})
		if err == nil || !strings.Contains(err.Error(), "KIRI_STATE_KEY_FILE: \""+name+"\": "+row.says) || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%v, want it to say %q and not the key", err, row.says)
		}
	}
	key, err := os.ReadFile(writeKeys(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readConfig([]string{"KIRI_STATE_KEY_FILE=" + string(key)}); err == nil || !strings.Contains(err.Error(), "this is a key") || strings.Contains(err.Error(), string(key[:8])) {
		t.Errorf("%v, want it to say that this is a key, and not the key", err)
	}
	for name, says := range map[string]string{name + ".none": "no such file", t.TempDir(): "is a directory"} {
		if _, err := readConfig([]string{"KIRI_STATE_KEY_FILE=" + name}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}

// Without a shared store nothing of it is there.
func TestWithoutBucketsNothingIsShared(t *testing.T) {
	cfg, err := readConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	limiter, _, err := newLimiter(cfg, registry, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := limiter.(*ratelimit.Limiter); !ok {
		t.Errorf("moves are charged by a %T", limiter)
	}
	if families, err := registry.Gather(); err != nil || len(families) > 0 {
		t.Errorf("it has metrics: %v %v", families, err)
	}
}

func TestEngineDoesNotInheritWhatIsOurs(t *testing.T) {
	cfg, err := readConfig([]string{"PATH=/bin", "KIRI_QUEUE=5", "KIRI_STATE_KEY_FILE=" + writeKeys(t, 1), "NOTIFY_SOCKET=/run/x", "LISTEN_FDS=1", "WATCHDOG_USEC=1", "LANG=ja_JP.UTF-8"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(cfg.engineEnv, " "); got != "PATH=/bin LANG=ja_JP.UTF-8" {
		t.Errorf("the engine gets %s", got)
	}
}

// Each manual explains every variable, with its default, and names systemd's.
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
		for _, variable := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
			if !bytes.Contains(manual, []byte("`"+variable+"`")) {
				t.Errorf("%s does not name %s", name, variable)
			}
		}
	}
}
