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

	route   route
	status  int // 0 until the answer has begun
	bytes   int
	code    string // of the error table; "ok" if there is none
	err     error
	client  netip.Prefix // who was charged; zero if nobody was
	kind    string
	browser string
	reply   simbridge.Reply
}

func newExchange(w http.ResponseWriter, lim *limits.Limits) *exchange {
	x := &exchange{ResponseWriter: w, limits: lim, began: time.Now(), code: "ok"}
	x.writeBy(time.Time{}) // what the connection's last request has left
	return x
}

// writeBy sets when writing must be done. A writer that has no such thing, as in
// tests, never blocks either.
func (x *exchange) writeBy(deadline time.Time) {
	http.NewResponseController(x.ResponseWriter).SetWriteDeadline(deadline)
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
		x.writeBy(time.Now().Add(x.limits.WriteTime))
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
	x.send(status, "application/json; charset=utf-8", body)
}

// send writes an answer that nobody may keep.
func (x *exchange) send(status int, media string, body []byte) {
	h := x.Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	x.Write(body) // an error means that the client has left, and the log line will say how much it got
}

// rescue turns a panic into an answer of 500, or, once an answer has begun, into
// a cut connection. What happened is for the log.
func (s *Server) rescue(x *exchange, r *http.Request) {
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
	s.refuse(x, r, fmt.Errorf("panic: %v", v))
}

// record writes the request's one log line and counts it.
func (s *Server) record(x *exchange, r *http.Request) {
	took := time.Since(x.began)
	s.metrics.observe(x, took)

	level := slog.LevelInfo
	if x.status >= 500 {
		level = slog.LevelWarn
	}
	if !s.cfg.Log.Enabled(r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 14)
	attrs = append(attrs,
		slog.String("method", cut(r.Method, x.limits.LogText)),
		slog.String("route", x.route.name),
		slog.Int("status", x.status),
		slog.String("code", x.code),
		slog.Duration("took", took),
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
		attrs = append(attrs, slog.Duration("wait", x.reply.Wait), slog.Duration("think", x.reply.Think))
	}
	if x.route.name == "other" {
		attrs = append(attrs, slog.String("path", cut(r.URL.EscapedPath(), x.limits.LogText)))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("err", cut(x.err.Error(), x.limits.LogText)))
	}
	s.cfg.Log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
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
