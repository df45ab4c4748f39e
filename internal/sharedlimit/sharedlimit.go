// Package sharedlimit is one limit for several servers: each client's bucket lives
// in a Redis or Valkey that all of them ask, for fleets whose front end cannot send
// a client to always the same server.
//
// A server's own bucket comes first. What it refuses is refused, and costs the
// store nothing; what it allows is asked of the store, which only takes away. It
// follows the store's bucket, so a client who is refused is refused here until the
// store would allow him.
//
// What must not happen is that a move waits for the store or fails with it. An
// answer that does not come within the deadline is given up, the server's own stands,
// and from then on the store is asked nothing until [Limiter.Run], aside from all
// moves, has reached it again. N servers without their store allow N times the limit.
package sharedlimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/valkey-io/valkey-go"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
)

// Config is what a [Limiter] needs to know. All fields must be set.
type Config struct {
	Limits limits.Limits
	Store  Store
	Local  *ratelimit.Limiter // of the same rate and burst
	Log    *slog.Logger
}

// A Limiter asks the server's own buckets, then the shared ones.
type Limiter struct {
	cfg       Config
	script    *valkey.Lua
	bucket    bucket
	decisions map[outcome]prometheus.Counter
	up        prometheus.Gauge

	store atomic.Pointer[connection] // nil while the store is not asked
	asked atomic.Int64               // calls of the store under way
}

// A connection is one time of being connected to the store.
type connection struct {
	client valkey.Client
	lost   chan error // 1-buffered; whoever takes the connection out of use says why
}

// An outcome is what came of a move that the server's own bucket allowed.
type outcome string

const (
	allowed outcome = "allowed"
	refused outcome = "refused"
	late    outcome = "late"    // no answer within the deadline; the server's own stands
	failed  outcome = "failed"  // an error or nonsense; the same
	unasked outcome = "unasked" // the store is known to be away; the same
)

//go:embed take.lua
var script string

// New returns a limiter that does not ask the store until Run runs. It registers
// its metrics with registry.
func New(cfg Config, registry prometheus.Registerer) (*Limiter, error) {
	bucket, err := measure(cfg.Limits.PerIPPerSec, cfg.Limits.PerIPBurst)
	if err != nil {
		return nil, err
	}
	auto := promauto.With(registry)
	l := &Limiter{cfg: cfg, script: valkey.NewLuaScript(script), bucket: bucket, decisions: make(map[outcome]prometheus.Counter)}
	decisions := auto.NewCounterVec(prometheus.CounterOpts{
		Name: "kiri_shared_decisions_total",
		Help: "Moves that the server's own bucket allowed, by what the shared store said: allowed or refused; or late, failed or unasked, where the server's own answer stood.",
	}, []string{"outcome"})
	for _, o := range []outcome{allowed, refused, late, failed, unasked} {
		l.decisions[o] = decisions.WithLabelValues(string(o))
	}
	l.up = auto.NewGauge(prometheus.GaugeOpts{
		Name: "kiri_shared_up",
		Help: "1 while the shared store is asked, 0 while each server limits by itself.",
	})
	return l, nil
}

// Take takes one token from client's bucket, here and in the store. It waits no
// longer than limits.StoreTime, and not at all while the store is away.
func (l *Limiter) Take(client netip.Addr) ratelimit.Decision {
	decision := l.cfg.Local.Take(client)
	if !decision.Allowed() {
		if l.store.Load() != nil { // the bucket here follows the store's, within an answer's time
			decision.Wait += l.cfg.Limits.StoreTime
			decision.Next = decision.Wait
		}
		return decision
	}
	began := time.Now()
	full, outcome := l.ask(client)
	l.decisions[outcome].Inc()
	if outcome == allowed || outcome == refused {
		return l.cfg.Local.Settle(client, full, time.Since(began), outcome == allowed)
	}
	return decision
}

// Clients reports how many clients' buckets are not known to be full, of those
// that this server has met.
func (l *Limiter) Clients() int { return l.cfg.Local.Clients() }

// ask takes a token from the store's bucket and returns in how long that is full
// again. The first call that fails takes the connection out of use.
func (l *Limiter) ask(client netip.Addr) (full time.Duration, came outcome) {
	defer l.asked.Add(-1)
	if l.asked.Add(1) > int64(l.cfg.Limits.StoreCalls) { // the library would wait for room
		return 0, unasked
	}
	c := l.store.Load()
	if c == nil {
		return 0, unasked
	}
	debt, err := l.take(c.client, l.bucket.key(ratelimit.Client(client).String()), l.bucket, l.cfg.Limits.StoreTime)
	switch {
	case err != nil:
		if l.store.CompareAndSwap(c, nil) {
			c.lost <- err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return 0, late
		}
		return 0, failed
	case debt < 0:
		return time.Duration(-debt) * time.Microsecond, refused
	}
	return time.Duration(debt) * time.Microsecond, allowed
}

