package sharedlimit

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	// After a cluster's client has looked at the cluster it rests for five seconds,
	// closed or not, and ends.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valkey-io/valkey-go.(*clusterClient)._refresh.func2"))
}

// withCancel is a context that a test ends, at the latest when it ends itself.
func withCancel(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(t.Context()))
}

// Several servers are one limit to a client who asks all of them, 64 times at once.
func TestFleetLimitsAsOneServer(t *testing.T) {
	t.Parallel()
	const perSecond, burst = 20, 5
	r := startRedis(t)
	fleet := joined(t, 5, "redis://127.0.0.1:"+r.port, patient(perSecond, burst))
	var passed atomic.Int64
	began := time.Now()
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			for n := i; time.Since(began) < 1500*time.Millisecond; n++ {
				if fleet[n%len(fleet)].Take(alice).Allowed() {
					passed.Add(1)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	callers.Wait()
	took := time.Since(began)
	if most := burst + perSecond*took.Seconds(); float64(passed.Load()) > most {
		t.Errorf("%d moves passed in %v, want at most %.2f", passed.Load(), took, most)
	}
	if passed.Load() < burst+perSecond/2 { // of at least 35
		t.Errorf("only %d moves passed in %v", passed.Load(), took)
	}
	for _, s := range fleet {
		if n := s.count(late) + s.count(failed) + s.count(unasked); n > 0 {
			t.Errorf("%d moves were not decided by the store: %s", n, s.log)
		}
	}
}

func TestBurstIsTheFleets(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	fleet := joined(t, 3, "redis://127.0.0.1:"+r.port, patient(0.01, 3))
	const token = 100 * time.Second
	for i, s := range fleet {
		d := s.Take(alice)
		if !d.Allowed() || d.Remaining != int64(2-i) || d.Next > token || d.Next < token/2 {
			t.Errorf("move %d: %+v, want %d left and the next within %v", i+1, d, 2-i, token)
		}
	}
	for _, s := range fleet {
		refuses(t, s, alice, token+patience)
	}
	allows(t, fleet[0], bob, 3) // a client of another address is another client
	refuses(t, fleet[1], netip.MustParseAddr("2001:db8::2"), token+patience)
	allows(t, fleet[1], netip.MustParseAddr("2001:db8:0:1::2"), 1)
}

// Who waits as long as he was told is let in, whoever told him and whoever he asks.
func TestWaitSuffices(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	for _, perSecond := range []float64{30, 7, 12.5} {
		lim := patient(perSecond, 1.3)
		lim.StoreTime = 100 * time.Millisecond
		fleet := joined(t, 2, "redis://127.0.0.1:"+r.port, lim)
		for n := range 10 {
			d := fleet[n%2].Take(alice)
			if !d.Allowed() {
				time.Sleep(d.Wait)
				allows(t, fleet[rand.IntN(2)], alice, 1)
			}
		}
	}
}

// A refusal costs a client nothing, though the server's own bucket had a token.
func TestRefusalCostsNothing(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	lim := patient(4, 2)
	lim.StoreTime = 200 * time.Millisecond
	fleet := joined(t, 2, "redis://127.0.0.1:"+r.port, lim)
	allows(t, fleet[0], alice, 2)
	for range 5 {
		// On a slow machine a token may come meanwhile.
		if d := fleet[1].Take(alice); !d.Allowed() && d.Wait > 250*time.Millisecond+lim.StoreTime {
			t.Fatalf("the wait is %v, and a token comes every 250 ms", d.Wait)
		}
	}
}

func TestLocalRefusalCostsTheStoreNothing(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	fleet := joined(t, 2, "redis://127.0.0.1:"+r.port, patient(0.01, 3))
	before := r.scripts()
	allows(t, fleet[0], alice, 3)
	for range 1000 {
		refuses(t, fleet[0], alice, 100*time.Second+patience)
	}
	if got := r.scripts() - before; got != 3 {
		t.Errorf("the store was asked %d times about 3 moves that the server's bucket allowed and 1000 that it refused", got)
	}
	fleet[0].saw(t, map[outcome]int{allowed: 3})
	// Another server learns from its first refusal.
	before = r.scripts()
	for range 1000 {
		refuses(t, fleet[1], alice, 100*time.Second+patience)
	}
	if got := r.scripts() - before; got != 1 {
		t.Errorf("the store was asked %d times by a server that it had told to wait", got)
	}
	fleet[1].saw(t, map[outcome]int{refused: 1})
}

func TestClockOfTheStore(t *testing.T) {
	t.Parallel()
	r, set := startRedisWithClock(t)
	const token = 10 * time.Second
	lim := patient(0.1, 2)
	ask := func(s *server) time.Duration { // past the server's own bucket
		t.Helper()
		debt, err := s.take(s.store.Load().client, s.bucket.key("x"), s.bucket, lim.StoreTime)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(debt) * time.Microsecond
	}
	s := joined(t, 1, "redis://127.0.0.1:"+r.port, lim)[0]
	if a, b, c := ask(s), ask(s), ask(s); a < 0 || b < 0 || c > 0 {
		t.Fatalf("a full bucket of two: %v %v %v", a, b, c)
	}
	set(-3600)
	if full := ask(s); full > 0 || full < -2*token {
		t.Errorf("an hour back: full again after %v, want a refusal and at most %v", full, 2*token)
	}
	set(-3589) // eleven seconds later
	if a, b := ask(s), ask(s); a < 0 || b > 0 {
		t.Errorf("after another token's time: %v %v, want one token", a, b)
	}
	set(3600)
	if a, b, c := ask(s), ask(s), ask(s); a < 0 || b < 0 || c > 0 {
		t.Errorf("an hour forward: %v %v %v, want a full bucket and no more", a, b, c)
	}
	set(0)
	if full := ask(s); full > 0 || full < -2*token {
		t.Errorf("back again: full after %v", full)
	}
}

// With an hour's step back in the middle, a client of the fleet gets what he would
// have got, but for at most one full bucket.
func TestClockSetBackInMidLoad(t *testing.T) {
	t.Parallel()
	const perSecond, burst = 20, 4
	r, set := startRedisWithClock(t)
	fleet := joined(t, 2, "redis://127.0.0.1:"+r.port, patient(perSecond, burst))
	passed := 0
	began := time.Now()
	stepped := false
	var after int
	for n := 0; time.Since(began) < 2*time.Second; n++ {
		if !stepped && time.Since(began) > time.Second {
			set(-3600)
			stepped = true
		}
		if fleet[n%2].Take(alice).Allowed() {
			passed++
			if stepped {
				after++
			}
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	if most := burst + perSecond*took.Seconds(); float64(passed) > most {
		t.Errorf("%d moves passed in %v, want at most %.2f", passed, took, most)
	}
	if after == 0 {
		t.Error("nobody was let in after the clock went back")
	}
}

func TestScriptFlush(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	s := joined(t, 1, "redis://127.0.0.1:"+r.port, patient(1e5, 1e5))[0]
	for range 5 {
		allows(t, s, alice, 20)
		r.say("SCRIPT", "FLUSH")
	}
	allows(t, s, alice, 20)
	s.saw(t, map[outcome]int{allowed: 120})
}

// The store goes away and comes back while moves are made: none waits, none fails,
// and what passes is at most what servers without a store allow.
func TestStoreKilledAndRestarted(t *testing.T) {
	t.Parallel()
	const perSecond, burst = 20, 5
	r := startRedis(t)
	lim := patient(perSecond, burst)
	lim.StoreTime = 100 * time.Millisecond
	fleet := joined(t, 3, "redis://127.0.0.1:"+r.port, lim)
	stop := make(chan struct{})
	var passed, slow atomic.Int64
	began := time.Now()
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				asked := time.Now()
				if fleet[n%len(fleet)].Take(alice).Allowed() {
					passed.Add(1)
				}
				if time.Since(asked) > 5*time.Second {
					slow.Add(1)
				}
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	for range 2 {
		r.kill()
		for _, s := range fleet {
			before := s.count(unasked)
			eventually(t, "moves pass without the store", func() bool { return s.count(unasked) > before+3 })
		}
		r.start()
		for _, s := range fleet {
			s.joins(t)
			before := s.count(allowed)
			eventually(t, "the store is asked again", func() bool { return s.count(allowed) > before })
		}
	}
	close(stop)
	callers.Wait()
	took := time.Since(began)
	if most := 3 * (burst + perSecond*took.Seconds()); float64(passed.Load()) > most {
		t.Errorf("%d moves passed in %v, want at most %.2f", passed.Load(), took, most)
	}
	if n := slow.Load(); n > 0 {
		t.Errorf("%d moves waited", n)
	}
}

func TestLossAndReturnAreLoggedOnce(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	s := joined(t, 1, "redis://127.0.0.1:"+r.port, patient(1000, 1000))[0]
	s.said(t, "the shared store limits", 1)
	r.kill()
	allows(t, s, alice, 1)
	eventually(t, "the loss is noticed", func() bool { return !s.isUp() })
	allows(t, s, alice, 20)
	time.Sleep(100 * time.Millisecond) // several tries to reach it
	s.said(t, "is away", 1)
	r.start()
	s.joins(t)
	allows(t, s, alice, 1)
	s.said(t, "the shared store limits", 2)
	s.said(t, "is away", 1)
}

// A store that has stopped answering costs one move, or those that were under way, the
// deadline; the next ones nothing.
func TestStoreThatHangs(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	lim := patient(0.01, 100)
	s := joined(t, 1, "redis://127.0.0.1:"+r.port, lim)[0]
	allows(t, s, alice, 1)
	s.cfg.Limits.StoreTime = limits.Default().StoreTime // from here on impatient
	r.signal(syscall.SIGSTOP)
	began := time.Now()
	allows(t, s, alice, 50)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("50 moves took %v", took)
	}
	s.saw(t, map[outcome]int{allowed: 1, late: 1, unasked: 49})
	r.signal(syscall.SIGCONT)
	s.joins(t)
	s.stop()
}

// Whatever stands where the store should be, the server limits by itself, says so once
// and tells nobody the password.
func TestStoresThatAreNone(t *testing.T) {
	t.Parallel()
	silent := listen(t, func(conn net.Conn) { bufio.NewReader(conn).WriteTo(nothing{}) })
	closing := listen(t, func(conn net.Conn) {})
	garbage := listen(t, func(conn net.Conn) { conn.Write([]byte("\x00\xff\x17garbage\r\n")) })
	html := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(html.Close)
	quoting := listen(t, func(conn net.Conn) {
		for in := bufio.NewReader(conn); ; { // as one does whose AUTH has another name
			if line, err := in.ReadString('\n'); err != nil {
				return
			} else if strings.Contains(line, "sesame") {
				fmt.Fprintf(conn, "-ERR unknown command, with args beginning with: `open-sesame`\r\n")
			}
		}
	})
	locked := startRedis(t, "--requirepass", "another")
	full := startRedis(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	replica := startRedis(t, "--replicaof", "127.0.0.1", freePort(t))
	barred := startRedis(t, "--user", "default", "on", "nopass", "~*", "+@all", "-@scripting")
	number := startRedis(t)
	for _, row := range []struct{ name, url, says string }{
		{"nobody", "redis://alice:open-sesame@127.0.0.1:" + freePort(t), "refused"},
		{"one that never answers", "redis://alice:open-sesame@" + silent, ""},
		{"one that closes", "valkey://alice:open-sesame@" + closing, ""},
		{"garbage", "redis://alice:open-sesame@" + garbage, ""},
		{"a web server", "redis://alice:open-sesame@" + strings.TrimPrefix(html.URL, "http://"), ""},
		{"one that quotes", "redis://alice:open-sesame@" + quoting, "beginning with"},
		{"a wrong password", "redis://alice:open-sesame@127.0.0.1:" + locked.port, "WRONGPASS"},
		{"no password", "redis://127.0.0.1:" + locked.port, "NOAUTH"},
		{"a full one", "redis://127.0.0.1:" + full.port, "OOM"},
		{"a replica", "redis://127.0.0.1:" + replica.port, ""},
		{"one without scripts", "redis://127.0.0.1:" + barred.port, "NOPERM"},
		{"one without TLS", "rediss://127.0.0.1:" + number.port, ""},
		{"no such database", "redis://127.0.0.1:" + number.port + "/99", "out of range"},
		{"no cluster", "redis://127.0.0.1:" + number.port + ",redis://127.0.0.1:" + number.port, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			lim := patient(0.01, 10)
			lim.StoreDial = 500 * time.Millisecond
			s := startServer(t, row.url, lim)
			allows(t, s, alice, 5)
			eventually(t, "it is noticed", func() bool { return strings.Contains(s.log.String(), "is away") })
			time.Sleep(50 * time.Millisecond) // some more tries
			allows(t, s, alice, 5)
			refuses(t, s, alice, 100*time.Second+patience)
			s.saw(t, map[outcome]int{unasked: 10})
			s.said(t, "is away", 1)
			s.said(t, row.says, max(1, strings.Count(s.log.String(), row.says)))
			s.said(t, "sesame", 0)
			s.said(t, "the shared store limits", 0)
		})
	}
}

// A store that turns bad is left alone until it is good again.
func TestStoreThatFillsUp(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	s := joined(t, 1, "redis://127.0.0.1:"+r.port, patient(0.01, 100))[0]
	allows(t, s, alice, 1)
	r.say("CONFIG", "SET", "maxmemory", "1")
	allows(t, s, alice, 10)
	s.saw(t, map[outcome]int{allowed: 1, failed: 1, unasked: 9})
	s.joinsNot(t)
	r.say("CONFIG", "SET", "maxmemory", "0")
	s.joins(t)
}

func (s *server) joinsNot(t *testing.T) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // several tries to reach it
	if s.isUp() {
		t.Error("it asks a store that cannot keep a bucket")
	}
}

// What is no answer of the script's is none. A key of another kind is such a thing.
func TestKeyOfAnotherKind(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	s := joined(t, 1, "redis://127.0.0.1:"+r.port, patient(0.01, 100))[0]
	r.say("LPUSH", s.bucket.key("192.0.2.1/32"), "x")
	allows(t, s, alice, 1)
	s.saw(t, map[outcome]int{failed: 1})
	r.say("SET", s.bucket.key("2001:db8::/64"), "no number")
	s.joins(t)
	allows(t, s, bob, 1)
	s.saw(t, map[outcome]int{failed: 1, allowed: 1})
}

func TestTooManyCallsDoNotWait(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	lim := patient(0.01, 1000)
	lim.StoreCalls = 4
	s := joined(t, 1, "redis://127.0.0.1:"+r.port, lim)[0]
	r.signal(syscall.SIGSTOP)
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() { s.Take(alice) })
	}
	eventually(t, "four wait", func() bool { return s.asked.Load() == 4 })
	allows(t, s, alice, 20)
	s.saw(t, map[outcome]int{unasked: 20})
	r.signal(syscall.SIGCONT)
	callers.Wait()
	s.saw(t, map[outcome]int{unasked: 20, allowed: 4})
}

