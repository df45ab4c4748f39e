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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"kiribashiri/internal/api"
	"kiribashiri/internal/limits"
	"kiribashiri/internal/nonblock"
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
	if cfg.StateKeys.shared {
		log.Warn("every user of this machine can read the keys", "variable", "KIRI_STATE_KEY_FILE")
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
		Seal:    cfg.StateKeys.box,
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
	most := connections(cfg.Limits, maxFiles(), log)
	front := newFront(handler, most, cfg.Limits, log)
	front.register(registry)
	private, err := listen("KIRI_ADMIN_ADDR", cfg.AdminAddr, systemd.admin, log)
	if err != nil {
		return err
	}
	admin := newFront(api.Admin(registry), cfg.Limits.AdminConns, cfg.Limits, log)

	group, broken := errgroup.WithContext(ctx) // done when a signal comes or a part fails
	if private != nil {
		defer private.Close()
		group.Go(func() error { return admin.serve(private) })
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
	log.Info("serving", "addr", address(public), "admin", address(private), "version", version(), "engines", cfg.Limits.SimEngines, "sealed", cfg.StateKeys.box != nil)
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
		return admin.server.Close()
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
	if file, ok := stderr.(*os.File); ok {
		stderr = nonblock.Log(file)
	}
	return slog.New(slog.NewJSONHandler(stderr, options))
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

// connections returns how many connections the public listener may have at once:
// as many as the limits say, or fewer if the process may open too few files for
// them, of which it may have maxFiles (0: nobody knows).
func connections(lim limits.Limits, maxFiles uint64, log *slog.Logger) int {
	most := lim.Conns + lim.Queue
	others := lim.AdminConns + lim.SimEngines*lim.EngineFiles + lim.OtherFiles
	if maxFiles == 0 || uint64(most+others) <= maxFiles {
		return most
	}
	fewer := max(1, int(maxFiles)-others)
	log.Warn("few files may be open, so fewer connections are taken", "files", maxFiles, "needed", most+others, "connections", fewer)
	return fewer
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
