//go:build linux

package deploy

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

func TestCaddyfile(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, program string, retries bool) {
		folder := t.TempDir()
		caddyfile := filepath.Join(folder, "Caddyfile")
		write(t, caddyfile, read(t, "Caddyfile"))
		if retries {
			write(t, filepath.Join(folder, "kiribashiri.d", "retry.caddy"), read(t, "retry.caddy"))
		}
		if out, err := exec.Command(program, "validate", "--adapter", "caddyfile", "--config", caddyfile).CombinedOutput(); err != nil {
			t.Errorf("not valid: %v\n%s", err, out)
		}
		for _, name := range []string{"Caddyfile", "retry.caddy"} {
			if out, _ := exec.Command(program, "fmt", name).Output(); string(out) != read(t, name) {
				t.Errorf("%s: caddy fmt would change it", name)
			}
		}

		cmd := exec.Command(program, "adapt", "--adapter", "caddyfile", "--config", caddyfile)
		cmd.Env = append(os.Environ(), "KIRI_SITE=play.example.org")
		adapted, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var config any
		if err := json.Unmarshal(adapted, &config); err != nil {
			t.Fatal(err)
		}
		proxies := with(config, "handler", "reverse_proxy")
		if len(proxies) != 1 {
			t.Fatalf("%d proxies, want one", len(proxies))
		}
		proxy := proxies[0]
		// One server: whatever takes it out of service leaves nobody to answer.
		if checks, ok := proxy["health_checks"]; ok {
			t.Errorf("it checks the health of the only server: %v", checks)
		}
		balancing, _ := proxy["load_balancing"].(map[string]any)
		if _, ok := balancing["retry_match"]; ok != retries {
			t.Errorf("moves are sent again: %v, want %v", ok, retries)
		}
		// Caddy lets go of a connection before the server does, and before the drain's
		// first phase is over, so that no move meets one that is just closing.
		keepAlive := with(proxy, "protocol", "http")[0]["keep_alive"].(map[string]any)
		idle := time.Duration(keepAlive["idle_timeout"].(float64))
		if lim := limits.Default(); idle >= lim.DrainClose || idle >= lim.IdleTime || idle <= 0 {
			t.Errorf("Caddy keeps idle connections for %v; the drain gives %v, the server %v", idle, lim.DrainClose, lim.IdleTime)
		}
		for _, limiter := range []string{"rate_limit", "ratelimit"} {
			if strings.Contains(string(adapted), limiter) {
				t.Errorf("Caddy limits rates: %s", limiter)
			}
		}
		if compressors := with(config, "handler", "encode"); len(compressors) > 0 {
			t.Error("Caddy compresses what the server has compressed")
		}
		if hosts := with(config, "host", nil); len(hosts) == 0 {
			t.Error("the site has no name")
		}
	})
}

// with returns all objects in config in which a key has a value, or any if the
// value is nil.
func with(config any, key string, value any) []map[string]any {
	var all []map[string]any
	switch c := config.(type) {
	case []any:
		for _, entry := range c {
			all = append(all, with(entry, key, value)...)
		}
	case map[string]any:
		if got, ok := c[key]; ok && (value == nil || got == value) {
			all = append(all, c)
		}
		for _, entry := range c {
			all = append(all, with(entry, key, value)...)
		}
	}
	return all
}

// An older Caddy refuses the snippet that is not for it, and so cannot lose moves by it.
func TestOldCaddyRefusesToRetry(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "Caddyfile"), read(t, "Caddyfile"))
	write(t, filepath.Join(folder, "kiribashiri.d", "retry.caddy"), read(t, "retry.caddy"))
	cmd := exec.Command(found(t, "caddy"), "validate", "--adapter", "caddyfile", "--config", filepath.Join(folder, "Caddyfile"))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "retry.caddy") {
		t.Errorf("%v: %s", err, out)
	}
}

// exchange sends a request as it stands from one of this machine's addresses, and
// returns the answer with its body read.
func exchange(t *testing.T, from, to, request string) (*http.Response, string) {
	t.Helper()
	local, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(from, "0"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{LocalAddr: local}).Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%v, as the answer to\n%s", err, request)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("%v, in the answer to\n%s", err, request)
	}
	return got, string(body)
}

// newGame is a request for one, with headers of the caller's and a browser's name.
func newGame(browser string, headers ...string) string {
	body := fmt.Sprintf(`{"browserId":%q}`, browser)
	lines := append([]string{"POST /api/new HTTP/1.1", "Host: play.example.org", "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body))}, headers...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// What a caller may write about himself, and whom a CDN at 127.0.0.1 would name by it.
var vectors = []struct {
	name    string
	from    string
	headers []string
	behind  string // the client, if the caller is a CDN that is believed, as 10.0.0.0/8 is
}{
	{"nothing", "127.0.0.1", nil, "127.0.0.1/32"},
	{"one", "127.0.0.1", []string{"X-Forwarded-For: 1.2.3.4"}, "1.2.3.4/32"},
	{"two", "127.0.0.1", []string{"X-Forwarded-For: 1.2.3.4, 5.6.7.8"}, "5.6.7.8/32"},
	{"two-lines", "127.0.0.1", []string{"X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 5.6.7.8"}, "5.6.7.8/32"},
	{"several", "127.0.0.1", []string{"X-Forwarded-For: 6.6.6.6, 1.2.3.4, 10.0.0.9"}, "1.2.3.4/32"},
	{"garbage", "127.0.0.1", []string{"X-Forwarded-For: garbage"}, "127.0.0.1/32"},
	{"garbage-left", "127.0.0.1", []string{"X-Forwarded-For: junk, 5.6.7.8"}, "5.6.7.8/32"},
	{"garbage-between", "127.0.0.1", []string{"X-Forwarded-For: 6.6.6.6, junk, 10.0.0.9"}, "10.0.0.9/32"},
	{"port", "127.0.0.1", []string{"X-Forwarded-For: 1.2.3.4:5555"}, "1.2.3.4/32"},
	{"ipv6-port", "127.0.0.1", []string{"X-Forwarded-For: [2001:db8::7]:443"}, "2001:db8::/64"},
	{"brackets", "127.0.0.1", []string{"X-Forwarded-For: [2001:db8::7]"}, "127.0.0.1/32"},
	{"mapped", "127.0.0.1", []string{"X-Forwarded-For: ::ffff:1.2.3.4"}, "1.2.3.4/32"},
	{"hop-by-hop", "127.0.0.1", []string{"Connection: X-Forwarded-For", "X-Forwarded-For: 1.2.3.4"}, "127.0.0.1/32"},
	{"underscores", "127.0.0.1", []string{"X_Forwarded_For: 1.2.3.4"}, "127.0.0.1/32"},
	{"x-real-ip", "127.0.0.1", []string{"X-Real-IP: 1.2.3.4"}, "127.0.0.1/32"},
	{"forwarded", "127.0.0.1", []string{"Forwarded: for=1.2.3.4"}, "127.0.0.1/32"},
	{"true-client-ip", "127.0.0.1", []string{"True-Client-IP: 1.2.3.4"}, "127.0.0.1/32"},
	{"cf-connecting-ip", "127.0.0.1", []string{"CF-Connecting-IP: 1.2.3.4"}, "127.0.0.1/32"},
	{"other-peer", "127.0.0.2", []string{"X-Forwarded-For: 1.2.3.4"}, "127.0.0.2/32"},
	{"other-peer-several", "127.0.0.2", []string{"X-Forwarded-For: 6.6.6.6, 1.2.3.4, 10.0.0.9"}, "127.0.0.2/32"},
	{"ipv6", "::1", []string{"X-Forwarded-For: 1.2.3.4"}, "::/64"},
}

// at is where somebody with an address calls a port of this machine.
func at(from, port string) string {
	if strings.Contains(from, ":") {
		return "[::1]:" + port
	}
	return "127.0.0.1:" + port
}

// As the Caddyfile is shipped, nothing that a caller writes is believed.
func TestCallersDoNotNameThemselves(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, path string, _ bool) {
		s := openSocket(t)
		server := s.serve(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000")
		port, _ := startCaddy(t, path, s.addr, false, nil)
		for _, v := range vectors {
			want := v.from + "/32"
			if v.from == "::1" {
				want = "::/64"
			}
			if got, body := exchange(t, v.from, at(v.from, port), newGame(v.name, v.headers...)); got.StatusCode != 200 {
				t.Errorf("%s: %d %s", v.name, got.StatusCode, body)
			} else if got := charged(t, server, v.name); got != want {
				t.Errorf("%s: %s was charged, want %s", v.name, got, want)
			}
		}
	})
}

func TestNoSpoofedHeaderReachesABucket(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, path string, _ bool) {
		s := openSocket(t)
		s.serve(t, "KIRI_PER_IP_PER_SEC=0.001", "KIRI_PER_IP_BURST=2")
		port, _ := startCaddy(t, path, s.addr, false, nil)
		status := func(from string, headers ...string) int {
			got, _ := exchange(t, from, at(from, port), newGame("b", headers...))
			return got.StatusCode
		}
		if got := []int{status("127.0.0.1"), status("127.0.0.1")}; got[0] != 200 || got[1] != 200 {
			t.Errorf("the first two moves: %v", got)
		}
		for i, name := range []string{"X-Forwarded-For", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "X_Forwarded_For", "X-Client-IP"} {
			if got := status("127.0.0.1", fmt.Sprintf("%s: 203.0.113.%d", name, i)); got != 429 {
				t.Errorf("with another address in %s: %d, want 429", name, got)
			}
		}
		if got := status("127.0.0.1", "Forwarded: for=203.0.113.99"); got != 429 {
			t.Errorf("with another address in Forwarded: %d, want 429", got)
		}
		if got := []int{status("127.0.0.2"), status("127.0.0.2"), status("127.0.0.2")}; got[0] != 200 || got[1] != 200 || got[2] != 429 {
			t.Errorf("another client's three moves: %v", got)
		}
	})
}

// Behind a CDN, with the two edits of docs/OPERATING.md.
func TestBehindACDN(t *testing.T) {
	const line, instead = "header_up X-Forwarded-For {remote_host}\n", "trusted_proxies 203.0.113.0/24 2001:db8:c::/48\n"
	for _, manual := range []string{"OPERATING.md", "OPERATING.ja.md"} {
		if text := read(t, filepath.Join("..", "docs", manual)); !strings.Contains(text, line) || !strings.Contains(text, instead) {
			t.Errorf("%s does not say this", manual)
		}
	}
	withEachCaddy(t, func(t *testing.T, path string, _ bool) {
		s := openSocket(t)
		server := s.serve(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000", "KIRI_PROXIES=127.0.0.1,10.0.0.0/8")
		port, _ := startCaddy(t, path, s.addr, false, func(caddyfile, _ string) string {
			if !strings.Contains(caddyfile, line) {
				t.Fatalf("the Caddyfile has no line %s", line)
			}
			return strings.Replace(caddyfile, line, "trusted_proxies 127.0.0.1 10.0.0.0/8\n", 1)
		})
		for _, v := range vectors {
			if got, body := exchange(t, v.from, at(v.from, port), newGame(v.name, v.headers...)); got.StatusCode != 200 {
				t.Errorf("%s: %d %s", v.name, got.StatusCode, body)
			} else if got := charged(t, server, v.name); got != v.behind {
				t.Errorf("%s: %s was charged, want %s", v.name, got, v.behind)
			}
		}
	})
}

// In a container the peer is the network's gateway, here 127.0.0.9.
func TestInAContainer(t *testing.T) {
	for _, row := range []struct{ proxies, want string }{
		{"127.0.0.9", "1.2.3.4/32"},
		{"172.17.0.1", "127.0.0.9/32"}, // everybody's bucket, until the gateway is named
	} {
		port := freePort(t)
		cmd := exec.Command(built(t))
		cmd.Env = append(os.Environ(), "KIRI_ADDR=0.0.0.0:"+port, "KIRI_ADMIN_ADDR=", "KIRI_PROXIES="+row.proxies)
		server := launch(t, cmd)
		well(t, "127.0.0.1:"+port)
		exchange(t, "127.0.0.9", "127.0.0.1:"+port, newGame("contained", "X-Forwarded-For: 1.2.3.4"))
		if got := charged(t, server, "contained"); got != row.want {
			t.Errorf("KIRI_PROXIES=%s: %s was charged, want %s", row.proxies, got, row.want)
		}
	}
}

// Whatever Caddy answers by itself looks like an answer of the server's, and is as
// safe; of Caddy it says nothing.
func TestCaddysOwnAnswers(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, path string, retries bool) {
		s := openSocket(t)
		server := s.serve(t)
		well(t, s.addr)
		alive, _ := startCaddy(t, path, s.addr, retries, nil)
		dead, _ := startCaddy(t, path, "127.0.0.1:"+freePort(t), retries, nil)
		large := strings.Repeat("x", 100_000)
		for _, row := range []struct {
			name, port, request string
			status              int
			code                string // "" outside the API
			retryAfter          string
			ours                bool // the server's own
		}{
			{"a server that is gone", dead, newGame("b"), 503, "engine_down", "1", false},
			{"a page of a server that is gone", dead, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 503, "", "1", false},
			{"metrics", alive, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 404, "", "", false},
			{"profiles", alive, "GET /debug/pprof/heap HTTP/1.1\r\nHost: x\r\n\r\n", 404, "", "", false},
			{"a large body", alive, "POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n" + large, 413, "too_large", "", false},
			{"a body just too large", alive, "POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 70000\r\n\r\n" + large[:70_000], 413, "too_large", "", true},
			{"a large body in chunks", alive, "POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" + large + "\r\n0\r\n\r\n", 413, "too_large", "", true},
			{"the server's own 404", alive, "GET /api/nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not_found", "", true},
			{"the page", alive, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200, "", "", true},
		} {
			got, body := exchange(t, "127.0.0.1", "127.0.0.1:"+row.port, row.request)
			if got.StatusCode != row.status || got.Header.Get("Retry-After") != row.retryAfter {
				t.Errorf("%s: %d with Retry-After %q, want %d with %q", row.name, got.StatusCode, got.Header.Get("Retry-After"), row.status, row.retryAfter)
			}
			if row.code != "" {
				var said struct {
					OK          *bool
					Code, Error string
				}
				if err := json.Unmarshal([]byte(body), &said); err != nil || said.OK == nil || *said.OK || said.Code != row.code || said.Error == "" {
					t.Errorf("%s: %s, want an error body with code %s", row.name, body, row.code)
				}
				if media := got.Header.Get("Content-Type"); media != "application/json; charset=utf-8" {
					t.Errorf("%s: media type %q", row.name, media)
				}
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
				"Strict-Transport-Security": "max-age=31536000", "Content-Security-Policy": "default-src 'none'",
			} {
				if values := got.Header.Values(name); len(values) != 1 || !strings.HasPrefix(values[0], want) {
					t.Errorf("%s: %s is %q, want one that begins with %q", row.name, name, values, want)
				}
			}
			for _, name := range []string{"Server", "Via"} {
				if value := got.Header.Get(name); value != "" {
					t.Errorf("%s: it says %s: %s", row.name, name, value)
				}
			}
		}
		// The body in chunks broke off at Caddy's bound, and is not sent again for that.
		if n := strings.Count(server.log.String(), `"code":"client_left"`); n > 1 {
			t.Errorf("the server heard %d times of a body that is too long", n)
		}
	})
}

// As it stands the site has TLS, here with a certificate of Caddy's own and on other
// ports: HTTP/2, the true client, and no way past TLS.
func TestSiteHasTLS(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, path string, _ bool) {
		s := openSocket(t)
		server := s.serve(t)
		plain := freePort(t)
		port, _ := startCaddy(t, path, s.addr, false, func(caddyfile, port string) string {
			caddyfile = strings.Replace(caddyfile, "{$KIRI_SITE:localhost} {", "localhost {", 1)
			return strings.Replace(caddyfile, "\tgrace_period", "\thttp_port "+plain+"\n\thttps_port "+port+"\n\tskip_install_trust\n\tgrace_period", 1)
		})
		client := http.Client{
			Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		var got *http.Response
		eventually(t, "there is a certificate", func() bool {
			r, _ := http.NewRequest("POST", "https://localhost:"+port+"/api/new", strings.NewReader(`{"browserId":"tls"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Forwarded-For", "6.6.6.6")
			var err error
			if got, err = client.Do(r); err == nil {
				got.Body.Close()
			}
			return err == nil
		})
		if got.StatusCode != 200 || got.ProtoMajor != 2 {
			t.Errorf("a move: %d over %s", got.StatusCode, got.Proto)
		}
		if who := charged(t, server, "tls"); who != "127.0.0.1/32" && who != "::/64" {
			t.Errorf("%s was charged", who)
		}
		got, err := client.Get("http://localhost:" + plain + "/")
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if to := got.Header.Get("Location"); got.StatusCode != 308 || !strings.HasPrefix(to, "https://localhost") {
			t.Errorf("without TLS: %d to %q, want 308 to the same with TLS", got.StatusCode, to)
		}
	})
}

func TestAccessLogIsDiscreet(t *testing.T) {
	withEachCaddy(t, func(t *testing.T, path string, _ bool) {
		s := openSocket(t)
		s.serve(t)
		port, caddy := startCaddy(t, path, s.addr, false, nil)
		exchange(t, "127.1.2.3", "127.0.0.1:"+port, newGame("b", "Cookie: secret", "Authorization: Bearer secret", "X-Token: secret"))
		eventually(t, "Caddy logs the request", func() bool { return strings.Contains(caddy.log.String(), `"uri":"/api/new"`) })
		for _, private := range []string{"secret", "127.1.2.3", "Bearer"} {
			if strings.Contains(caddy.log.String(), private) {
				t.Errorf("the log has %s", private)
			}
		}
		if !strings.Contains(caddy.log.String(), "127.1.2.0") {
			t.Error("the log does not have the client's network")
		}
	})
}
