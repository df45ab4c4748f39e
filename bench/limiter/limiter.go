// Package limiter measures one decision of the limiter beside what Go programs
// use for it otherwise, and what a million clients cost.
package limiter

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"kiribashiri/bench/measure"
	"kiribashiri/internal/ratelimit"
)

// Face is the face "a decision of the limiter".
var Face = measure.Face{Name: "limiter", Title: "A decision of the limiter", Run: run}

const (
	ours   = "kiribashiri"
	recipe = "map and mutex of x/time limiters"
	seth   = "sethvargo/go-limiter"

	perSecond = 2
	burst     = 2
)

// A take asks for one token of a client, who is known by an address and by a text,
// whichever the limiter likes.
type take func(client client) bool

type client struct {
	addr netip.Addr
	text string
}

// A design is a way to limit.
type design struct {
	name string
	make func() (take, error)
}

var designs = []design{
	{ours, func() (take, error) {
		l, err := ratelimit.New(ratelimit.Config{PerSecond: perSecond, Burst: burst, Clients: 1_000_000})
		if err != nil {
			return nil, err
		}
		return func(c client) bool { return l.Take(c.addr).Allowed() }, nil
	}},
	{recipe, func() (take, error) {
		var r visitors
		r.limiters = make(map[string]*visitor)
		return func(c client) bool { return r.allow(c.text) }, nil
	}},
	{seth, func() (take, error) {
		store, err := memorystore.New(&memorystore.Config{Tokens: burst, Interval: burst * time.Second / perSecond})
		if err != nil {
			return nil, err
		}
		ctx := context.Background()
		return func(c client) bool {
			_, _, _, ok, _ := store.Take(ctx, c.text)
			return ok
		}, nil
	}},
}

// visitors are the recipe that everybody finds first: a limiter for each address in
// a map behind a mutex, and the time at which it was last seen, for a sweep.
type visitors struct {
	mu       sync.Mutex
	limiters map[string]*visitor
}

type visitor struct {
	limiter *rate.Limiter
	seen    time.Time
}

func (v *visitors) allow(key string) bool {
	v.mu.Lock()
	found, ok := v.limiters[key]
	if !ok {
		found = &visitor{limiter: rate.NewLimiter(perSecond, burst)}
		v.limiters[key] = found
	}
	found.seen = time.Now()
	v.mu.Unlock()
	return found.limiter.Allow()
}

// slice is how many decisions are timed at once.
const slice = 20_000

