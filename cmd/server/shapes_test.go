package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/simbridge"
)

// A recorder is an engine that plays at once and remembers what it was given.
type recorder struct {
	mu     sync.Mutex
	inputs []string
}

func (r *recorder) Play(_ context.Context, m simbridge.Move) (simbridge.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	input := m.Kind
	if m.Input != nil {
		input = *m.Input
	}
	r.inputs = append(r.inputs, input)
	return simbridge.Reply{Line: fmt.Appendf(nil, `{"ok":true,"text":%q}`, input)}, nil
}

func (*recorder) Status() simbridge.Status { return simbridge.Status{Engines: 1, Up: 1} }

// played returns what was played since it was last asked.
func (r *recorder) played() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.inputs
	r.inputs = nil
	return all
}

// A wire is a connection on which every byte is the test's.
type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute)) // no answer at all is no answer
	return &wire{t, conn, bufio.NewReader(conn)}
}

// answer reads one, and returns its status, its body and whether it says that the
// connection closes; a status of 0 is a connection that was closed without one.
func (w *wire) answer(method string) (status int, body string, closes bool) {
	w.t.Helper()
	got, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.t.Fatal("neither an answer nor an end")
		}
		return 0, "", true
	}
	text, err := io.ReadAll(got.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Fatal("the answer has no end")
	}
	return got.StatusCode, string(text), got.Close
}

// ended claims that nothing more comes, once the client has nothing more to say.
func (w *wire) ended() {
	w.t.Helper()
	w.Conn.(*net.TCPConn).CloseWrite()
	rest, err := io.ReadAll(w.in)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Error("the connection stays open")
	}
	if len(rest) > 0 {
		w.t.Errorf("after the answer comes %q", rest)
	}
}

// say is a whole request that has a move played.
func say(input string) string {
	body := fmt.Sprintf(`{"kind":"say","input":%q}`, input)
	return fmt.Sprintf("POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// Every shape that a request may be bent into: what comes back, whether the
// connection goes on, and what was played of it. Where it says closed, everything
// behind the shape is lost with the connection, so nothing can hide there.
func TestRequestShapes(t *testing.T) {
	const (
		open   = false
		closed = true
		move   = `{"kind":"say","input":"a"}` // 26 bytes
		typed  = "Content-Type: application/json\r\n"
		post   = "POST /api/turn HTTP/1.1\r\nHost: x\r\n" + typed
	)
	played := []string{"a"}
	for _, row := range []struct {
		name, sends string
		status      int
		closes      bool
		says        string
		plays       []string
	}{
		{"a good move", post + "Content-Length: 26\r\n\r\n" + move, 200, open, `"text":"a"`, played},
		{"a good move in chunks", post + "Transfer-Encoding: chunked\r\n\r\nd\r\n" + move[:13] + "\r\nd\r\n" + move[13:] + "\r\n0\r\n\r\n", 200, closed, `"text":"a"`, played},

		// Two opinions about where a request ends.
		{"two lengths that differ", post + "Content-Length: 26\r\nContent-Length: 5\r\n\r\n" + move, 400, closed, "400 Bad Request", nil},
		{"two lengths that agree", post + "Content-Length: 26\r\nContent-Length: 26\r\n\r\n" + move, 200, open, `"text":"a"`, played},
		{"two lengths in one line", post + "Content-Length: 26, 26\r\n\r\n" + move, 400, closed, "400 Bad Request", nil},
		{"a length and chunks", post + "Content-Length: 26\r\nTransfer-Encoding: chunked\r\n\r\n1a\r\n" + move + "\r\n0\r\n\r\n", 200, closed, `"text":"a"`, played},
		{"chunks and a length", post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n1a\r\n" + move + "\r\n0\r\n\r\n", 200, closed, `"text":"a"`, played},
		{"a length of chunks that are none", post + "Content-Length: 26\r\nTransfer-Encoding: identity\r\n\r\n" + move, 501, closed, "Unsupported transfer encoding", nil},
		{"chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501, closed, "Unsupported", nil},
		{"chunked, compressed", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, closed, "Unsupported", nil},
		{"chunked behind a vertical tab", post + "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n", 400, closed, "400", nil},
		{"chunked behind a space before the colon", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400, closed, "400", nil},
		{"a length below 0", post + "Content-Length: -1\r\n\r\n", 400, closed, "400", nil},
		{"a length with a sign", post + "Content-Length: +26\r\n\r\n" + move, 400, closed, "400", nil},
		{"a length in hexadecimal", post + "Content-Length: 0x1a\r\n\r\n" + move, 400, closed, "400", nil},
		{"a length that is none", post + "Content-Length: \r\n\r\n" + move, 400, closed, "400", nil},
		{"a length beyond 64 bits", post + "Content-Length: 18446744073709551642\r\n\r\n" + move, 400, closed, "400", nil},
		{"chunks in HTTP/1.0", "POST /api/turn HTTP/1.0\r\n" + typed + "Transfer-Encoding: chunked\r\n\r\n1a\r\n" + move + "\r\n0\r\n\r\n", 400, closed, "the body is empty", nil},
		{"a chunk larger than 64 bits", post + "Transfer-Encoding: chunked\r\n\r\n1000000000000001a\r\n" + move + "\r\n0\r\n\r\n", 400, closed, "bad_request", nil},
		{"a chunk of a length below 0", post + "Transfer-Encoding: chunked\r\n\r\n-1a\r\n" + move + "\r\n0\r\n\r\n", 400, closed, "bad_request", nil},
		{"a chunk that is longer than it says", post + "Transfer-Encoding: chunked\r\n\r\n5\r\n" + move + "\r\n0\r\n\r\n", 400, closed, "bad_request", nil},
		{"chunks with extensions", post + "Transfer-Encoding: chunked\r\n\r\n1a;a=b;c=\"d\"\r\n" + move + "\r\n0;e\r\n\r\n", 200, closed, `"text":"a"`, played},
		{"a chunk extension without end", post + "Transfer-Encoding: chunked\r\n\r\n1a;" + strings.Repeat("x", 20_000) + "\r\n" + move + "\r\n0\r\n\r\n", 400, closed, "bad_request", nil},
		{"chunks of one byte that are mostly extension", post + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("x", 2000)+"\r\n \r\n", 100) + "0\r\n\r\n", 400, closed, "bad_request", nil},
		{"trailers", post + "Transfer-Encoding: chunked\r\nTrailer: X-Forwarded-For\r\n\r\n1a\r\n" + move + "\r\n0\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n", 200, closed, `"text":"a"`, played},
		{"a forbidden trailer", post + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n1a\r\n" + move + "\r\n0\r\n\r\n", 400, closed, "400", nil},
		{"trailers without end", post + "Transfer-Encoding: chunked\r\n\r\n1a\r\n" + move + "\r\n0\r\nX: " + strings.Repeat("x", 300_000), 400, closed, "bad_request", nil},
		{"a body that nobody announced", "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n" + move + "\r\n\r\n", 200, open, `"ok":true`, nil}, // what follows is a request of its own, a bad one
		{"a body on a path that takes none", "GET /api/health HTTP/1.1\r\nHost: x\r\nContent-Length: 26\r\n\r\n" + move, 200, open, `"ok":true`, nil},

		// Line ends and blanks.
		{"bare line feeds", "POST /api/turn HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: 26\n\n" + move, 200, open, `"text":"a"`, played},
		{"bare line feeds in chunks", post + "Transfer-Encoding: chunked\r\n\r\n1a\n" + move + "\n0\n\n", 400, closed, "bad_request", nil},
		{"a bare carriage return in a header", post + "X: a\rContent-Length: 5\r\nContent-Length: 26\r\n\r\n" + move, 400, closed, "400", nil},
		{"a leading line break", "\r\n" + post + "Content-Length: 26\r\n\r\n" + move, 400, closed, "400", nil},
		{"a header folded over two lines", post + "X: a\r\n Content-Length: 5\r\nContent-Length: 26\r\n\r\n" + move, 200, open, `"text":"a"`, played},
		{"a header that begins folded", "POST /api/turn HTTP/1.1\r\n X: a\r\nHost: x\r\n\r\n", 400, closed, "400", nil},
		{"a header name with a space", post + "X Y: a\r\n\r\n", 400, closed, "400", nil},
		{"a header without a name", post + ": a\r\n\r\n", 400, closed, "400", nil},
		{"a header without a colon", post + "X\r\n\r\n", 400, closed, "400", nil},
		{"NUL in a header", post + "X: a\x00b\r\n\r\n", 400, closed, "400", nil},
		{"NUL in a header's name", post + "X\x00: a\r\n\r\n", 400, closed, "400", nil},
		{"other bytes in a header", post + "X: \xff\xfe\x80\r\nContent-Length: 26\r\n\r\n" + move, 200, open, `"text":"a"`, played},
		{"a megabyte of one header", "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", 431, closed, "431", nil},
		{"a megabyte of many headers", "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: x\r\n", 1<<20/6) + "\r\n", 431, closed, "431", nil},
		{"a megabyte of target", "GET /" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, closed, "431", nil},
		{"a megabyte of method", strings.Repeat("X", 1<<20) + " / HTTP/1.1\r\nHost: x\r\n\r\n", 431, closed, "431", nil},

		// Versions and methods.
		{"HTTP/1.0 without a host", "GET /api/health HTTP/1.0\r\n\r\n", 200, closed, `"ok":true`, nil},
		{"HTTP/1.0 that stays", "GET /api/health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, open, `"ok":true`, nil},
		{"a move in HTTP/1.0", "POST /api/turn HTTP/1.0\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 200, closed, `"text":"a"`, played},
		{"HTTP/0.9", "GET /\r\n\r\n", 400, closed, "400", nil},
		{"HTTP/2 without being asked", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404, closed, "there is nothing", nil},
		{"HTTP/3.0", "GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505, closed, "505", nil},
		{"HTTP/1.9", "GET /api/health HTTP/1.9\r\nHost: x\r\n\r\n", 200, open, `"ok":true`, nil},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 64) + "\r\n\r\n", 400, closed, "400", nil},
		{"garbage", "\x00\x01\x02\x03\r\n\r\n", 400, closed, "400", nil},
		{"a method in small letters", "post /api/turn HTTP/1.1\r\nHost: x\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 405, open, "method_not_allowed", nil},
		{"a method of one's own", "BREW /api/turn HTTP/1.1\r\nHost: x\r\n\r\n", 405, open, "method_not_allowed", nil},
		{"a method that is none", "G@T /api/turn HTTP/1.1\r\nHost: x\r\n\r\n", 400, closed, "400", nil},
		{"TRACE, which would show headers back", "TRACE /api/turn HTTP/1.1\r\nHost: x\r\nCookie: secret\r\n\r\n", 405, open, "method_not_allowed", nil},
		{"CONNECT to another host", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 404, open, "there is nothing", nil},
		{"OPTIONS of everything", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "there is nothing", nil},
		{"a method put into a header", "POST /api/health HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n\r\n", 405, open, "method_not_allowed", nil},

		// Hosts and targets.
		{"no host", "GET /api/health HTTP/1.1\r\n\r\n", 400, closed, "missing required Host header", nil},
		{"two hosts", "GET /api/health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, closed, "400", nil},
		{"a host that is none", "GET /api/health HTTP/1.1\r\nHost: a b\r\n\r\n", 400, closed, "malformed Host header", nil},
		{"another's host", "GET /api/health HTTP/1.1\r\nHost: evil.example\r\n\r\n", 200, open, `"ok":true`, nil},
		{"a whole address as the target", "GET http://evil.example/api/health HTTP/1.1\r\nHost: x\r\n\r\n", 200, open, `"ok":true`, nil},
		{"a move to a whole address", "POST http://evil.example/api/turn HTTP/1.1\r\nHost: x\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 200, open, `"text":"a"`, played},
		{"another scheme", "GET file:///etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "there is nothing", nil},
		{"no target", "GET  HTTP/1.1\r\nHost: x\r\n\r\n", 400, closed, "400", nil},
		{"two slashes", "POST //api/turn HTTP/1.1\r\nHost: x\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 404, open, "there is nothing", nil},
		{"two slashes further in", "POST /api//turn HTTP/1.1\r\nHost: x\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 404, open, "not_found", nil},
		{"a path that climbs", "POST /api/../api/turn HTTP/1.1\r\nHost: x\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 404, open, "not_found", nil},
		{"a path that climbs out", "GET /../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "there is nothing", nil},
		{"a path that stays", "POST /api/./turn HTTP/1.1\r\nHost: x\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 404, open, "not_found", nil},
		{"an escaped slash", "POST /api%2fturn HTTP/1.1\r\nHost: x\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 404, open, "there is nothing", nil},
		{"an escaped letter", "POST /api/t%75rn HTTP/1.1\r\nHost: x\r\n" + typed + "Content-Length: 26\r\n\r\n" + move, 404, open, "not_found", nil},
		{"escaped dots", "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "there is nothing", nil},
		{"a backslash", "GET /api\\health HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "there is nothing", nil},
		{"an escape that is none", "GET /api/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, closed, "400", nil},
		{"NUL in the path", "GET /api/health\x00 HTTP/1.1\r\nHost: x\r\n\r\n", 400, closed, "400", nil},
		{"an escaped NUL", "GET /api/health%00 HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "not_found", nil},
		{"a slash at the end", "GET /api/health/ HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "not_found", nil},
		{"other letters", "GET /API/health HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "there is nothing", nil},
		{"a question behind the path", "GET /api/health?a=%00&b=../ HTTP/1.1\r\nHost: x\r\n\r\n", 200, open, `"ok":true`, nil},
		{"a semicolon", "GET /api/health;a=b HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "not_found", nil},
		{"a fragment", "GET /api/health#a HTTP/1.1\r\nHost: x\r\n\r\n", 404, open, "not_found", nil},
		{"the private listener's", "GET /debug/pprof/ HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n", 404, open, "there is nothing", nil},

		// Expectations and upgrades.
		{"an expectation of the wrong kind", post + "Expect: 200-ok\r\nContent-Length: 26\r\n\r\n" + move, 417, closed, "", nil},
		{"too much is not even asked for", post + "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n", 413, closed, "too_large", nil},
		{"what is no JSON is not asked for", "POST /api/turn HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 26\r\n\r\n", 415, closed, "unsupported_media_type", nil},
		{"what has no address is not asked for", "POST /nope HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 26\r\n\r\n", 404, closed, "there is nothing", nil},
		{"a websocket", "GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", 200, open, `"ok":true`, nil},
		{"a websocket on a move", "GET /api/turn HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", 405, open, "method_not_allowed", nil},
		{"an upgrade to HTTP/2", post + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: 26\r\n\r\n" + move, 200, open, `"text":"a"`, played},

		// Bodies that are refused.
		{"a little too much", post + "Content-Length: 65537\r\n\r\n" + strings.Repeat("x", 65537), 413, open, "too_large", nil},
		{"much too much", post + "Content-Length: 1000000000\r\n\r\n" + strings.Repeat("x", 1<<20), 413, closed, "too_large", nil},
		{"chunks without end", post + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1000\r\n"+strings.Repeat("x", 0x1000)+"\r\n", 256), 413, closed, "too_large", nil},
		{"a compressed body", post + "Content-Encoding: gzip\r\nContent-Length: 26\r\n\r\n\x1f\x8b\x08" + strings.Repeat("\x00", 23), 400, open, "bad_request", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			engine := new(recorder)
			openFront(t, l, limits.Default(), engine)
			w := dial(t, l.Addr().String())
			go io.WriteString(w, row.sends) // whoever refuses early may not read it all
			method, _, _ := strings.Cut(row.sends, " ")
			status, body, closes := w.answer(method)
			if status != row.status || closes != row.closes || !strings.Contains(body, row.says) {
				t.Errorf("status %d, closes %v, says %q; want %d, %v, %q", status, closes, body, row.status, row.closes, row.says)
			}
			if got := engine.played(); !slices.Equal(got, row.plays) {
				t.Errorf("it played %q, want %q", got, row.plays)
			}
			if row.closes {
				w.ended()
			}
			good := dial(t, l.Addr().String())
			io.WriteString(good, say("霧"))
			if status, body, _ := good.answer("POST"); status != 200 || !strings.Contains(body, "霧") {
				t.Errorf("afterwards a good player gets %d %s", status, body)
			}
			if got := engine.played(); !slices.Equal(got, []string{"霧"}) {
				t.Errorf("afterwards it played %q", got)
			}
		})
	}
}

// Requests that come in one segment are answered in their order, each charged.
func TestPipelinedRequests(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	engine := new(recorder)
	lim := limits.Default()
	lim.PerIPPerSec, lim.PerIPBurst = 0.001, 3 // so slow that no machine is too busy for it
	openFront(t, l, lim, engine)
	w := dial(t, l.Addr().String())
	io.WriteString(w, say("一")+"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"+say("二")+say("三")+say("四")+"POST /api/turn HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n{"+say("五"))
	for _, want := range []string{"200 一", `200 "ok":true`, "200 二", "200 三", "429 rate_limited", "415 unsupported_media_type", "429 rate_limited"} {
		status, body, _ := w.answer("POST")
		if wantStatus, says, _ := strings.Cut(want, " "); fmt.Sprint(status) != wantStatus || !strings.Contains(body, says) {
			t.Errorf("answer %d %s, want %s", status, body, want)
		}
	}
	if got, want := fmt.Sprint(engine.played()), "[一 二 三]"; got != want {
		t.Errorf("played %s, want %s", got, want)
	}
}

// A request that hides in the body of another is never taken for one, whatever
// becomes of the other.
func TestNothingIsSmuggled(t *testing.T) {
	hidden := say("hidden")
	chunks := func(body string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body) }
	const json = "Content-Type: application/json\r\n"
	for _, row := range []struct {
		name, path, fields string
		body               string
		chunked            bool
		status             int
	}{
		{"on a path that is none", "/nope", json, hidden, false, 404},
		{"with another method", "/api/health", json, hidden, false, 405},
		{"of another media type", "/api/turn", "Content-Type: text/plain\r\n", hidden, false, 415},
		{"from another origin", "/api/turn", json + "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n", hidden, false, 403},
		{"that is no JSON", "/api/turn", json, hidden, false, 400},
		{"that is too large", "/api/turn", json, strings.Repeat(" ", 64<<10) + hidden, false, 413},
		{"that is much too large", "/api/turn", json, strings.Repeat(" ", 64<<10) + strings.Repeat(hidden, 10_000), false, 413},
		{"in chunks, of another media type", "/api/turn", "Content-Type: text/plain\r\n", hidden, true, 415},
		{"in chunks, too large", "/api/turn", json, strings.Repeat(" ", 64<<10) + strings.Repeat(hidden, 10_000), true, 413},
		{"in chunks, on a path that is none", "/nope", json, hidden, true, 404},
		{"behind an expectation that is not met", "/api/turn", "Content-Type: text/plain\r\nExpect: 100-continue\r\n", hidden, false, 415},
		{"behind an expectation that is none", "/api/turn", json + "Expect: nothing\r\n", hidden, false, 417},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			engine := new(recorder)
			openFront(t, l, limits.Default(), engine)
			w := dial(t, l.Addr().String())
			length, body := fmt.Sprintf("Content-Length: %d\r\n", len(row.body)), row.body
			if row.chunked {
				length, body = "Transfer-Encoding: chunked\r\n", chunks(row.body)
			}
			go io.WriteString(w, "POST "+row.path+" HTTP/1.1\r\nHost: x\r\n"+row.fields+length+"\r\n"+body+say("next"))
			status, _, closes := w.answer("POST")
			if status != row.status {
				t.Errorf("status %d, want %d", status, row.status)
			}
			want := []string(nil)
			if closes {
				w.ended()
			} else {
				want = []string{"next"}
				if status, body, _ := w.answer("POST"); status != 200 || !strings.Contains(body, "next") {
					t.Errorf("the next request got %d %s", status, body)
				}
			}
			if got := engine.played(); !slices.Equal(got, want) {
				t.Errorf("played %q, want %q", got, want)
			}
		})
	}
}
