//go:build linux && !race

// The servers and Caddys are other processes, in which the race detector sees nothing.

package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
)

const fleetfile = "fleet/Caddyfile"

func TestFleetCaddyfile(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, program string, retries bool) {
		folder := t.TempDir()
		caddyfile := filepath.Join(folder, "Caddyfile")
		write(t, caddyfile, read(t, fleetfile))
		if retries {
			write(t, filepath.Join(folder, "kiribashiri.d", "retry.caddy"), read(t, "retry.caddy"))
		}
		if out, err := exec.Command(program, "validate", "--adapter", "caddyfile", "--config", caddyfile).CombinedOutput(); err != nil {
			t.Errorf("not valid: %v\n%s", err, out)
		}
		if out, _ := exec.Command(program, "fmt", fleetfile).Output(); string(out) != read(t, fleetfile) {
			t.Error("caddy fmt would change it")
		}
		cmd := exec.Command(program, "adapt", "--adapter", "caddyfile", "--config", caddyfile)
		cmd.Env = append(os.Environ(), "KIRI_UPSTREAMS=10.0.0.11:8787 10.0.0.12:8787")
		adapted, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var config any
		if err := json.Unmarshal(adapted, &config); err != nil {
			t.Fatal(err)
		}
		proxies := with(config, "handler", "reverse_proxy")
		if len(proxies) != 1 || len(with(proxies[0], "dial", nil)) != 2 {
			t.Fatalf("%d proxies, want one, of two servers", len(proxies))
		}
		if policies := with(proxies[0], "policy", "header"); len(policies) != 1 || policies[0]["field"] != "X-Kiri-Client" {
			t.Errorf("servers are chosen by %v", policies)
		}
		// Each rule of the map arrives as it was written.
		var arrived []string
		for _, rule := range with(config, "input_regexp", nil) {
			arrived = append(arrived, rule["input_regexp"].(string))
		}
		for _, rule := range mapRules(t) {
			if !slices.Contains(arrived, rule.input.String()) {
				t.Errorf("the rule %s does not arrive, among %q", rule.input, arrived)
			}
		}
	})
}

// The fleet's Caddyfile is the one of a single server, but for how a server is chosen.
func TestCaddyfilesDifferInTheirServersOnly(t *testing.T) {
	others := strings.Split(read(t, fleetfile), "\n")
	for line := range strings.SplitSeq(read(t, "Caddyfile"), "\n") {
		if i := slices.Index(others, line); i >= 0 {
			others = others[i+1:]
			continue
		}
		bare := strings.TrimSpace(line)
		if !strings.HasPrefix(bare, "#") && !strings.HasPrefix(bare, "reverse_proxy ") && !strings.HasPrefix(bare, "lb_try_duration ") {
			t.Errorf("the fleet's has no line %q", line)
		}
	}
}

type mapRule struct {
	input  *regexp.Regexp
	output string
}

// mapRules are those of the fleet's Caddyfile that say who is one client.
func mapRules(t *testing.T) []mapRule {
	t.Helper()
	var rules []mapRule
	for _, m := range regexp.MustCompile(`(?m)^\t\t~(\S+) (\S+)$`).FindAllStringSubmatch(read(t, fleetfile), -1) {
		rules = append(rules, mapRule{regexp.MustCompile(m[1]), m[2]})
	}
	if len(rules) == 0 {
		t.Fatal("there are no rules")
	}
	return rules
}

