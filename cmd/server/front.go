package main

import (
	linked "container/list"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/nonblock"
)

// A front is an HTTP server that knows of each of its connections whose turn it is
// to act: so that it can end without cutting one that is busy, and so that there are
// never more than most.
//
// When one comes that is too many, the connection closes that has let the server
// wait longest: for a request to begin or to become whole, or for an answer to be
// read. One whose request is whole and not answered yet is never closed. So
// whoever holds connections without using them, be it thousands, makes room for a
// player who comes; a player who has come sends what he wants at once, and is the
// last to go.
type front struct {
	server   *http.Server
	limits   limits.Limits
	most     int // connections at once
	draining atomic.Bool
	served   chan struct{} // closed once no further connection will come

	mu      sync.Mutex
	conns   map[net.Conn]*connection
	awaited linked.List // of the net.Conns whose clients are to act, the longest awaited first
	room    *sync.Cond  // a connection has come to its end, or another one may be closed, or the drain begins
	closing int         // connections that were closed for others and are still in conns
	dropped uint64      // connections that were closed for others, ever
	changed time.Time   // when a connection last came, went, or turned busy or idle
}

// A connection is what a front knows of one.
type connection struct {
	state   http.ConnState
	awaited *linked.Element // its place among them; nil while the server is to act
	dropped bool            // closed for another one
}

// theConn is the key of a request's connection in its context.
type theConn struct{}

func newFront(handler http.Handler, most int, lim limits.Limits, log *slog.Logger) *front {
	f := &front{limits: lim, most: most, served: make(chan struct{}), conns: make(map[net.Conn]*connection)}
	f.room = sync.NewCond(&f.mu)
	f.server = newServer(f.watch(handler), lim, log)
	f.server.ConnState = f.note
	f.server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, theConn{}, conn)
	}
	return f
}

// watch returns handler with the front told of the two moments that http.ConnState
// leaves out: when a request has come whole, and when its answer begins.
func (f *front) watch(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// One in chunks may have had a length besides, which net/http has dropped: RFC
		// 9112, section 6.1 has the connection closed, since a proxy may have gone by it.
		if f.draining.Load() || len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		v := &visit{w, r.Body, f, r.Context().Value(theConn{}).(net.Conn), *r}
		if r.Body == http.NoBody {
			f.act(v.conn)
		} else {
			v.request.Body = v
		}
		handler.ServeHTTP(v, &v.request)
	})
}

// A visit is one request on its way through the handler: it reads its body and writes
// its answer.
type visit struct {
	http.ResponseWriter
	body  io.ReadCloser
	front *front
	conn  net.Conn

	// A copy with another body: by the type of its own net/http tells whether the rest
	// of it is worth waiting for before the answer goes out.
	request http.Request
}

func (v *visit) Read(p []byte) (int, error) {
	n, err := v.body.Read(p)
	if err == io.EOF {
		v.front.act(v.conn)
	}
	return n, err
}

func (v *visit) Close() error { return v.body.Close() }

func (v *visit) WriteHeader(status int) {
	v.front.wait(v.conn)
	v.ResponseWriter.WriteHeader(status)
}

