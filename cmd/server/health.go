package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
)

// health asks the server that this environment configures whether it is well, and
// shows what it says.
func health(ctx context.Context, cfg config, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.Limits.HealthTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(cfg.Addr)+"/api/health", nil)
	if err != nil {
		return err
	}
	// The zero Transport asks no proxy that the environment may name.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(stdout, io.LimitReader(answer.Body, cfg.Limits.BodyBytes)); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	fmt.Fprintln(stdout)
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("health: %s", answer.Status)
	}
	return nil
}

// reachable returns an address at which a listener of addr can be called from
// this machine: one that listens everywhere is called at loopback.
func reachable(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	switch ip, err := netip.ParseAddr(host); {
	case host == "" || err == nil && ip == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case err == nil && ip == netip.IPv6Unspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}