// Two addresses are sent to one server by their client exactly if the limiter takes
// them for one client.
func TestFleetTellsClientsApartAsTheServersDo(t *testing.T) {
	rules := mapRules(t)
	sentBy := func(addr netip.Addr) string {
		text := addr.String()
		for _, rule := range rules {
			if m := rule.input.FindStringSubmatchIndex(text); m != nil {
				return string(rule.input.ExpandString(nil, rule.output, text, m))
			}
		}
		return text
	}
	keys, clients := map[netip.Prefix]string{}, map[string]netip.Prefix{}
	random := rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		var raw [16]byte
		raw[0], raw[1] = 0x20, byte(random.IntN(3)) // what is routed begins with 2 or 3
		for i := 2; i < 16; i++ {
			if random.IntN(2) == 0 {
				continue
			}
			raw[i] = byte(random.IntN(3))
		}
		for group := 1; group < 8; group++ { // many zeros, in all places
			if random.IntN(2) == 0 {
				raw[2*group], raw[2*group+1] = 0, 0
			}
		}
		addr := netip.AddrFrom16(raw)
		client, key := ratelimit.Client(addr), sentBy(addr)
		if known, ok := keys[client]; ok && known != key {
			t.Fatalf("%s: the client %s is sent by %q and by %q", addr, client, known, key)
		}
		if known, ok := clients[key]; ok && known != client {
			t.Fatalf("%s: %s and %s are both sent by %q", addr, client, known, key)
		}
		keys[client], clients[key] = key, client
	}
	for _, text := range []string{"192.0.2.1", "10.0.0.1"} {
		if got := sentBy(netip.MustParseAddr(text)); got != text {
			t.Errorf("%s is sent by %q", text, got)
		}
	}
}

// A fleet is servers behind Caddys that all know all of them.
type fleet struct {
	t       *testing.T
	ports   []string
	servers []*program
	caddies []string // their ports
	environ []string
}

func startFleet(t *testing.T, path string, retry bool, servers, caddies int, environ ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, environ: environ, servers: make([]*program, servers)}
	var upstreams []string
	for i := range servers {
		f.ports = append(f.ports, freePort(t))
		upstreams = append(upstreams, "127.0.0.1:"+f.ports[i])
		f.start(i)
	}
	for range caddies {
		port := freePort(t)
		runCaddy(t, path, read(t, fleetfile), port, "KIRI_UPSTREAMS="+strings.Join(upstreams, " "), retry)
		f.caddies = append(f.caddies, port)
	}
	return f
}

func (f *fleet) start(i int) {
	f.t.Helper()
	cmd := exec.Command(built(f.t))
	cmd.Env = append(os.Environ(), append([]string{"KIRI_ADDR=127.0.0.1:" + f.ports[i], "KIRI_ADMIN_ADDR="}, f.environ...)...)
	f.servers[i] = launch(f.t, cmd)
	well(f.t, "127.0.0.1:"+f.ports[i])
}

// A mover is a client with an address of its own, who keeps count.
type mover struct {
	addr    string
	http    http.Client
	began   time.Time
	ended   time.Time
	passed  int
	refused int
	others  []string // answers that are neither
}

func newMover(n int) *mover {
	m := &mover{addr: fmt.Sprintf("127.0.7.%d", n)}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(m.addr)}}
	m.http = http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: dialer.DialContext}}
	return m
}

// move begins a game at a Caddy's port.
func (m *mover) move(port string) {
	if m.began.IsZero() {
		m.began = time.Now()
	}
	got, err := m.http.Post("http://127.0.0.1:"+port+"/api/new", "application/json", strings.NewReader(fmt.Sprintf(`{"browserId":%q}`, m.addr)))
	m.ended = time.Now()
	if err != nil {
		m.others = append(m.others, err.Error())
		return
	}
	defer got.Body.Close()
	body, _ := io.ReadAll(got.Body)
	switch {
	case got.StatusCode == http.StatusOK:
		m.passed++
	case got.StatusCode == http.StatusTooManyRequests && strings.Contains(string(body), "rate_limited"):
		m.refused++
	default:
		m.others = append(m.others, fmt.Sprintf("%d %s", got.StatusCode, body))
	}
}

// servedBy returns which server has charged a client: the only one.
func (f *fleet) servedBy(m *mover) (by int) {
	f.t.Helper()
	eventually(f.t, "the log has "+m.addr, func() bool { // it is written after the answer
		by = slices.IndexFunc(f.servers, m.playsAt)
		return by >= 0
	})
	if rest := f.servers[by+1:]; slices.ContainsFunc(rest, m.playsAt) {
		f.t.Errorf("%s was served by several servers", m.addr)
	}
	return by
}

