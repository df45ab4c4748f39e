package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// A site is the real server behind a door of its own, where what the page asks for
// can be kept waiting, answered by somebody else, or cut off.
type site struct {
	url string

	mu    sync.Mutex // guards doors
	doors []door
}

// A door is what becomes of the requests for a path that ends so.
type door struct {
	path    string
	answers func(w http.ResponseWriter, r *http.Request, server http.Handler)
}

// newSite opens a site at a new address, so that browsers have kept nothing of it.
// t is that of the whole: addresses given back too soon would be met again.
func newSite(t *testing.T, s *running) *site {
	t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	server := httputil.NewSingleHostReverseProxy(target)
	server.ErrorLog = log.New(io.Discard, "", 0) // of requests that the page gave up
	f := &site{}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Only with the whole request read does one hear of its end.
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.answer(w, r, server)
	}))
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	f.url = listener.URL
	return f
}

func (f *site) answer(w http.ResponseWriter, r *http.Request, server http.Handler) {
	f.mu.Lock()
	answers := func(w http.ResponseWriter, r *http.Request, server http.Handler) { server.ServeHTTP(w, r) }
	for _, d := range f.doors {
		if strings.HasSuffix(r.URL.Path, d.path) {
			answers = d.answers
		}
	}
	f.mu.Unlock()
	answers(w, r, server)
}

func (f *site) set(path string, answers func(http.ResponseWriter, *http.Request, http.Handler)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doors = append(f.doors, door{path, answers})
}

// opens lets everything pass again.
func (f *site) opens() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doors = nil
}

// keeps has requests for path wait until they are given up, let through, or cut off.
func (f *site) keeps(path string) (let, cut func()) {
	opened, broken := make(chan struct{}), make(chan struct{})
	f.set(path, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		select {
		case <-opened:
			server.ServeHTTP(w, r)
		case <-broken:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
		}
	})
	let = sync.OnceFunc(func() { f.opens(); close(opened) })
	cut = sync.OnceFunc(func() { f.cuts(path); close(broken) })
	return let, cut
}

// cuts ends the connection in place of an answer, also where the browser tries again
// by itself.
func (f *site) cuts(path string) {
	f.set(path, func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) })
}

// answers gives each move this answer, whatever it says.
func (f *site) answers(status int, body string) {
	f.set("/api/turn", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

// refuses says that the client's bucket is empty.
func (f *site) refuses() {
	f.answers(http.StatusTooManyRequests, `{"ok":false,"code":"rate_limited","error":"rate limit: 2 turns/sec per IP"}`)
}
