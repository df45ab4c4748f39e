// Package stores measures a decision that several servers share, in a real Redis,
// beside redis_rate.
package stores

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"kiribashiri/bench/measure"
	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
	"kiribashiri/internal/sharedlimit"
)

// Face is the face "a decision that servers share".
var Face = measure.Face{Name: "stores", Title: "A decision that several servers share", Run: run}

const (
	ours = "kiribashiri"
	rate = "redis_rate v10"

	callers = 32
	slice   = 20_000 // decisions that are timed at once
	known   = 10_000 // clients
	// So much that no bucket is ever empty: what is refused costs ours nothing.
	perSecond = 1000
	burst     = 1000
)

// A take asks for one token of a client; every decision must be the store's.
type take func(ctx context.Context, client netip.Addr) error

func run(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	addr, stop, err := startRedis(ctx, b.Dir)
	if err != nil {
		return err
	}
	defer stop()
	registry := prometheus.NewRegistry()
	shared, leave, err := kiribashiri(ctx, addr, registry)
	if err != nil {
		return err
	}
	defer leave()
	pool := redis.NewClient(&redis.Options{Addr: addr, PoolSize: callers})
	defer pool.Close()
	limiter := redis_rate.NewLimiter(pool)

	takes := map[string]take{ours: shared, rate: func(ctx context.Context, client netip.Addr) error {
		result, err := limiter.Allow(ctx, client.String(), redis_rate.Limit{Rate: perSecond, Burst: burst, Period: time.Second})
		if err == nil && result.Allowed != 1 {
			err = fmt.Errorf("refused")
		}
		return err
	}}
	rounds, decisions := b.RoundsOr(31), slice
	if b.Smoke {
		decisions = 1000
	}
	b.Log("stores: %d rounds", rounds)
	var contestants []measure.Contestant
	for name, take := range takes {
		contestants = append(contestants, measure.Contestant{Name: name, Run: func(ctx context.Context) (measure.Sample, error) {
			many, _, err := decide(ctx, take, callers, decisions)
			if err != nil {
				return nil, err
			}
			_, half, err := decide(ctx, take, 1, decisions/20)
			return measure.Sample{"a second": many, "µs alone": float64(half.Nanoseconds()) / 1e3}, err
		}})
	}
	samples, err := measure.Interleave(ctx, rounds, contestants)
	if err != nil {
		return err
	}
	for _, outcome := range []string{"late", "failed", "unasked"} {
		if n := metric(registry, "kiri_shared_decisions_total", outcome); n > 0 {
			return fmt.Errorf("%.0f of our decisions were not the store's but %s", n, outcome)
		}
	}
	times := samples.Ratio(ours, rate, "a second")
	s.Promise(measure.AtLeast(fmt.Sprintf("decisions a second with %d callers: at least 1.8 × %s", callers, rate), "%.2f ×", times, 1.8, ""))
	s.Say("A Redis of its own on loopback, nothing on disk; %d clients, %d decisions at a time by %d callers, all allowed; ours with the server's own bucket before. "+
		"Medians of %d rounds (quartiles).", known, decisions, callers, rounds)
	var rows [][]string
	for _, name := range []string{ours, rate} {
		rows = append(rows, []string{name, samples.Of(name, "a second").Format("%.0f"), samples.Of(name, "µs alone").Format("%.0f")})
	}
	s.Table([]string{"limiter", fmt.Sprintf("decisions a second, %d callers", callers), "µs a decision, one caller (half of them)"}, rows)
	return nil
}

// kiribashiri returns a server's limiter with its store.
func kiribashiri(ctx context.Context, addr string, registry *prometheus.Registry) (take, func(), error) {
	var store sharedlimit.Store
	if err := store.UnmarshalText([]byte("redis://" + addr)); err != nil {
		return nil, nil, err
	}
	lim := limits.Default()
	lim.PerIPPerSec, lim.PerIPBurst = perSecond, burst
	lim.StoreTime = 10 * time.Second // on a busy machine, too, the store is to decide
	local, err := ratelimit.New(ratelimit.Config{PerSecond: perSecond, Burst: burst, Clients: lim.Clients})
	if err != nil {
		return nil, nil, err
	}
	l, err := sharedlimit.New(sharedlimit.Config{Limits: lim, Store: store, Local: local, Log: slog.New(slog.DiscardHandler)}, registry)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	leave := func() {
		cancel()
		running.Wait()
	}
	for deadline := time.Now().Add(20 * time.Second); metric(registry, "kiri_shared_up", "") != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			leave()
			return nil, nil, fmt.Errorf("the store is not reached")
		}
	}
	return func(_ context.Context, client netip.Addr) error {
		if d := l.Take(client); !d.Allowed() {
			return fmt.Errorf("refused for %v", d.Wait)
		}
		return nil
	}, leave, nil
}

// metric returns the value of a gauge, or of a counter with such a label.
func metric(registry *prometheus.Registry, name, label string) float64 {
	families, _ := registry.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch {
			case f.GetName() != name:
			case label == "":
				return m.GetGauge().GetValue()
			case m.GetLabel()[0].GetValue() == label:
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// decide has callers make decisions, and returns how many a second, and what half of
// them took at most.
func decide(ctx context.Context, take take, callers, decisions int) (perSecond float64, half time.Duration, err error) {
	took := make([][]time.Duration, callers)
	failed := make([]error, callers)
	began := time.Now()
	var calling sync.WaitGroup
	for i := range callers {
		calling.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), uint64(began.UnixNano())))
			for range decisions / callers {
				n := random.IntN(known)
				asked := time.Now()
				if err := take(ctx, netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})); err != nil {
					failed[i] = err
					return
				}
				took[i] = append(took[i], time.Since(asked))
			}
		})
	}
	calling.Wait()
	all := time.Since(began)
	for i := range callers {
		if failed[i] != nil {
			return 0, 0, failed[i]
		}
	}
	each := slices.Concat(took...)
	slices.Sort(each)
	return float64(len(each)) / all.Seconds(), each[len(each)/2], nil
}

// startRedis runs a server until stop is called.
func startRedis(ctx context.Context, dir string) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := strings.Cut(addr, ":")
	cmd := exec.CommandContext(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", dir)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return addr, stop, nil
		}
		if time.Now().After(deadline) {
			stop()
			return "", nil, err
		}
	}
}
