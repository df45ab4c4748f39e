package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"kiribashiri/internal/api"
	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
	"kiribashiri/internal/sharedlimit"
	"kiribashiri/internal/simbridge"
	"kiribashiri/internal/static"
	"kiribashiri/web"
)

// engineCommand is how this program is called to be the built-in engine.
const engineCommand = "adv-sim"

// serve answers requests until ctx is done; then it drains and returns nil.
func serve(ctx context.Context, cfg config, environ []string, hangups <-chan os.Signal, stderr io.Writer) error {
	log := newLog(cfg, stderr)
	for _, name := range cfg.unknown {
		log.Warn("unknown variable, ignored", "name", name)
	}

	engine, err := engineArgs(cfg)
	if err != nil {
		return err
	}
	bridge := simbridge.New(simbridge.Config{Command: engine, Env: cfg.engineEnv, Limits: cfg.Limits, Log: log})
	site, err := static.New(web.Files)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	limiter, runLimiter, err := newLimiter(cfg, registry, log)
	if err != nil {
		return err
	}
	handler, err := api.New(api.Config{
		Limits:  cfg.Limits,
		Kinds:   cfg.Kinds,
		Proxies: cfg.Proxies,
		Origins: cfg.Origins,
		Player:  bridge,
		Limiter: limiter,
		Site:    site,
		Version: version(),
		Log:     log,
	}, registry)
	if err != nil {
		return err
	}

	systemd, err := fromSystemd(environ)
	if err != nil {
		return fmt.Errorf("%w:\n%w", errMistaken, err)
	}
	public, err := listen("KIRI_ADDR", cfg.Addr, systemd.public, log)
	if err != nil {
		return err
	}
	defer public.Close()
	front := newFront(handler, cfg.Limits, log)
	private, err := listen("KIRI_ADMIN_ADDR", cfg.AdminAddr, systemd.admin, log)
	if err != nil {
		return err
	}
	admin := newServer(api.Admin(registry), cfg.Limits, log)

	group, broken := errgroup.WithContext(ctx) // done when a signal comes or a part fails
	if private != nil {
		defer private.Close()
		group.Go(func() error { return unlessClosed(admin.Serve(private)) })
	}
	behind, stopBehind := context.WithCancel(context.WithoutCancel(ctx)) // requests end before what they need does
	defer stopBehind()
	group.Go(func() error { return runLimiter(behind) })
	group.Go(func() error {
		if err := bridge.Run(behind); err != nil {
			return fmt.Errorf("%w:\nKIRI_SIM: %w", errMistaken, err)
		}
		return nil
	})
	group.Go(func() error {
		select { // until then connections wait in the listener's queue
		case <-bridge.Settled():
		case <-time.After(cfg.Limits.StartWait):
		case <-broken.Done():
		}
		return front.serve(public)
	})
	group.Go(func() error {
		select {
		case <-bridge.Settled():
			debug.FreeOSMemory() // a few megabytes that only the start needed
		case <-broken.Done():
		}
		return nil
	})
	group.Go(func() error {
		up := func() bool { return bridge.Status().Up > 0 }
		attend(broken, systemd.watchdog, up, func(state string) { tell(state, log) })
		return nil
	})
	log.Info("serving", "addr", address(public), "admin", address(private), "version", version(), "engines", cfg.Limits.SimEngines)
	group.Go(func() error {
		for {
			select {
			case <-hangups:
				log.Info("replacing the engines")
				bridge.Swap()
			case <-broken.Done():
				return nil
			}
		}
	})
	group.Go(func() error {
		<-broken.Done()
		log.Info("draining", "cause", context.Cause(broken))
		tell(stopping, log)
		front.drain(public)
		stopBehind()
		front.shutdown()
		return admin.Close()
	})
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// newLimiter returns the limiter that was configured, and what runs as long as it is
// used: this server's own buckets, or those that it shares with others.
func newLimiter(cfg config, registry prometheus.Registerer, log *slog.Logger) (api.Limiter, func(context.Context) error, error) {
	local, err := ratelimit.New(ratelimit.Config{
		PerSecond: cfg.Limits.PerIPPerSec, Burst: cfg.Limits.PerIPBurst, Clients: cfg.Limits.Clients,
	})
	if err != nil || cfg.Buckets.IsZero() {
		return local, func(context.Context) error { return nil }, err
	}
	shared, err := sharedlimit.New(sharedlimit.Config{Limits: cfg.Limits, Store: cfg.Buckets, Local: local, Log: log}, registry)
	if err != nil {
		return nil, nil, fmt.Errorf("%w:\nKIRI_BUCKETS: %w", errMistaken, err)
	}
	return shared, shared.Run, nil
}

// unlessClosed is err, or nil if a server ended because its listener was closed.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// engineArgs returns the engine's command line.
func engineArgs(cfg config) ([]string, error) {
	if len(cfg.Sim) > 0 {
		return cfg.Sim, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the built-in engine is this program, which cannot be found: %w", err)
	}
	return []string{self, engineCommand, "serve"}, nil
}

func newLog(cfg config, stderr io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == "text" || cfg.LogFormat == "auto" && isTerminal(stderr) {
		return slog.New(slog.NewTextHandler(stderr, options))
	}
	options.ReplaceAttr = inMilliseconds
	return slog.New(slog.NewJSONHandler(stderr, options))
}

// inMilliseconds gives durations a unit, which JSON has no way to say.
func inMilliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"_ms", float64(a.Value.Duration().Microseconds())/1e3)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// listen returns the listener that is there already, if one is, or opens one at
// addr, which a variable gives; if that is empty, there is none.
func listen(variable, addr string, there net.Listener, log *slog.Logger) (net.Listener, error) {
	listener := there
	if listener == nil && addr != "" {
		var err error
		if listener, err = net.Listen("tcp", addr); err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
	}
	if tcp, ok := listener.(*net.TCPListener); ok && !tcp.Addr().(*net.TCPAddr).IP.IsLoopback() {
		log.Warn("other machines can reach this address; it should stand behind a proxy", "variable", variable, "addr", address(tcp))
	}
	return listener, nil
}