func run(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	rounds := b.RoundsOr(61)
	s.Say("Slices of %d decisions on one goroutine, after one for each key that is not timed; a token bucket of %d tokens that earns %d a second. Every limiter gets its key ready made: an "+
		"address for ours, a text for the others. Medians of %d rounds (quartiles).", slice, burst, perSecond, rounds)

	known := clients(10_000)
	var rows [][]string
	for _, pattern := range []struct {
		name  string
		least map[string]float64 // times as fast as the other one
		next  func() func(i int) client
	}{
		{"hot key", map[string]float64{recipe: 2.5, seth: 1.2}, func() func(int) client { return func(int) client { return known[0] } }},
		{"10,000 keys", map[string]float64{recipe: 2.5, seth: 1.2}, func() func(int) client {
			r := rand.New(rand.NewPCG(1, 2))
			return func(int) client { return known[r.IntN(len(known))] }
		}},
	} {
		b.Log("limiter: %s, %d rounds", pattern.name, rounds)
		var contestants []measure.Contestant
		for _, d := range designs {
			decide, err := d.make()
			if err != nil {
				return err
			}
			next := pattern.next()
			order := make([]client, slice)
			for i := range order {
				order[i] = next(i)
			}
			contestants = append(contestants, measure.Contestant{Name: d.name, Run: func(context.Context) (measure.Sample, error) {
				for _, c := range known { // as in a stream of moves that does not pause for the others
					decide(c)
				}
				took := timed(func() {
					for _, c := range order {
						decide(c)
					}
				})
				i := 0
				allocs := testing.AllocsPerRun(slice, func() { decide(order[i%slice]); i++ })
				return measure.Sample{"ns": took / slice, "allocs": allocs}, nil
			}})
		}
		got, err := measure.Interleave(ctx, rounds, contestants)
		if err != nil {
			return err
		}
		rows = append(rows, rowsOf(pattern.name, got)...)
		promise(s, pattern.name, got, pattern.least)
		allocs := got.Of(ours, "allocs")
		s.Promise(measure.AtMost(pattern.name+": no allocation", "%.0f", allocs, 0, ""))
	}

	// A new key each time: every round begins with an empty limiter.
	b.Log("limiter: a new key each time, %d rounds", rounds)
	fresh := clients(15 * slice)
	var contestants []measure.Contestant
	for _, d := range designs {
		contestants = append(contestants, measure.Contestant{Name: d.name, Run: func(context.Context) (measure.Sample, error) {
			decide, err := d.make()
			if err != nil {
				return nil, err
			}
			runtime.GC()
			took := timed(func() {
				for _, c := range fresh {
					decide(c)
				}
			})
			return measure.Sample{"ns": took / float64(len(fresh))}, nil
		}})
	}
	got, err := measure.Interleave(ctx, b.RoundsOr(31), contestants)
	if err != nil {
		return err
	}
	rows = append(rows, rowsOf("a new key each time", got)...)
	promise(s, "a new key each time", got, map[string]float64{recipe: 3})
	s.Table([]string{"", "limiter", "ns a decision", "times as fast as the recipe", "allocations"}, rows)

	return million(b, s)
}

// clients returns n of them, each an IPv6 /64 of its own, in no order.
func clients(n int) []client {
	all := make([]client, n)
	for i := range all {
		addr := address(i)
		all[i] = client{addr, addr.String()}
	}
	return all
}

// address returns the address of one client.
func address(i int) netip.Addr {
	var a [16]byte
	binary.BigEndian.PutUint64(a[:], 0x2001_0db8_0000_0000|uint64(i)*0x9e3779b1&0xffffffff)
	a[15] = 1
	return netip.AddrFrom16(a)
}

// timed returns how long f takes, in nanoseconds.
func timed(f func()) float64 {
	began := time.Now()
	f()
	return float64(time.Since(began))
}

func rowsOf(pattern string, got measure.Samples) [][]string {
	var rows [][]string
	for _, d := range designs {
		faster := got.Ratio(recipe, d.name, "ns")
		rows = append(rows, []string{pattern, d.name, got.Of(d.name, "ns").Format("%.0f"), faster.Format("%.1f"), got.Of(d.name, "allocs").Brief("%.0f")})
	}
	return rows
}

func promise(s *measure.Section, pattern string, got measure.Samples, least map[string]float64) {
	for _, other := range []string{recipe, seth} {
		if times, ok := least[other]; ok {
			s.Promise(measure.AtLeast(fmt.Sprintf("%s: at least %.1f × as fast as %s", pattern, times, other), "%.2f", got.Ratio(other, ours, "ns"), times,
				"In the profile of 2026-12-01 reading the clock is more than half of such a decision, and locking a quarter."))
		}
	}
}