// take runs the script on one key.
func (l *Limiter) take(client valkey.Client, key string, b bucket, limit time.Duration) (debt int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	debt, err = l.script.Exec(ctx, client, []string{key}, []string{b.tokenArg, b.capacityArg}).AsInt64()
	if err == nil && (debt == 0 || debt < -b.capacity || debt > b.capacity) {
		err = fmt.Errorf("the store answers %d", debt)
	}
	return debt, err
}

// Run keeps the limiter connected to its store until ctx is done. A store that is
// away is tried again every limits.StorePause; it is never an error.
func (l *Limiter) Run(ctx context.Context) error {
	away := false // as the log has it
	for ctx.Err() == nil {
		err := l.connected(ctx, func() {
			l.cfg.Log.Info("the shared store limits", "store", l.cfg.Store.String())
			away = false
		})
		if err != nil && !away {
			text := l.cfg.Store.hide(err.Error()) // of a stranger, if that is no store
			l.cfg.Log.Warn("the shared store is away, each server limits by itself", "store", l.cfg.Store.String(), "err", text[:min(len(text), l.cfg.Limits.LogText)])
			away = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(l.cfg.Limits.StorePause):
		}
	}
	return nil
}

// connected reaches the store, says so, and puts it to use until it is lost or ctx
// is done.
func (l *Limiter) connected(ctx context.Context, reached func()) error {
	client, err := l.cfg.Store.dial(l.cfg.Limits.StoreDial)
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return err
	}
	// Every server of a cluster is called once, so that no move waits for a connection.
	// One that does not answer is not missed yet.
	for _, node := range client.Nodes() {
		ping, cancel := context.WithTimeout(ctx, l.cfg.Limits.StoreDial)
		node.Do(ping, node.B().Ping().Build())
		cancel()
	}
	// A store that is full or a replica answers, but cannot keep a bucket.
	if _, err := l.take(client, l.bucket.key("trial"), trial, l.cfg.Limits.StoreDial); err != nil {
		return err
	}
	reached()
	c := &connection{client, make(chan error, 1)}
	l.up.Set(1)
	l.store.Store(c)
	defer l.up.Set(0)
	select {
	case err := <-c.lost:
		return err
	case <-ctx.Done():
		l.store.Store(nil)
		return nil
	}
}

// A bucket is a rate and a burst in the script's whole microseconds: what a token
// takes to earn, rounded up, and a full bucket, rounded down, so that never more
// passes than b + r·T.
type bucket struct {
	capacity              int64
	tokenArg, capacityArg string
}

// trial is a bucket that is never empty.
var trial = newBucket(1, int64(time.Second/time.Microsecond))

func newBucket(token, capacity int64) bucket {
	return bucket{capacity, strconv.FormatInt(token, 10), strconv.FormatInt(capacity, 10)}
}

// maxCapacity keeps a time and a bucket below 2^53, up to which the store's numbers
// are exact: 31 years.
const maxCapacity = 1e15

// measure finds the bucket of a rate (tokens a second) and a burst (tokens), both
// finite, above 0, and read as the decimal numbers that people write.
func measure(rate, burst float64) (bucket, error) {
	perSecond, depth := decimal(rate), decimal(burst)
	token := new(big.Int).Mul(big.NewInt(1e6), perSecond.Denom())
	token.Add(token, perSecond.Num()).Sub(token, big.NewInt(1)).Quo(token, perSecond.Num()) // rounded up
	capacity := new(big.Int).Mul(token, depth.Num())
	capacity.Quo(capacity, depth.Denom())
	if capacity.Cmp(big.NewInt(maxCapacity)) > 0 {
		return bucket{}, errors.New("a bucket that takes longer than 31 years to fill cannot be shared")
	}
	return newBucket(token.Int64(), capacity.Int64()), nil
}

func decimal(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		panic("sharedlimit: not a finite number") // limits.Mistakes has looked
	}
	return r
}

// key is the store's key of a client's bucket. Servers of another rate or burst have
// other keys, for their numbers mean something else.
func (b bucket) key(client string) string {
	return "kiribashiri:1:" + b.tokenArg + ":" + b.capacityArg + ":" + client
}