// A key tells whose bucket it is, is bounded, and is gone when the bucket is full.
func TestKeys(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	s := joined(t, 1, "redis://127.0.0.1:"+r.port, patient(2, 2))[0]
	if got, want := s.bucket.key("192.0.2.1/32"), "kiribashiri:1:500000:1000000:192.0.2.1/32"; got != want {
		t.Errorf("key %s, want %s", got, want)
	}
	longest, err := measure(1e-9, 1)
	if err != nil {
		t.Fatal(err)
	}
	if key := longest.key(ratelimit.Client(netip.MustParseAddr("2001:db8:1111:2222:3333:4444:5555:6666")).String()); len(key) > 100 {
		t.Errorf("a key of %d bytes: %s", len(key), key)
	}
	// Servers of another rate or burst do not meet this one's numbers.
	other := joined(t, 1, "redis://127.0.0.1:"+r.port, patient(0.01, 1))[0]
	allows(t, s, alice, 2)
	allows(t, other, alice, 1)
	refuses(t, other, alice, 100*time.Second+patience)
	other.saw(t, map[outcome]int{allowed: 1})
	ttl, err := strconv.Atoi(r.say("PTTL", other.bucket.key("192.0.2.1/32")))
	if err != nil || ttl < 50_000 || ttl > 100_001 {
		t.Errorf("the key of a bucket that is full in 100 s lives for %d ms", ttl)
	}
	eventually(t, "the keys of full buckets are gone", func() bool { return r.say("EXISTS", s.bucket.key("192.0.2.1/32")) == "0" })
}

