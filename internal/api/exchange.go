package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/simbridge"
)

// An exchange is one request and what came of it: the way to write the answer,
// and what the log and the metrics will say.
type exchange struct {
	http.ResponseWriter
	limits *limits.Limits
	began  time.Time
	path   string // as it was sent
	route  *route

	status  int // 0 until the answer has begun
	bytes   int
	code    string // of the error table; "ok" if there is none
	err     error
	client  netip.Prefix // who was charged; zero if nobody was
	kind    string
	browser string
	reply   simbridge.Reply
}

// isAPI reports whether the request is one of a program, which reads JSON.
func (x *exchange) isAPI() bool { return strings.HasPrefix(x.path, "/api/") }

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	n, err := x.ResponseWriter.Write(p)
	x.bytes += n
	return n, err
}

func (x *exchange) sendJSON(status int, body []byte) {
	x.send(status, jsonMedia, body)
}

// send writes an answer that nobody may keep.
func (x *exchange) send(status int, media []string, body []byte) {
	h := x.Header()
	h["Content-Type"] = media
	h["Cache-Control"] = noStore
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.WriteHeader(status)
	x.Write(body) // an error means that the client has left, and the log line will say how much it got
}

// rescue turns a panic into an answer of 500, or, once an answer has begun, into
// a cut connection. What happened is for the log.
func (s *Server) rescue(x *exchange) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	s.cfg.Log.Error("panic", "route", x.route.name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if x.status != 0 {
		x.code = "internal"
		panic(http.ErrAbortHandler)
	}
	s.refuse(x, fmt.Errorf("panic: %v", v))
}

// record writes the request's one log line and counts it.
func (s *Server) record(x *exchange, r *http.Request) {
	took := time.Since(x.began)
	s.metrics.observe(x, took)

	level := slog.LevelInfo
	if x.status >= 500 {
		level = slog.LevelWarn
	}
	if !s.cfg.Log.Enabled(context.Background(), level) {
		return
	}
	var room [12]slog.Attr
	attrs := append(room[:0],
		slog.String("method", cut(r.Method, x.limits.LogText)),
		slog.String("route", x.route.name),
		slog.Int("status", x.status),
		slog.String("code", x.code),
		milliseconds("took_ms", took),
		slog.Int("bytes", x.bytes),
	)
	if x.client.IsValid() {
		attrs = append(attrs, slog.String("client", x.client.String()))
	}
	if x.kind != "" {
		attrs = append(attrs, slog.String("kind", x.kind))
	}
	if x.browser != "" {
		attrs = append(attrs, slog.String("browser", cut(x.browser, x.limits.LogText)))
	}
	if x.reply.Wait > 0 || x.reply.Think > 0 {
		attrs = append(attrs, milliseconds("wait_ms", x.reply.Wait), milliseconds("think_ms", x.reply.Think))
	}
	if x.route == nowhere {
		attrs = append(attrs, slog.String("path", cut(x.path, x.limits.LogText)))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("err", cut(x.err.Error(), x.limits.LogText)))
	}
	// Logger.LogAttrs would look up where it is called from, which nobody logs.
	line := slog.NewRecord(time.Now(), level, "request", 0)
	line.AddAttrs(attrs...)
	s.cfg.Log.Handler().Handle(context.Background(), line)
}

func milliseconds(name string, d time.Duration) slog.Attr {
	return slog.Float64(name, float64(d.Microseconds())/1e3)
}

// cut bounds what a stranger can put into one log line, and takes out what could
// play tricks on the terminal that shows it: control and direction characters.
func cut(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return utf8.RuneError
	}, s)
}
