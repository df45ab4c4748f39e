package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

// A systemd is what the service manager that started us has handed over, and what
// it wants to hear; nothing of it, if another program started us.
type systemd struct {
	// public and admin are sockets that it has opened and keeps open: they outlive
	// the server, and connections that come while none runs wait for the next one.
	public, admin net.Listener
	// watchdog is after how long without a word it ends us; 0 for never.
	watchdog time.Duration
}

// The names that a socket unit gives its socket, with FileDescriptorName=.
const (
	publicSocket = "http"
	adminSocket  = "admin"
)

const (
	ready    = daemon.SdNotifyReady
	alive    = daemon.SdNotifyWatchdog
	stopping = daemon.SdNotifyStopping
)

// fromSystemd takes over what sd_listen_fds(3) and sd_watchdog_enabled(3) offer.
// The engine sees nothing of it: the sockets are closed on exec, the variables left
// out of its environment.
func fromSystemd(environ []string) (systemd, error) {
	var s systemd
	set := env.ToMap(environ)
	if set["WATCHDOG_USEC"] != "" {
		var err error
		if s.watchdog, err = daemon.SdWatchdogEnabled(false); err != nil {
			return s, fmt.Errorf("WATCHDOG_USEC: %q: want a number of microseconds above 0", set["WATCHDOG_USEC"])
		}
	}
	count, err := strconv.Atoi(set["LISTEN_FDS"])
	switch {
	case set["LISTEN_FDS"] == "" || err == nil && count == 0:
		return s, nil
	case err != nil || count < 0:
		return s, fmt.Errorf("LISTEN_FDS: %q: want the number of sockets", set["LISTEN_FDS"])
	case set["LISTEN_PID"] != strconv.Itoa(os.Getpid()):
		return s, fmt.Errorf("LISTEN_PID: the sockets are for process %q, and this is %d: a script that starts the server must do so with exec",
			set["LISTEN_PID"], os.Getpid())
	case count > 2:
		return s, fmt.Errorf("LISTEN_FDS: %d sockets: want one named %q and at most one named %q", count, publicSocket, adminSocket)
	}
	for _, file := range activation.Files(true) {
		name := file.Name()
		if count == 1 && set["LISTEN_FDNAMES"] == "" { // by a program that knows no names
			name = publicSocket
		}
		into := map[string]*net.Listener{publicSocket: &s.public, adminSocket: &s.admin}[name]
		switch {
		case into == nil:
			return s, fmt.Errorf("LISTEN_FDNAMES: a socket is named %q: want %q or %q (FileDescriptorName= in the socket unit)", name, publicSocket, adminSocket)
		case *into != nil:
			return s, fmt.Errorf("LISTEN_FDNAMES: two sockets are named %q: want one", name)
		}
		if *into, err = listener(file); err != nil {
			return s, fmt.Errorf("LISTEN_FDS: the socket named %q: %w", name, err)
		}
	}
	if s.public == nil {
		return s, fmt.Errorf("LISTEN_FDNAMES: no socket is named %q (FileDescriptorName= in the socket unit)", publicSocket)
	}
	return s, nil
}

// listener makes a listener of an inherited file.
func listener(file *os.File) (net.Listener, error) {
	if !listening(file) {
		return nil, errors.New("it is no socket that listens (Accept= in the socket unit must be no)")
	}
	defer file.Close() // the listener has a duplicate
	return net.FileListener(file)
}

// tell sends a state to systemd, if it wants to hear any (NOTIFY_SOCKET).
func tell(state string, log *slog.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd cannot be told", "state", strings.TrimSuffix(state, "=1"), "err", err)
	}
}

// attend tells systemd until ctx is done how the server is: that it is ready, once
// an engine is up, and from then on, at half of what the watchdog allows, that it is
// alive, as long as one is up.
func attend(ctx context.Context, watchdog time.Duration, up func() bool, tell func(state string)) {
	const tick = 20 * time.Millisecond
	state, pause := ready, tick
	for {
		if up() {
			tell(state)
			if watchdog == 0 {
				return
			}
			state, pause = alive, watchdog/2
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}
