package ratelimit

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	alice = netip.MustParseAddr("192.0.2.1")
	bob   = netip.MustParseAddr("198.51.100.7")
)

func newLimiter(t testing.TB, perSecond, burst float64, clients int) *Limiter {
	t.Helper()
	l, err := New(Config{PerSecond: perSecond, Burst: burst, Clients: clients})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// allowed claims that n moves of client pass now.
func allowed(t *testing.T, l *Limiter, client netip.Addr, n int) {
	t.Helper()
	for i := range n {
		if d := l.Take(client); !d.Allowed() {
			t.Fatalf("move %d of %d: refused for %v, want allowed", i+1, n, d.Wait)
		}
	}
}

// denied claims that client's next move is refused, and for exactly wait.
func denied(t *testing.T, l *Limiter, client netip.Addr, wait time.Duration) {
	t.Helper()
	if d := l.Take(client); d.Wait != wait {
		t.Fatalf("wait = %v, want %v", d.Wait, wait)
	}
}

func TestBurstThenDrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, 2, 1000)
		allowed(t, l, alice, 2)
		denied(t, l, alice, 500*time.Millisecond)
		allowed(t, l, bob, 1) // buckets are separate
		time.Sleep(time.Hour)
		allowed(t, l, alice, 2) // full again, and no fuller
		denied(t, l, alice, 500*time.Millisecond)
	})
}

func TestRefusalsCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, 2, 1000)
		allowed(t, l, alice, 2)
		for ms := range 2000 { // asks every millisecond, and gets one move each half second
			if ms > 0 && ms%500 == 0 {
				allowed(t, l, alice, 1)
			} else {
				denied(t, l, alice, 500*time.Millisecond-time.Duration(ms%500)*time.Millisecond)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func TestWaitIsExactToTheNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, perSecond := range []float64{2, 3, 0.4, 7, 1e6, 0.3333333333333333} {
			l := newLimiter(t, perSecond, 1, 10)
			allowed(t, l, alice, 1)
			wait := l.Take(alice).Wait
			time.Sleep(wait - 1)
			denied(t, l, alice, 1)
			time.Sleep(time.Nanosecond)
			allowed(t, l, alice, 1)
		}
	})
}

// A move every 100 ms for 5 s at two a second: the seed's own measurement.
func TestMoveEvery100Milliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, 2, 1000)
		var passed []time.Duration
		start := time.Now()
		for range 50 {
			if l.Take(alice).Allowed() {
				passed = append(passed, time.Since(start))
			}
			time.Sleep(100 * time.Millisecond)
		}
		want := "[0s 100ms 500ms 1s 1.5s 2s 2.5s 3s 3.5s 4s 4.5s]"
		if got := fmt.Sprint(passed); got != want {
			t.Errorf("passed at %v, want %v", got, want)
		}
	})
}

func TestDecisionSaysWhereTheClientStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, 2.5, 1000)
		for _, want := range []Decision{
			{Remaining: 1, Next: 250 * time.Millisecond},
			{Remaining: 0, Next: 250 * time.Millisecond},
			{Wait: 250 * time.Millisecond, Next: 250 * time.Millisecond},
		} {
			if got := l.Take(alice); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}

func TestClockThatStepsBackTakesNothing(t *testing.T) {
	l := newLimiter(t, 2, 2, 1000)
	const k, now = 1, 2 * time.Hour
	for range 2 {
		if !l.take(k, now).Allowed() {
			t.Fatal("a full bucket refused")
		}
	}
	if got := l.take(k, now-time.Hour).Wait; got != 500*time.Millisecond {
		t.Errorf("after an hour's step back: wait %v, want 500ms", got)
	}
	for range 1000 { // the popular limiter admits each of these
		for _, at := range []time.Duration{now - time.Second, now} {
			if l.take(k, at).Allowed() {
				t.Fatal("stepping to and fro earned a token")
			}
		}
	}
	if !l.take(k, now+500*time.Millisecond).Allowed() {
		t.Error("half a second after the last move: refused")
	}
}

// The live limiter and the pure function decide and report the same, step by
// step. The function counts in the limiter's whole units, where doubles are exact.
func TestLimiterAgreesWithBucket(t *testing.T) {
	for _, cfg := range []Config{
		{2, 2, 10}, {2, 1, 10}, {1, 1, 10}, {3, 2, 10}, {0.4, 2, 10}, {7, 3.5, 10}, {10, 100, 10}, {0.1, 1.7, 10}, {999.7, 12, 10}, {1e9, 3, 10}, {2.5e9, 4, 10},
	} {
		t.Run(fmt.Sprintf("%v a second, burst %v", cfg.PerSecond, cfg.Burst), func(t *testing.T) {
			steps := 200_000
			if raceEnabled { // which has nothing to see in one goroutine, and is slow
				steps = 10_000
			}
			l := newLimiter(t, cfg.PerSecond, cfg.Burst, cfg.Clients)
			u := l.units
			r := rand.New(rand.NewPCG(3, 4))
			b := Bucket{Capacity: float64(u.capacity), Rate: float64(u.perNano), Tokens: float64(u.capacity)}
			fill := int64(u.time(u.capacity))
			var now, latest time.Duration
			var last Decision
			for step := range steps {
				switch r.IntN(8) {
				case 0: // at the boundary
					now = latest + last.Next
				case 1:
					now = latest + max(0, last.Next-1)
				case 2: // back
					now -= time.Duration(r.Int64N(2 * fill))
				case 3: // the same instant
				case 4:
					now += time.Duration(r.Int64N(3 * fill))
				default:
					now += time.Duration(r.Int64N(int64(u.time(u.token)) + 1))
				}
				got := l.take(7, now)
				elapsed := max(0, now-latest)
				latest = max(latest, now)
				out := b.Take(float64(elapsed), float64(u.token))
				b.Tokens = out.Remaining
				want := Decision{Remaining: int64(out.Remaining) / u.token}
				if !out.Allowed {
					want = Decision{Wait: time.Duration(math.Ceil(out.Wait))}
				}
				next := min(float64((want.Remaining+1)*u.token), b.Capacity)
				want.Next = time.Duration(math.Ceil(b.Take(0, next).Wait))
				if got != want {
					t.Fatalf("step %d at %v: limiter %+v, function %+v", step, now, got, want)
				}
				last = got
			}
		})
	}
}

// In any stretch at most b + r·T moves pass, whatever the schedule.
func FuzzNeverMoreThanPromised(f *testing.F) {
	f.Add(2.0, 2.0, []byte{0, 0, 0, 255, 1, 7})
	f.Add(0.4, 1.5, []byte{9, 200, 3})
	f.Fuzz(func(t *testing.T, perSecond, burst float64, steps []byte) {
		l, err := New(Config{PerSecond: perSecond, Burst: burst, Clients: 2})
		if err != nil {
			t.Skip()
		}
		rate, b := decimal(perSecond), decimal(burst)
		type move struct{ at time.Duration }
		var passed []move
		var now time.Duration
		for _, step := range steps[:min(len(steps), 64)] {
			now += time.Duration(math.Pow(1.4, float64(step)/3)) - 1 // up to an hour
			if !l.take(1, now).Allowed() {
				continue
			}
			passed = append(passed, move{now})
			for i, first := range passed {
				most := new(big.Rat).Mul(rate, big.NewRat(int64(now-first.at), int64(time.Second)))
				most.Add(most, b)
				if n := big.NewRat(int64(len(passed)-i), 1); n.Cmp(most) > 0 {
					t.Fatalf("%v moves within %v at %v a second, burst %v", n, now-first.at, perSecond, burst)
				}
			}
		}
	})
}

func TestAnyRateAndBurst(t *testing.T) {
	for _, row := range []struct {
		perSecond, burst float64
		moves            int           // that pass at once, of ten
		wait             time.Duration // after them; -1: any
	}{
		{1e-300, 1, 1, math.MaxInt64},
		{math.SmallestNonzeroFloat64, 2, 2, math.MaxInt64},
		{1e300, 1, 1, 1},
		{math.MaxFloat64, math.MaxFloat64, 10, 0},
		{1e-300, math.MaxFloat64, 10, 0},
		{0.1, 1, 1, 10 * time.Second},
		{1.0 / 3, 1, 1, 3000000002}, // sixteen digits do not fit and are rounded down: never more than promised
		{123456.789, 9.87654321, 9, -1},
	} {
		l := newLimiter(t, row.perSecond, row.burst, 10)
		moves, wait := 0, time.Duration(0)
		for range 10 {
			if d := l.take(1, 0); d.Allowed() {
				moves++
			} else {
				wait = d.Wait
			}
		}
		if moves != row.moves || row.wait >= 0 && wait != row.wait {
			t.Errorf("%v a second, burst %v: %d moves and a wait of %v, want %d and %v", row.perSecond, row.burst, moves, wait, row.moves, row.wait)
		}
		// Far apart in time nothing overflows into a refusal or a gift.
		for _, at := range []time.Duration{time.Hour, 290 * 365 * 24 * time.Hour} {
			l.take(1, at)
			if d := l.take(1, at); d.Wait < 0 || d.Next < 0 || d.Remaining < 0 {
				t.Errorf("%v a second, burst %v at %v: %+v", row.perSecond, row.burst, at, d)
			}
		}
	}
}

func TestNewRefusesNonsense(t *testing.T) {
	for _, cfg := range []Config{
		{0, 2, 1}, {-1, 2, 1}, {math.NaN(), 2, 1}, {math.Inf(1), 2, 1},
		{2, 0.9, 1}, {2, math.NaN(), 1}, {2, math.Inf(1), 1}, {2, 2, 0},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("New(%+v) succeeded", cfg)
		}
	}
}

func TestClient(t *testing.T) {
	for _, row := range []struct{ addr, client string }{
		{"192.0.2.1", "192.0.2.1/32"},
		{"::ffff:192.0.2.1", "192.0.2.1/32"},
		{"::ffff:102:304", "1.2.3.4/32"},
		{"2001:db8:1234:5678::1", "2001:db8:1234:5678::/64"},
		{"2001:db8:1234:5678:ffff:ffff:ffff:ffff", "2001:db8:1234:5678::/64"},
		{"2001:db8:1234:5678::1.2.3.4", "2001:db8:1234:5678::/64"},
		{"2001:db8:1234:5679::1", "2001:db8:1234:5679::/64"},
		{"fe80::1%eth0", "fe80::/64"},
		{"::1", "::/64"},
	} {
		addr := netip.MustParseAddr(row.addr)
		if got := Client(addr).String(); got != row.client {
			t.Errorf("Client(%s) = %s, want %s", row.addr, got, row.client)
		}
	}
	if got := Client(netip.Addr{}); got.IsValid() {
		t.Errorf("Client of no address = %v, want none", got)
	}
}

// Two addresses share a bucket exactly if they are one client.
func FuzzKeyFollowsClient(f *testing.F) {
	f.Add([]byte{192, 0, 2, 1}, []byte{192, 0, 2, 2})
	f.Add([]byte("\x20\x01\x0d\xb8\x12\x34\x56\x78abcdefgh"), []byte("\x20\x01\x0d\xb8\x12\x34\x56\x78ABCDEFGH"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x01\x02\x03\x04"), []byte{1, 2, 3, 4})
	f.Add([]byte{}, []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, _ := netip.AddrFromSlice(a)
		y, _ := netip.AddrFromSlice(b)
		for _, addr := range []netip.Addr{x, y} {
			if addr.Unmap().IsMulticast() {
				t.Skip() // never the address of a caller
			}
		}
		if got, want := key(x) == key(y), Client(x) == Client(y); got != want {
			t.Errorf("%v and %v share a key: %v, are one client: %v", x, y, got, want)
		}
	})
}

func TestOneClientManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, 7, 1000)
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for range 100 {
					if l.Take(alice).Allowed() {
						passed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if got := passed.Load(); got != 7 {
			t.Errorf("%d moves passed while the clock stood still, want 7", got)
		}
	})
}

// A bucket that was drained stays drained, however many others call meanwhile:
// those nearest to full are forgotten first.
func TestCrowdDoesNotRefillADrainedBucket(t *testing.T) {
	for _, clients := range []int{1, 10, 1000, 8000, 100_000} {
		l := newLimiter(t, 2, 2, clients)
		const drained = 1 << 40
		l.take(drained, 0)
		l.take(drained, 0)
		crowd := 3 * clients
		for i := range crowd {
			l.take(uint64(i), time.Duration(i)*400*time.Millisecond/time.Duration(crowd))
		}
		wait := l.take(drained, 400*time.Millisecond).Wait
		if clients == 1 {
			continue // there is room for nobody else
		}
		if wait != 100*time.Millisecond {
			t.Errorf("limiter of %d clients: after %d others the drained one waits %v, want 100ms", clients, crowd, wait)
		}
	}
}

func TestMemoryIsBoundedAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 50_000
		l := newLimiter(t, 2, 2, clients)
		for i := range 4 * clients { // twice as many as are remembered, and then again
			l.take(uint64(i), time.Since(l.start))
			if i%clients == 0 {
				if got := l.Clients(); got > clients {
					t.Fatalf("%d clients remembered, want at most %d", got, clients)
				}
			}
		}
		if got := l.Clients(); got < clients*2/3 || got > clients {
			t.Errorf("%d clients remembered after a flood, want at most %d and not many fewer", got, clients)
		}
		crowded := heap()
		time.Sleep(3 * time.Second)
		if got := l.Clients(); got != 0 {
			t.Errorf("%d clients remembered three seconds after the flood, want 0", got)
		}
		if after := heap(); crowded-after < clients*8 {
			t.Errorf("the flood's memory stays: %d bytes in it, %d after", crowded, after)
		}
		runtime.KeepAlive(l)
	})
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTakeDoesNotAllocate(t *testing.T) {
	l := newLimiter(t, 2, 2, 1000)
	l.Take(alice)
	if got := testing.AllocsPerRun(1000, func() { l.Take(alice) }); got != 0 {
		t.Errorf("%v allocations a decision, want 0", got)
	}
}

func BenchmarkTake(b *testing.B) {
	b.Run("one client", func(b *testing.B) {
		l := newLimiter(b, 2, 2, 1_000_000)
		b.ReportAllocs()
		for b.Loop() {
			l.Take(alice)
		}
	})
	b.Run("10000 clients", func(b *testing.B) {
		l := newLimiter(b, 2, 2, 1_000_000)
		addrs := make([]netip.Addr, 10_000)
		for i := range addrs {
			addrs[i] = netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			l.Take(addrs[i%len(addrs)])
			i++
		}
	})
	b.Run("a new client each", func(b *testing.B) {
		l := newLimiter(b, 2, 2, 1_000_000)
		b.ReportAllocs()
		var worst time.Duration
		i := uint64(0)
		for b.Loop() {
			i++
			at := time.Now()
			l.take(i<<20, time.Since(l.start))
			worst = max(worst, time.Since(at))
		}
		b.ReportMetric(float64(worst.Microseconds()), "µs/worst")
	})
	b.Run("make room", func(b *testing.B) {
		l := newLimiter(b, 2, 2, 1_000_000)
		s := &l.shards[0]
		for b.Loop() {
			b.StopTimer()
			for i := range uint64(l.share) {
				s.full[i<<20] = int64(i * 7919 % 1000)
			}
			b.StartTimer()
			s.makeRoom()
		}
	})
	b.Run("a million live clients", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			l := newLimiter(b, 0.001, 2, 1_100_000) // room for the hash's unevenness
			for i := range uint64(1_000_000) {
				l.take(i<<20, 0)
			}
			b.ReportMetric(float64(heap()-before)/float64(l.Clients()), "B/client")
		}
	})
}

// A bucket elsewhere allows or refuses what this one has allowed, and the two agree
// from then on.
func TestSettle(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 2, 2, 1000)
		claim := func(what string, got, want Decision) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		allowed(t, l, alice, 1)
		claim("nothing new", l.Settle(alice, 500*ms, 0, true), Decision{Remaining: 1, Next: 500 * ms})
		claim("allowed, and others took some", l.Settle(alice, 700*ms, 0, true), Decision{Remaining: 0, Next: 200 * ms})
		denied(t, l, alice, 200*ms)
		claim("it is no fuller here", l.Settle(alice, 100*ms, 0, true), Decision{Remaining: 0, Next: 200 * ms})

		allowed(t, l, bob, 1)
		claim("refused", l.Settle(bob, 1000*ms, 0, false), Decision{Wait: 500 * ms, Next: 500 * ms})
		denied(t, l, bob, 500*ms)
		time.Sleep(500 * ms)
		allowed(t, l, bob, 1) // not twice charged

		carol := netip.MustParseAddr("203.0.113.1")
		allowed(t, l, carol, 1)
		claim("an answer that took its time", l.Settle(carol, 800*ms, 100*ms, false), Decision{Wait: 300 * ms, Next: 300 * ms})
		denied(t, l, carol, 200*ms)
		time.Sleep(200 * ms)
		allowed(t, l, carol, 1)
		claim("more than a full bucket", l.Settle(carol, time.Hour, 0, false), Decision{Wait: 500 * ms, Next: 500 * ms})
		claim("refused for a reason of rounding", l.Settle(netip.MustParseAddr("203.0.113.2"), 0, 0, false), Decision{Wait: 1, Next: 1})
		claim("an answer later than all", l.Settle(netip.MustParseAddr("203.0.113.3"), 10*ms, time.Hour, true), Decision{Remaining: 1, Next: 10 * ms})
	})
}

func TestSettleRemembersNoMoreThanItsShare(t *testing.T) {
	l := newLimiter(t, 2, 2, 10)
	for i := range 100 {
		l.Settle(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), time.Second, 0, false)
	}
	if n := l.Clients(); n > 10 {
		t.Errorf("%d clients are remembered, want at most 10", n)
	}
}