func (m *mover) playsAt(server *program) bool {
	return strings.Contains(server.log.String(), `"client":"`+m.addr+`/32"`)
}

// Whichever Caddy a client's moves come through, they are limited as by one server.
func TestFleetLimitsAsOneServer(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, path string, retries bool) {
		f := startFleet(t, path, retries, 3, 2, "KIRI_PER_IP_PER_SEC=0.001", "KIRI_PER_IP_BURST=3")
		used := map[int]bool{}
		for n := range 24 {
			m := newMover(n + 1)
			for i := range 8 {
				m.move(f.caddies[(n+i)%2])
			}
			if m.passed != 3 || m.refused != 5 {
				t.Errorf("%s: %d moves passed, %d were refused, others %q; want 3 and 5", m.addr, m.passed, m.refused, m.others)
			}
			used[f.servedBy(m)] = true
		}
		if len(used) != 3 {
			t.Errorf("24 clients are on the servers %v, want all three", used)
		}
	})
}

// A server is killed in the middle of play and comes back. No move is lost where Caddy
// sends it again; what each client gets is what one server would give him, and at most
// one full bucket for each change of his server.
func TestFleetLosesAServer(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, path string, retries bool) {
		const perSecond, burst = 0.5, 6
		f := startFleet(t, path, retries, 3, 2, "KIRI_PER_IP_PER_SEC=0.5", "KIRI_PER_IP_BURST=6", "KIRI_QUEUE=1000")
		movers := make([]*mover, 9)
		home := make([]int, len(movers))
		for i := range movers {
			movers[i] = newMover(100 + i)
			movers[i].move(f.caddies[0])
			home[i] = f.servedBy(movers[i])
		}
		away := home[0]
		stop := make(chan struct{})
		var playing sync.WaitGroup
		for i, m := range movers {
			playing.Go(func() {
				for n := i; ; n++ {
					select {
					case <-stop:
						return
					case <-time.After(50 * time.Millisecond):
						m.move(f.caddies[n%2])
					}
				}
			})
		}
		time.Sleep(time.Second)
		f.servers[away].cmd.Process.Kill()
		<-f.servers[away].ended
		time.Sleep(5 * time.Second)
		f.start(away)
		back := f.servers[away]
		eventually(t, "its clients are back", func() bool { return movers[0].playsAt(back) })
		time.Sleep(3 * time.Second)
		close(stop)
		playing.Wait()

		for i, m := range movers {
			changes := 0.0
			if home[i] == away {
				changes = 2
			}
			// For a moment one Caddy knows of a change and the other does not, and the client
			// earns on both servers.
			const moment = 3.0 // seconds; the Caddyfile has them look once a second
			if most := burst + perSecond*m.ended.Sub(m.began).Seconds() + changes*(burst+perSecond*moment); float64(m.passed) > math.Floor(most) {
				t.Errorf("%s: %d moves passed in %v, want at most %.1f with %v changes", m.addr, m.passed, m.ended.Sub(m.began), most, changes)
			}
			for _, other := range m.others {
				// Caddy 2.6 cannot send a move again: the page does, for it is told to.
				if retries || !strings.Contains(other, "engine_down") {
					t.Errorf("%s: a move is answered %s", m.addr, other)
				}
			}
		}
	})
}

// A server that drains is still well, so that Caddy takes nobody's connection away; its
// checks must come often enough to see a server that has gone before the page gives up.
func TestFleetChecksAreQuickerThanThePage(t *testing.T) {
	text := read(t, fleetfile)
	for _, name := range []string{"fail_duration", "health_interval", "health_timeout"} {
		m := regexp.MustCompile(`(?m)^\s+` + name + ` (\S+)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s", name)
		}
		if d, err := time.ParseDuration(m[1]); err != nil || d <= 0 || d > limits.Default().PageWait/2 {
			t.Errorf("%s is %s; the page waits %v", name, m[1], limits.Default().PageWait)
		}
	}
}