// address is where l listens, for the log; nothing if there is none.
func address(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// newServer returns an HTTP server that waits for nobody without an end.
func newServer(handler http.Handler, lim limits.Limits, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            lim.HeaderTime,
		ReadTimeout:                  lim.RequestTime,
		IdleTimeout:                  lim.IdleTime,
		MaxHeaderBytes:               lim.HeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// A front is the public HTTP server and knows which of its connections are busy,
// so that it can end without cutting one.
type front struct {
	server   *http.Server
	limits   limits.Limits
	draining atomic.Bool
	served   chan struct{} // closed once no further connection will come

	mu      sync.Mutex
	conns   map[net.Conn]http.ConnState
	changed time.Time // when a connection last came, went, or turned busy or idle
}

func newFront(handler http.Handler, lim limits.Limits, log *slog.Logger) *front {
	f := &front{limits: lim, served: make(chan struct{}), conns: make(map[net.Conn]http.ConnState)}
	f.server = newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	}), lim, log)
	f.server.ConnState = func(conn net.Conn, state http.ConnState) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed = time.Now()
		if state == http.StateClosed || state == http.StateHijacked {
			delete(f.conns, conn)
		} else {
			f.conns[conn] = state
		}
	}
	return f
}

// serve takes connections until the listener closes.
func (f *front) serve(public net.Listener) error {
	defer close(f.served)
	return unlessClosed(f.server.Serve(public))
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
	for _, state := range f.conns {
		if state != http.StateIdle {
			return false
		}
	}
	return len(f.conns) == 0 || time.Since(f.changed) >= f.limits.DrainClose
}