// million measures what a million clients cost whose buckets are not full.
func million(b *measure.Bench, s *measure.Section) error {
	n := 1_000_000
	if b.Smoke {
		n /= 100
	}
	b.Log("limiter: %d live clients", n)
	pass, flood, machine, err := pauses(b, n)
	if err != nil {
		return err
	}
	// So slow that nobody's bucket is full again meanwhile; and room for more, since a
	// shard's share is not met by each to the last client.
	const slow = 1.0 / 3600
	everybody := clients(n)
	before := heap()
	l, err := ratelimit.New(ratelimit.Config{PerSecond: slow, Burst: burst, Clients: n + n/10})
	if err != nil {
		return err
	}
	for _, c := range everybody {
		l.Take(c.addr)
	}
	after := heap()
	live := l.Clients()
	each := (after.held - before.held) / float64(live)
	follow := (after.scanned - before.scanned) / float64(live)
	objects := (after.objects - before.objects) / float64(live)
	runtime.KeepAlive(l)

	theirs := heap()
	var r visitors
	r.limiters = make(map[string]*visitor)
	for _, c := range everybody {
		r.allow(strings.Clone(c.text)) // a request's text is its own
	}
	full := heap()
	runtime.KeepAlive(&r)
	each2 := (full.held - theirs.held) / float64(n)
	follow2 := (full.scanned - theirs.scanned) / float64(n)
	objects2 := (full.objects - theirs.objects) / float64(n)
	r.limiters = nil

	s.Say("%d clients whose buckets are not full. What the garbage collector has to follow is the part of the heap that may hold pointers.", n)
	s.Table([]string{"", "live clients", "bytes a client", "of them followed", "heap objects a client"}, [][]string{
		{ours, fmt.Sprint(live), fmt.Sprintf("%.1f", each), fmt.Sprintf("%.2f", follow), fmt.Sprintf("%.3f", objects)},
		{recipe, fmt.Sprint(n), fmt.Sprintf("%.1f", each2), fmt.Sprintf("%.2f", follow2), fmt.Sprintf("%.3f", objects2)},
	})
	s.Say("Forgetting happens in a decision, under one shard's lock. One that has to forget a quarter of a full shard, which is the most there is to do, "+
		"takes %s µs of processor time. In a flood of twice as many clients as are remembered the longest decision took %.0f µs, where the machine by itself made the "+
		"same loop without a limiter wait for up to %.0f µs.", pass.Format("%.0f"), flood, machine)
	s.Promise(
		measure.AtMost("a million live clients in at most 48 B each", "%.1f B", measure.Exactly(each), 48, ""),
		measure.AtMost("less than a byte a client for the garbage collector to follow", "%.2f B", measure.Exactly(follow), 1, ""),
		measure.AtMost("no pause above 1 ms: the longest that a decision has to do", "%.0f µs", pass, 1000, ""),
	)
	return nil
}

// pauses returns, in microseconds, how long the decision takes that has most to do,
// over many; the longest one in a flood; and the longest of as many calls that do
// nothing, which is the machine's own doing.
func pauses(b *measure.Bench, n int) (pass measure.Spread, flood, machine float64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const slow = 1.0 / 3600
	longest := func(decide func(netip.Addr)) (most float64) {
		for i := range n {
			addr := address(i)
			began := threadTime()
			decide(addr)
			most = max(most, float64(threadTime()-began)/1e3)
		}
		return most
	}
	const room = 4096 // of a shard, when a million clients are remembered
	var passes []float64
	for range b.RoundsOr(61) {
		l, err := ratelimit.New(ratelimit.Config{PerSecond: slow, Burst: burst, Clients: room})
		if err != nil {
			return pass, 0, 0, err
		}
		for i := range room {
			l.Take(address(i))
		}
		began := threadTime()
		l.Take(address(room))
		passes = append(passes, float64(threadTime()-began)/1e3)
	}
	runtime.GC() // of what was measured before
	l, err := ratelimit.New(ratelimit.Config{PerSecond: slow, Burst: burst, Clients: n / 2})
	if err != nil {
		return pass, 0, 0, err
	}
	flood = longest(func(addr netip.Addr) { l.Take(addr) })
	machine = longest(func(netip.Addr) {})
	return measure.SpreadOf(passes), flood, machine, nil
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// A heapState is what the heap holds after a collection.
type heapState struct{ held, scanned, objects float64 }

func heap() heapState {
	runtime.GC()
	runtime.GC()
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/scan/heap:bytes"},
		{Name: "/gc/heap/objects:objects"},
	}
	metrics.Read(samples)
	value := func(i int) float64 { return float64(samples[i].Value.Uint64()) }
	return heapState{value(0), value(1), value(2)}
}
