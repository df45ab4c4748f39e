package servers

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kiribashiri/bench/measure"
)

// Answer is the face "a refusal and a page".
var Answer = measure.Face{Name: "answer", Title: "A refusal and a page", Run: runAnswer}

const (
	quiet       = "kiribashiri, without the log line"
	bareHandler = "bare net/http handler"
	caddy       = "Caddy"
	caddyLog    = "Caddy, with its access log"
	nginx       = "nginx"
)

// answerClients is how many clients ask in this face.
const answerClients = 8

// An asked is one kind of request of this face.
type asked struct {
	name    string
	request func(client int) []byte
	status  int
	why     string // what a profile showed to stand between ours and the bare handler
}

var refusal = asked{"429", turnRequest(moveBody(200)), http.StatusTooManyRequests,
	"In the profile of 2026-12-01 seven tenths of a refusal are net/http and the kernel, as in the bare handler. The log line takes 11 % of " +
		"it (half of that is its system call), reading and checking the move, which comes before the limiter, 8 %, and writing the refusal 6 %."}

var page = asked{"page", func(client int) []byte {
	return []byte("GET / HTTP/1.1\r\n" +
		"Host: play.example.org\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"Accept-Encoding: gzip, deflate, br\r\n" +
		"Accept-Language: ja,en;q=0.8\r\n" +
		"Sec-Fetch-Dest: document\r\n" +
		"Sec-Fetch-Mode: navigate\r\n" +
		"Sec-Fetch-Site: none\r\n" +
		"Upgrade-Insecure-Requests: 1\r\n" +
		"X-Forwarded-For: " + clientAddress(client) + "\r\n" +
		"X-Forwarded-Host: play.example.org\r\n" +
		"X-Forwarded-Proto: https\r\n" +
		"\r\n")
}, http.StatusOK,
	"In the profile of 2026-12-01 the two writes to the connection are 38 %, as in the bare handler. The log line takes 7 % of all (half of that " +
		"is its system call), http.ServeContent with its conditions and its copy about 5 %, and collecting the garbage of all this 8 %."}

func runAnswer(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	server, _, err := prepare(ctx, b)
	if err != nil {
		return err
	}
	first, err := startAnswering(ctx, b, server)
	if err != nil {
		return err
	}
	defer first.stop()
	lasts := 500 * time.Millisecond
	if b.Smoke {
		lasts = 20 * time.Millisecond
	}
	rounds := b.RoundsOr(21)
	s.Say("%d clients ask again and again; each server has one core for itself and the clients the other. The CPU time is user and system of the "+
		"server's process over its answers. The bare handler writes the very answer of ours, header for header and byte for byte, and does nothing "+
		"else. Ours writes a log line for each request (there is a row without, with `KIRI_LOG_LEVEL=warn`), and reads and checks a move before it refuses it. Caddy 2.11.9 has caddy-ratelimit v0.1.0 "+
		"and `file_server` with precompressed files, nginx `limit_req` and `gzip_static`; both send few of the headers. Medians of %d rounds "+
		"(quartiles).", answerClients, rounds)
	for _, ask := range []asked{refusal, page} {
		ours_ := first.contest(ours, &load{core: otherCore, clients: answerClients, request: ask.request, status: ask.status, lasts: lasts})
		answer, err := capture(first.addr, ask)
		if err != nil {
			return err
		}
		peers, err := startPeers(ctx, b, answer)
		if err != nil {
			return err
		}
		defer peers.stop()
		contestants := []measure.Contestant{ours_}
		for _, p := range peers {
			contestants = append(contestants, p.child.contest(p.name, &load{core: otherCore, clients: answerClients, request: ask.request, status: ask.status, lasts: lasts}))
		}
		// Everybody's first move is allowed; none of it is measured.
		for _, c := range append(peers, peer{ours, first}) {
			if err := spend(c.child.addr, ask); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		if _, err := measure.Interleave(ctx, 1, contestants); err != nil { // warm
			return err
		}
		b.Log("answer: %s, %d rounds", ask.name, rounds)
		got, err := measure.Interleave(ctx, rounds, contestants)
		if err != nil {
			return err
		}
		if b.Profiles != "" {
			l := load{core: otherCore, clients: answerClients, request: ask.request, status: ask.status}
			if err := first.profile(ctx, filepath.Join(b.Profiles, "answer-"+ask.name+".pprof"), l); err != nil {
				return err
			}
		}
		var rows [][]string
		for _, c := range contestants {
			rows = append(rows, []string{
				c.Name,
				got.Of(c.Name, "cpu").Format("%.1f"),
				got.Ratio(ours, c.Name, "cpu").Format("%.2f"),
				got.Of(c.Name, "rate").Brief("%.0f"),
				got.Of(c.Name, "p50").Brief("%.0f"),
				got.Of(c.Name, "clients").Times(100).Brief("%.0f %%"),
			})
		}
		s.Say("The %s, of %d bytes:", ask.name, len(answer.Body))
		s.Table([]string{"", "CPU µs a request", "ours by it", "requests/s", "p50 µs", "clients' core"}, rows)
		s.Promise(measure.AtMost(ask.name+": CPU a request at most 1.25 × the bare handler's", "%.2f", got.Ratio(ours, bareHandler, "cpu"), 1.25, ask.why))
		if len(got[caddy]) > 0 {
			s.Promise(measure.AtMost(ask.name+": CPU a request below Caddy's", "%.2f", got.Ratio(ours, caddy, "cpu"), 1, ""))
		}
	}
	return nil
}

// startAnswering starts a build of the server that allows each client one move.
func startAnswering(ctx context.Context, b *measure.Bench, server string) (*child, error) {
	env, err := answeringEnv(ctx, b)
	if err != nil {
		return nil, err
	}
	return start(ctx, b.Dir, serverCore, env, server)
}

func answeringEnv(ctx context.Context, b *measure.Bench) ([]string, error) {
	engine, err := buildEngine(ctx, b)
	if err != nil {
		return nil, err
	}
	reply, err := replyFile(b.Dir, 200)
	if err != nil {
		return nil, err
	}
	return serverEnv([]string{engine, reply}, "KIRI_PER_IP_PER_SEC=0.0001", "KIRI_PER_IP_BURST=1"), nil
}

// An answer is all of one, so that another server can give it.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// capture asks until the answer has the status that is wanted.
func capture(addr string, ask asked) (*answer, error) {
	for range 3 {
		a, err := exchange(addr, ask.request(0))
		if err != nil {
			return nil, err
		}
		if a.Status == ask.status {
			a.Header.Del("Date") // net/http writes its own
			return a, nil
		}
	}
	return nil, fmt.Errorf("%s: no %d came", ask.name, ask.status)
}

// spend has every client ask until it is answered as is wanted.
func spend(addr string, ask asked) error {
	for client := range answerClients {
		last := ""
		for range 3 {
			a, err := exchange(addr, ask.request(client))
			if err != nil {
				return err
			}
			if last = fmt.Sprintf("%d %v %s", a.Status, a.Header, a.Body[:min(len(a.Body), 100)]); a.Status == ask.status {
				last = ""
				break
			}
		}
		if last != "" {
			return fmt.Errorf("%s: not a %d: %s", ask.name, ask.status, last)
		}
	}
	return nil
}

// exchange sends one request, byte for byte, and reads its answer.
func exchange(addr string, request []byte) (*answer, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return &answer{response.StatusCode, response.Header, body}, err
}

// A peer is another server that gives the same answer.
type peer struct {
	name  string
	child *child
}

type peers []peer

func (ps peers) stop() {
	for _, p := range ps {
		p.child.stop()
	}
}

// startPeers starts all that can be had. A smoke run does with those that need not
// be built for minutes.
func startPeers(ctx context.Context, b *measure.Bench, a *answer) (_ peers, err error) {
	var ps peers
	defer func() {
		if err != nil {
			ps.stop()
		}
	}()
	add := func(name string, c *child, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ps = append(ps, peer{name, c})
		return nil
	}
	root, err := pageFolder(b, a)
	if err != nil {
		return ps, err
	}

	addr, err := freeAddr()
	if err != nil {
		return ps, err
	}
	env, err := answeringEnv(ctx, b)
	if err != nil {
		return ps, err
	}
	server, err := buildServer(ctx, b)
	if err != nil {
		return ps, err
	}
	c, err := startAt(ctx, b.Dir, addr, append(env, "KIRI_ADDR="+addr, "KIRI_LOG_LEVEL=warn"), server)
	if err := add(quiet, c, err); err != nil {
		return ps, err
	}
	if b.Beside != "" {
		c, err := startAnswering(ctx, b, b.Beside)
		if err := add(beside, c, err); err != nil {
			return ps, err
		}
	}
	c, err = startBare(ctx, b, a)
	if err := add(bareHandler, c, err); err != nil {
		return ps, err
	}
	program, err := buildCaddy(ctx, b)
	if err != nil {
		return ps, err
	}
	if program != "" {
		for _, name := range []string{caddy, caddyLog} {
			c, err := startCaddy(ctx, b, program, root, name == caddyLog)
			if err := add(name, c, err); err != nil {
				return ps, err
			}
		}
	}
	program = findNginx()
	if program == "" && b.Smoke {
		b.Log("answer: without nginx, which is not there")
		return ps, nil
	}
	c, err = startNginx(ctx, b, program, root)
	return ps, add(nginx, c, err)
}

// pageFolder is a folder for servers of files, with the page as it is and as it is
// compressed.
func pageFolder(b *measure.Bench, a *answer) (string, error) {
	root, err := os.MkdirTemp(b.Dir, "page-")
	if err != nil {
		return "", err
	}
	plain := a.Body
	if a.Header.Get("Content-Encoding") == "gzip" {
		if plain, err = inflate(a.Body); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(root, "index.html.gz"), a.Body, 0o644); err != nil {
			return "", err
		}
	}
	return root, os.WriteFile(filepath.Join(root, "index.html"), plain, 0o644)
}

func startBare(ctx context.Context, b *measure.Bench, a *answer) (*child, error) {
	program := filepath.Join(b.Dir, "bare")
	if err := command(ctx, ".", []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./peers/bare"); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(b.Dir, fmt.Sprintf("answer-%d", a.Status))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return nil, err
	}
	return start(ctx, b.Dir, serverCore, nil, program, path)
}

// caddyVersion names the Caddy of peers/caddy in the folder where it is kept.
const caddyVersion = "v2.11.9-ratelimit-v0.1.0"

// buildCaddy returns Caddy with its rate limiter, which is built the first time, for
// some minutes, and kept. A smoke run takes it if it is there.
func buildCaddy(ctx context.Context, b *measure.Bench) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "kiribashiri", "caddy-"+caddyVersion, "caddy")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if b.Smoke {
		b.Log("answer: without Caddy, which has not been built here")
		return "", nil
	}
	b.Log("building Caddy with its rate limiter")
	return path, command(ctx, "peers/caddy", nil, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
}

func startCaddy(ctx context.Context, b *measure.Bench, program, root string, logs bool) (*child, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	access := ""
	if logs {
		access = "log {\n output stdout\n format json\n }"
	}
	config := fmt.Sprintf(`{
	admin off
	auto_https off
	persist_config off
	servers {
		trusted_proxies static 127.0.0.0/8
	}
	order rate_limit before respond
}
http://%s {
	bind 127.0.0.1
	%s
	handle /api/* {
		rate_limit {
			zone moves {
				key {client_ip}
				events 1
				window 10000s
			}
		}
		respond 200
	}
	handle {
		root * %s
		file_server {
			precompressed gzip
		}
	}
}
`, ":"+portOf(addr), access, root)
	path := filepath.Join(root, fmt.Sprintf("Caddyfile-%v", logs))
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	return startAt(ctx, b.Dir, addr, []string{"HOME=" + b.Dir}, program, "run", "--config", path, "--adapter", "caddyfile")
}

// findNginx returns nginx's program, or nothing.
func findNginx() string {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	return ""
}

func startNginx(ctx context.Context, b *measure.Bench, program, root string) (*child, error) {
	if program == "" {
		return nil, errors.New("not there (Debian's package nginx-light)")
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	temps := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temps += fmt.Sprintf("\t%s_temp_path %s/%s;\n", kind, root, kind)
	}
	config := fmt.Sprintf(`daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
%[2]s
	access_log /dev/stdout;
	keepalive_requests 1000000000;
	default_type text/html;
	limit_req_zone $http_x_forwarded_for zone=moves:1m rate=1r/m; # once a minute one passes, into the next refusal
	server {
		listen %[3]s;
		root %[1]s;
		location = /api/turn { limit_req zone=moves; limit_req_status 429; try_files /none =429; }
		location / { gzip_static on; }
	}
}
`, root, temps, addr)
	path := filepath.Join(root, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	return startAt(ctx, b.Dir, addr, nil, program, "-p", root, "-c", path)
}

// freeAddr returns an address at which nobody listens just now.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

func inflate(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