func (v *visit) Write(p []byte) (int, error) {
	v.front.wait(v.conn)
	return v.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// note is told of every step of a connection. That one has come is said by the
// goroutine that accepts them, which waits here until there is room.
func (f *front) note(conn net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state == http.StateNew {
		f.makeRoom()
	}
	f.changed = time.Now()
	c := f.conns[conn]
	switch {
	case state == http.StateNew:
		f.conns[conn] = &connection{state: state, awaited: f.awaited.PushBack(conn)}
	case state == http.StateClosed || state == http.StateHijacked:
		if c.awaited != nil {
			f.awaited.Remove(c.awaited)
		}
		if c.dropped {
			f.closing--
		}
		delete(f.conns, conn)
		f.room.Signal()
	default: // a header has come, or an answer has gone: others have been awaited longer now
		c.state = state
		if c.awaited != nil {
			f.awaited.MoveToBack(c.awaited)
		} else if !c.dropped {
			c.awaited = f.awaited.PushBack(conn)
		}
		f.room.Signal()
	}
}

// act says that the server is to act on a connection.
func (f *front) act(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.conns[conn]; c.awaited != nil {
		f.awaited.Remove(c.awaited)
		c.awaited = nil
	}
}

// wait says that a connection's client is to act: to read the answer that begins.
// It gives no signal, so that nobody who waits for room has this very answer cut.
func (f *front) wait(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.conns[conn]; c.awaited == nil && !c.dropped {
		c.awaited = f.awaited.PushBack(conn)
	}
}

// makeRoom closes the connection that has been awaited longest if there is no room
// for another one, and waits until it has gone. The drain waits for nobody.
func (f *front) makeRoom() {
	for len(f.conns) >= f.most && !f.draining.Load() {
		longest := f.awaited.Front()
		if len(f.conns)-f.closing >= f.most && longest != nil {
			conn := f.awaited.Remove(longest).(net.Conn)
			c := f.conns[conn]
			c.awaited, c.dropped = nil, true
			f.closing++
			f.dropped++
			conn.Close()
		}
		f.room.Wait()
	}
}

// register has the registry tell how many connections there are.
func (f *front) register(registry prometheus.Registerer) {
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "kiri_connections",
			Help: "Connections to the public listener that are open.",
		}, func() float64 {
			f.mu.Lock()
			defer f.mu.Unlock()
			return float64(len(f.conns))
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "kiri_connections_limit",
			Help: "Connections to the public listener that may be open at once.",
		}, func() float64 { return float64(f.most) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "kiri_connections_dropped_total",
			Help: "Connections that were closed to make room for new ones, the longest awaited first.",
		}, func() float64 {
			f.mu.Lock()
			defer f.mu.Unlock()
			return float64(f.dropped)
		}),
	)
}

// serve takes connections until the listener closes.
func (f *front) serve(public net.Listener) error {
	defer close(f.served)
	return unlessClosed(f.server.Serve(entrance{public, f.limits}))
}

// An entrance is a listener whose connections keep little of an unread answer and
// wait for its reader no longer than the limit.
type entrance struct {
	net.Listener
	limits limits.Limits
}

func (e entrance) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetWriteBuffer(e.limits.SendBuffer)
	}
	return nonblock.Conn(c, e.limits.WriteTime), nil
}

// drain ends the public side so that no request is lost, in two phases: first
// everything is answered as before, but answers ask for the connection to be
// closed, so that a proxy closes its idle ones itself, which races with nothing;
// then the listener closes and what is under way is answered. A listener that was
// inherited lives on, without us: who comes from now on waits for the next server.
//
// http.Server.Shutdown alone would close connections on which a request is just
// arriving.
func (f *front) drain(public net.Listener) {
	f.draining.Store(true)
	f.mu.Lock()
	f.room.Signal()
	f.mu.Unlock()
	f.await(f.limits.DrainClose)
	public.Close()
	<-f.served // what was accepted last is among the connections by now
	f.await(f.limits.DrainWait)
}

// shutdown closes what is left, once the engines have given up what they had.
func (f *front) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), f.limits.StopStep)
	defer cancel()
	if f.server.Shutdown(ctx) != nil {
		f.server.Close()
	}
}

// await returns when limit is over, or sooner if no connection is left, or none
// that a proxy could still be about to use.
func (f *front) await(limit time.Duration) {
	const tick = 10 * time.Millisecond
	for end := time.Now().Add(limit); time.Now().Before(end) && !f.quiet(); {
		time.Sleep(tick)
	}
}

func (f *front) quiet() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		if c.state != http.StateIdle {
			return false
		}
	}
	return len(f.conns) == 0 || time.Since(f.changed) >= f.limits.DrainClose
}
