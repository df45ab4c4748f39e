package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caarlos0/env/v11"
	"github.com/google/shlex"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/seal"
	"kiribashiri/internal/sharedlimit"
)

// errMistaken marks what the operator has to put right before a start can help.
var errMistaken = errors.New("the configuration has mistakes")

// config is the whole environment of a server. The defaults stand in
// defaultConfig and in limits.Default.
type config struct {
	Limits limits.Limits

	// Addr is the public listener's address, for the proxy to call.
	Addr string `env:"KIRI_ADDR"`
	// AdminAddr is the private listener's, for metrics and profiles; empty for none.
	AdminAddr string `env:"KIRI_ADMIN_ADDR"`
	// Sim is the engine's program and arguments; empty for the built-in engine.
	Sim command `env:"KIRI_SIM"`
	// Kinds are the kinds of move that the engine knows.
	Kinds list `env:"KIRI_KINDS"`
	// Proxies are the peers whose X-Forwarded-For is believed.
	Proxies prefixes `env:"KIRI_PROXIES"`
	// Origins are the other origins whose pages may call the API.
	Origins origins `env:"KIRI_ORIGINS"`
	// Buckets is the store of the clients' buckets that several servers share; without
	// one each server has its own.
	Buckets sharedlimit.Store `env:"KIRI_BUCKETS"`
	// StateKeys seal the states that players carry; none: they go in the open.
	StateKeys keyFile `env:"KIRI_STATE_KEY_FILE"`
	// LogFormat is text, json, or auto: text on a terminal and JSON elsewhere.
	LogFormat logFormat `env:"KIRI_LOG_FORMAT"`
	// LogLevel is debug, info, warn or error.
	LogLevel slog.Level `env:"KIRI_LOG_LEVEL"`

	unknown   []string // variables that begin like ours and are none of them
	engineEnv []string // what of the environment is the engine's
}

func defaultConfig() config {
	return config{
		Limits:    limits.Default(),
		Addr:      "127.0.0.1:8787",
		AdminAddr: "127.0.0.1:9464",
		Kinds:     list{"look", "move", "say"},
		Proxies:   prefixes{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		LogFormat: "auto",
	}
}

// readConfig reads the environment, and reports all mistakes in it at once, each
// with its variable's name.
func readConfig(environ []string) (config, error) {
	cfg := defaultConfig()
	set := env.ToMap(environ)
	// The library takes a variable that is set to nothing as not set. For these two
	// nothing means something: no private listener, no proxy that is believed.
	if value, ok := set["KIRI_ADMIN_ADDR"]; ok && value == "" {
		cfg.AdminAddr = ""
	}
	if value, ok := set["KIRI_PROXIES"]; ok && value == "" {
		cfg.Proxies = nil
	}

	var mistakes []error
	if err := env.ParseWithOptions(&cfg, env.Options{Environment: set}); err != nil {
		all, ok := errors.AsType[env.AggregateError](err)
		if !ok {
			return cfg, err
		}
		for _, one := range all.Errors {
			if parse, ok := errors.AsType[env.ParseError](one); ok {
				name := variable(parse.Name)
				one = fmt.Errorf("%s: %q: %s", name, set[name], wanted(parse))
				if parse.Type == reflect.TypeFor[sharedlimit.Store]() || errors.Is(parse.Err, errKeyItself) { // it may hold a secret
					one = fmt.Errorf("%s: %s", name, wanted(parse))
				}
			}
			mistakes = append(mistakes, one)
		}
	}
	mistakes = append(mistakes, cfg.Limits.Mistakes()...)
	mistakes = append(mistakes, cfg.mistakes()...)
	if len(mistakes) > 0 {
		return cfg, fmt.Errorf("%w:\n%w", errMistaken, errors.Join(mistakes...))
	}

	known := variables()
	for name := range set {
		if strings.HasPrefix(name, "KIRI_") && !slices.Contains(known, name) {
			cfg.unknown = append(cfg.unknown, name)
		}
	}
	slices.Sort(cfg.unknown)
	cfg.engineEnv = engineEnvironment(environ)
	return cfg, nil
}

// wanted says in plain words what a value should have been.
func wanted(parse env.ParseError) string {
	if errors.Is(parse.Err, strconv.ErrRange) {
		return "too large"
	}
	switch parse.Type {
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return "want a whole number"
	case reflect.TypeFor[float64]():
		return "want a number"
	case reflect.TypeFor[time.Duration]():
		return "want a duration with its unit, such as 30s"
	case reflect.TypeFor[slog.Level]():
		return "want debug, info, warn or error"
	}
	return parse.Err.Error() // of our own types
}

// mistakes returns what is wrong beyond the reading of single values.
func (cfg *config) mistakes() []error {
	var mistakes []error
	wrong := func(name, format string, args ...any) {
		mistakes = append(mistakes, fmt.Errorf(name+": "+format, args...))
	}
	if err := checkAddr(cfg.Addr); err != nil {
		wrong("KIRI_ADDR", "%q: %w", cfg.Addr, err)
	}
	if err := checkAddr(cfg.AdminAddr); cfg.AdminAddr != "" && err != nil {
		wrong("KIRI_ADMIN_ADDR", "%q: %w", cfg.AdminAddr, err)
	}
	if len(cfg.Sim) > 0 {
		if _, err := exec.LookPath(cfg.Sim[0]); err != nil {
			wrong("KIRI_SIM", "%w", err)
		}
	}
	for i, kind := range cfg.Kinds {
		switch {
		case kind == "new" || kind == "ping":
			wrong("KIRI_KINDS", "%q is the server's own kind", kind)
		case !utf8.ValidString(kind):
			wrong("KIRI_KINDS", "%q is not UTF-8", kind)
		case slices.Contains(cfg.Kinds[:i], kind):
			wrong("KIRI_KINDS", "%q stands twice in it", kind)
		}
	}
	if len(cfg.Kinds) == 0 {
		wrong("KIRI_KINDS", "no kind in it")
	}
	return mistakes
}

func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return errors.New("want host:port")
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("no port %q", port)
	}
	if _, err := netip.ParseAddr(host); host != "" && host != "localhost" && err != nil {
		return errors.New("want an address before the port, or nothing for all")
	}
	return nil
}