func TestMeasure(t *testing.T) {
	for _, row := range []struct {
		rate, burst     float64
		token, capacity string
	}{
		{2, 2, "500000", "1000000"},
		{3, 2, "333334", "666668"}, // rounded up, and two still fit
		{0.4, 1, "2500000", "2500000"},
		{0.3, 1.5, "3333334", "5000001"},
		{1e6, 10, "1", "10"},
		{1e9, 10, "1", "10"}, // no faster than a token a microsecond
		{7, 2.5, "142858", "357145"},
	} {
		b, err := measure(row.rate, row.burst)
		if err != nil || b.tokenArg != row.token || b.capacityArg != row.capacity {
			t.Errorf("%v a second, %v at once: %+v, %v; want %s and %s", row.rate, row.burst, b, err, row.token, row.capacity)
		}
	}
	for _, row := range [][2]float64{{1e-9, 2}, {5e-324, 1}, {2, 1e300}, {1e-300, 1e300}} {
		if b, err := measure(row[0], row[1]); err == nil {
			t.Errorf("%v a second, %v at once: %+v, want an error", row[0], row[1], b)
		}
	}
}

// The script decides as the bucket of package ratelimit, on a clock of the test's. Where
// a token is no whole number of microseconds it never allows more.
func TestScriptAgreesWithTheBucket(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	conn, err := net.Dial("tcp", "127.0.0.1:"+r.port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	clockless := strings.Replace(script, "redis.call('TIME')", "{ARGV[3], ARGV[4]}", 1)
	clockless = strings.Replace(clockless, ", 'PX', math.ceil(debt / 1000) + 1", "", 1)
	if strings.Contains(clockless, "TIME") || strings.Contains(clockless, "PX") {
		t.Fatal("the script has changed; so must this test")
	}
	steps := 20_000
	if testing.Short() {
		steps /= 10
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i, row := range [][2]float64{{2, 2}, {0.4, 1}, {1000, 7.5}, {3, 2}, {7, 1.1}} {
		b, err := measure(row[0], row[1])
		if err != nil {
			t.Fatal(err)
		}
		token := float64(1e6 / row[0])
		exact := token == math.Trunc(token)
		now := int64(1_790_000_000_000_000)
		want := ratelimit.Bucket{Capacity: row[1], Rate: row[0] / 1e6, Tokens: row[1]} // a microsecond
		if exact {                                                                     // in tokens of a microsecond, so that nothing rounds
			want = ratelimit.Bucket{Capacity: token * row[1], Rate: 1, Tokens: token * row[1]}
		}
		for step := range steps / 5 {
			elapsed := int64(random.Float64() * token)
			if random.IntN(100) == 0 {
				elapsed *= 10
			}
			if random.IntN(4) == 0 {
				elapsed = 0
			}
			now += elapsed
			answer, err := talk(conn, in, "EVAL", clockless, "1", fmt.Sprintf("%d", i), b.tokenArg, b.capacityArg,
				strconv.FormatInt(now/1e6, 10), strconv.FormatInt(now%1e6, 10))
			if err != nil {
				t.Fatal(err)
			}
			debt, err := strconv.ParseInt(answer, 10, 64)
			if err != nil || debt == 0 {
				t.Fatalf("%q %v", answer, err)
			}
			cost := 1.0
			if exact {
				cost = token
			}
			out := want.Take(float64(elapsed), cost)
			if debt > 0 && !out.Allowed || exact && debt < 0 && out.Allowed {
				t.Fatalf("%v, step %d: the script says %d, the bucket %+v", row, step, debt, out)
			}
			if full := want.Capacity - out.Remaining; exact && full != math.Abs(float64(debt)) {
				t.Fatalf("%v, step %d: the script says %d, the bucket lacks %v", row, step, debt, full)
			}
			want.Tokens = out.Remaining
			if !exact && debt < 0 && out.Allowed { // the bucket follows the script
				want.Tokens = out.Available
			}
		}
	}
}

// One name of a cluster's servers is enough, and a client's bucket may move between
// them.
func TestCluster(t *testing.T) {
	t.Parallel()
	var nodes []*redis
	var urls, ids []string
	for range 3 {
		// The bus has a port of its own, which is free now and was found as the others.
		node := startRedis(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t), "--cluster-require-full-coverage", "no")
		nodes = append(nodes, node)
		urls = append(urls, "redis://127.0.0.1:"+node.port)
		ids = append(ids, node.say("CLUSTER", "MYID"))
	}
	for i, share := range [][2]string{{"0", "5000"}, {"5001", "10000"}, {"10001", "16383"}} {
		nodes[i].say("CLUSTER", "ADDSLOTSRANGE", share[0], share[1])
		if i > 0 {
			nodes[i].say("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		}
	}
	bus := func(n *redis) string {
		return n.args[slices.Index(n.args, "--cluster-port")+1]
	}
	for _, node := range nodes[1:] {
		nodes[0].say("CLUSTER", "MEET", "127.0.0.1", node.port, bus(node))
	}
	for _, node := range nodes {
		eventually(t, "the cluster is complete", func() bool {
			info := node.say("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_assigned:16384")
		})
	}
	fleet := joined(t, 2, strings.Join(urls[:2], ","), patient(0.01, 2))
	const clients = 100
	client := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}) }
	for i := range clients {
		allows(t, fleet[0], client(i), 1)
	}
	// The bucket's slot moves away from the server that this one knows it at.
	key := fleet[0].bucket.key("198.51.100.200/32")
	slot := nodes[0].say("CLUSTER", "KEYSLOT", key)
	for _, node := range nodes {
		node.say("CLUSTER", "SETSLOT", slot, "NODE", ids[moved(t, slot)])
	}
	allows(t, fleet[0], client(200), 1)
	allows(t, fleet[1], client(200), 1)
	refuses(t, fleet[0], client(200), 200*time.Second+patience)
	for i := range clients {
		allows(t, fleet[1], client(i), 1)
		refuses(t, fleet[1], client(i), 200*time.Second+patience)
	}
	for _, s := range fleet {
		if n := s.count(late) + s.count(failed) + s.count(unasked); n > 0 {
			t.Errorf("%d moves were not decided by the store: %s", n, s.log)
		}
	}
}