// engineEnvironment is the environment without what is meant for this process:
// our variables, which may hold secrets, and the service manager's.
func engineEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		for _, ours := range []string{"KIRI_", "LISTEN_", "NOTIFY_SOCKET", "WATCHDOG_"} {
			if strings.HasPrefix(name, ours) {
				return true
			}
		}
		return false
	})
}

// variables returns the names of all variables, and variable that of one field.
func variables() []string {
	var names []string
	for _, t := range []reflect.Type{reflect.TypeFor[config](), reflect.TypeFor[limits.Limits]()} {
		for i := range t.NumField() {
			if name := t.Field(i).Tag.Get("env"); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

func variable(field string) string {
	for _, t := range []reflect.Type{reflect.TypeFor[config](), reflect.TypeFor[limits.Limits]()} {
		if f, ok := t.FieldByName(field); ok {
			return f.Tag.Get("env")
		}
	}
	return field
}

// A list is written with commas between its entries.
type list []string

func (l *list) UnmarshalText(text []byte) error {
	*l = nil
	for entry := range strings.SplitSeq(string(text), ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			return errors.New("an entry is empty")
		}
		*l = append(*l, entry)
	}
	return nil
}

// origins are written as browsers send them: lower case, no default port.
type origins []string

func (o *origins) UnmarshalText(text []byte) error {
	var entries list
	if err := entries.UnmarshalText(text); err != nil {
		return err
	}
	*o = nil
	for _, entry := range entries {
		entry = strings.ToLower(entry)
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(entry); err != nil {
			return fmt.Errorf("%q is no origin: want one such as https://example.org, without a slash at the end", entry)
		}
		scheme, host, _ := strings.Cut(entry, "://")
		switch scheme {
		case "https":
			entry = strings.TrimSuffix(entry, ":443")
		case "http":
			entry = strings.TrimSuffix(entry, ":80")
		default:
			return fmt.Errorf("%q: pages come from http or https", entry)
		}
		if host == "" {
			return fmt.Errorf("%q has no host", entry)
		}
		*o = append(*o, entry)
	}
	return nil
}

// A keyFile is what a file of keys holds. Its errors never show a key.
type keyFile struct {
	box    *seal.Box
	shared bool // every user of this machine can read it
}

var errKeyItself = errors.New("this is a key, want the name of a file that holds it")

// maxKeyFile bounds a key file, in bytes.
const maxKeyFile = 4 << 10

func (k *keyFile) UnmarshalText(name []byte) error {
	if _, err := seal.New(name); err == nil {
		return errKeyItself
	}
	file, err := os.Open(string(name))
	if err != nil {
		return reason(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return reason(err)
	}
	// Elsewhere the bits say nothing.
	k.shared = runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0
	keys, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	switch {
	case err != nil:
		return reason(err)
	case len(keys) > maxKeyFile:
		return errors.New("too large for a file of keys")
	}
	k.box, err = seal.New(keys)
	return err
}

// reason is err without the file's name, for where that is said already.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// prefixes are networks or single addresses with commas between them.
type prefixes []netip.Prefix

func (p *prefixes) UnmarshalText(text []byte) error {
	var entries list
	if err := entries.UnmarshalText(text); err != nil {
		return err
	}
	*p = nil
	for _, entry := range entries {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			addr, err := netip.ParseAddr(entry)
			if err != nil || addr.Zone() != "" {
				return fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", entry)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if addr := prefix.Addr(); addr.Is4In6() {
			return fmt.Errorf("%q: write it as IPv4", entry)
		}
		*p = append(*p, prefix.Masked())
	}
	return nil
}

// A command is a program and its arguments, written as for a shell.
type command []string

func (c *command) UnmarshalText(text []byte) error {
	words, err := shlex.Split(string(text))
	if err != nil {
		return errors.New("a quote or a backslash has no end")
	}
	if len(words) == 0 {
		return errors.New("no program in it")
	}
	*c = words
	return nil
}

type logFormat string

func (f *logFormat) UnmarshalText(text []byte) error {
	*f = logFormat(text)
	if !slices.Contains([]logFormat{"auto", "text", "json"}, *f) {
		return errors.New("want auto, text or json")
	}
	return nil
}