// moved returns which of the three servers a slot goes to: the next one.
func moved(t *testing.T, slot string) int {
	n, err := strconv.Atoi(slot)
	if err != nil {
		t.Fatal(err)
	}
	return (min(n/5001, 2) + 1) % 3
}

// The store's user of docs/SCALING.md may do what is needed, and hardly more.
func TestUserOfTheManual(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SCALING.md", "SCALING.ja.md"} {
		manual, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile(`(?m)^user kiribashiri on .*$`).FindString(string(manual))
		r := startRedis(t, append([]string{"--" + strings.Fields(line)[0]}, strings.Fields(line)[1:]...)...)
		s := joined(t, 1, "redis://kiribashiri:PASSWORD@127.0.0.1:"+r.port, patient(0.01, 2))[0]
		allows(t, s, alice, 2)
		s.saw(t, map[outcome]int{allowed: 2})
		client := s.store.Load().client
		for _, words := range [][]string{{"GET", "another"}, {"KEYS", "*"}, {"FLUSHALL"}, {"CONFIG", "GET", "*"}} {
			if err := client.Do(t.Context(), client.B().Arbitrary(words...).Build()).Error(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("%v: %v", words, err)
			}
		}
	}
}

// The names are other people's dashboards: they change only on purpose.
func TestMetricNames(t *testing.T) {
	registry := prometheus.NewRegistry()
	local, err := ratelimit.New(ratelimit.Config{PerSecond: 2, Burst: 2, Clients: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Limits: limits.Default(), Local: local}, registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, family := range families {
		fmt.Fprintf(&got, "%s %s", family.GetName(), strings.ToLower(family.GetType().String()))
		for _, label := range family.GetMetric()[0].GetLabel() {
			fmt.Fprintf(&got, " %s", label.GetName())
		}
		fmt.Fprintf(&got, "\n\t%s\n", family.GetHelp())
	}
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the metrics are\n%swant\n%s", got.String(), want)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) != 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

// listen is a server that treats its callers as it likes, and then hangs up.
func listen(t *testing.T, treat func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	callers.Go(func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			callers.Go(func() {
				defer conn.Close()
				treat(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		callers.Wait()
	})
	return l.Addr().String()
}

// nothing is where what is read goes.
type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }
