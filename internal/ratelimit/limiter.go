package ratelimit

import (
	"errors"
	"hash/maphash"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Config is what a [Limiter] needs to know.
type Config struct {
	PerSecond float64 // tokens that a client earns a second; finite and above 0
	Burst     float64 // tokens that a bucket holds; finite and at least 1
	Clients   int     // clients remembered at once; at least 1
}

// A Limiter keeps a bucket for each client. A client that it has never met has a
// full bucket, so one whose bucket is full again is forgotten.
//
// It may be used by many goroutines at once.
type Limiter struct {
	units  units
	window time.Duration // how long a shard goes before it forgets full buckets
	share  int           // clients that one shard remembers
	start  time.Time     // of the monotonic clock
	seed   maphash.Seed  // keyed, so that nobody can aim at one shard
	shards []shard
}

// A shard holds some of the clients. Nothing in its map is a pointer, so the
// garbage collector does not look into it, however many clients there are.
type shard struct {
	mu   sync.Mutex
	now  time.Duration    // the latest time seen; a clock that steps back stands still here
	base time.Duration    // the time that the numbers in full count from
	full map[uint64]int64 // client → when its bucket is full again, in units after base
	_    [24]byte         // neighbours do not share a cache line
}

// A Decision says how a [Limiter.Take] went and where the client stands after it.
type Decision struct {
	// Wait is 0 if the token was there; otherwise how long until it is.
	Wait time.Duration
	// Remaining is how many whole tokens are left.
	Remaining int64
	// Next is how long until Remaining grows by one, or, if the bucket cannot hold
	// another whole token, until it is full.
	Next time.Duration
}

// Allowed reports whether the token was there and has been taken.
func (d Decision) Allowed() bool { return d.Wait == 0 }

const (
	shardClients = 4096        // a shard, so that forgetting holds its lock for well under a millisecond
	minWindow    = time.Second // between two rounds of forgetting, so that they cost nothing
)

// New returns a limiter in which every client has a full bucket.
func New(cfg Config) (*Limiter, error) {
	if !(cfg.PerSecond > 0) || math.IsInf(cfg.PerSecond, 1) {
		return nil, errors.New("ratelimit: PerSecond must be finite and above 0")
	}
	if !(cfg.Burst >= 1) || math.IsInf(cfg.Burst, 1) {
		return nil, errors.New("ratelimit: Burst must be finite and at least 1")
	}
	if cfg.Clients < 1 {
		return nil, errors.New("ratelimit: Clients must be at least 1")
	}
	l := &Limiter{units: measure(cfg.PerSecond, cfg.Burst), start: time.Now(), seed: maphash.MakeSeed()}
	l.window = l.units.window(minWindow)
	l.shards = make([]shard, max(1, cfg.Clients/shardClients))
	l.share = cfg.Clients / len(l.shards)
	for i := range l.shards {
		l.shards[i].full = make(map[uint64]int64)
	}
	return l, nil
}

// Take takes one token from client's bucket if there is one. A refused Take
// costs nothing, so asking again too soon does not make the wait longer.
// Clients are told apart as [Client] says.
func (l *Limiter) Take(client netip.Addr) Decision {
	return l.take(key(client), time.Since(l.start))
}

func (l *Limiter) take(key uint64, now time.Duration) Decision {
	u := &l.units
	s := &l.shards[maphash.Comparable(l.seed, key)%uint64(len(l.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.at(now, l)

	full, known := s.full[key]
	debt := max(full-u.earned(now-s.base), 0)
	if debt+u.token > u.capacity {
		wait := u.time(debt + u.token - u.capacity)
		return Decision{Wait: wait, Next: wait}
	}
	if !known && len(s.full) >= l.share {
		s.makeRoom()
	}
	debt += u.token
	s.full[key] = u.earned(now-s.base) + debt
	return u.after(debt)
}

// after returns the decision of a bucket from which a token has been taken, and
// that lacks debt since.
func (u *units) after(debt int64) Decision {
	remaining := (u.capacity - debt) / u.token
	next := min((remaining+1)*u.token, u.capacity) - (u.capacity - debt)
	return Decision{Remaining: remaining, Next: u.time(next)}
}

// Settle is for one who also asks a bucket elsewhere, of which client's bucket here
// sees only a part of what is taken. After a Take that was allowed it sets the one
// here right by the one there, which has allowed the move or not and is full again
// after full. A move that was not allowed gets its token back here. The answer has
// taken some time to come, and nobody knows which part of it came before the other
// bucket was looked at: the decision counts full from now, so that who waits has
// waited long enough, and the bucket here from when the other was asked, so that it
// refuses nothing that the other would allow. Its own waits are too short by took at
// most.
func (l *Limiter) Settle(client netip.Addr, full, took time.Duration, allowed bool) Decision {
	return l.settle(key(client), time.Since(l.start), full, took, allowed)
}

func (l *Limiter) settle(key uint64, now, full, took time.Duration, allowed bool) Decision {
	u := &l.units
	s := &l.shards[maphash.Comparable(l.seed, key)%uint64(len(l.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.at(now, l)

	lacks := func(full time.Duration) int64 {
		if full < u.time(u.capacity) {
			return u.earned(max(full, 0))
		}
		return u.capacity
	}
	old, known := s.full[key]
	debt := max(old-u.earned(now-s.base), 0)
	if !allowed {
		debt = max(debt-u.token, 0)
	}
	if !known && len(s.full) >= l.share {
		s.makeRoom()
	}
	s.full[key] = u.earned(now-s.base) + max(debt, lacks(full-took))
	debt = max(debt, lacks(full))
	if allowed {
		return u.after(debt)
	}
	wait := max(u.time(debt+u.token-u.capacity), 1) // it was refused there, whatever rounding says
	return Decision{Wait: wait, Next: wait}
}

// Clients reports how many clients' buckets are not known to be full. It also
// forgets those that are full, so that memory comes back after a flood even if
// nobody calls any more; it holds one shard's lock at a time.
func (l *Limiter) Clients() int {
	n := 0
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		s.at(time.Since(l.start), l)
		n += len(s.full)
		s.mu.Unlock()
	}
	return n
}

// at moves the shard's clock to now, forgetting full buckets once in a window,
// and returns the shard's time.
func (s *shard) at(now time.Duration, l *Limiter) time.Duration {
	s.now = max(s.now, now)
	if s.now-s.base >= l.window {
		s.forgetFull(s.now, l)
	}
	return s.now
}

// forgetFull drops every full bucket and counts from now on. It makes the map
// anew, because a Go map never shrinks.
func (s *shard) forgetFull(now time.Duration, l *Limiter) {
	live := make(map[uint64]int64)
	// Two windows after base everything is full: what is here was put in during the
	// first, and a bucket fills within another.
	if elapsed := now - s.base; elapsed < 2*l.window {
		shift := l.units.earned(elapsed)
		for key, full := range s.full {
			if full > shift {
				live[key] = full - shift
			}
		}
	}
	s.full, s.base = live, now
}

// makeRoom forgets a quarter of a crowded shard, those that are nearest to full,
// since a new bucket differs least from them. So a client who has drained his
// bucket cannot have it forgotten by a crowd of others.
func (s *shard) makeRoom() {
	times := make([]int64, 0, len(s.full))
	for _, full := range s.full {
		times = append(times, full)
	}
	slices.Sort(times)
	drop := (len(times) + 3) / 4
	last := times[drop-1]
	stay := 0 // how many of those that are full at exactly last may stay
	for stay < len(times)-drop && times[drop+stay] == last {
		stay++
	}
	live := make(map[uint64]int64, len(times))
	for key, full := range s.full {
		if full == last && stay > 0 {
			stay--
			live[key] = full
		} else if full > last {
			live[key] = full
		}
	}
	s.full = live
}

// units are a rate and a burst in whole numbers, so that no step of the
// arithmetic rounds. One nanosecond earns perNano units, a token is token of
// them, a full bucket capacity. For 2 tokens a second that is 1, 500,000,000
// and, at a burst of 2, 1,000,000,000.
type units struct{ perNano, token, capacity int64 }

// maxUnits leaves room for a time and a debt in one int64.
const maxUnits = 1 << 60

// measure finds the units of a rate (tokens a second) and a burst (tokens), both
// read as the decimal numbers that people write: 0.4 is two fifths. A pair that
// whole numbers of this size cannot hold is rounded down, so that never more
// passes than was promised.
func measure(rate, burst float64) units {
	perNano, capacity := decimal(rate), decimal(burst)
	perNano.Quo(perNano, big.NewRat(int64(time.Second), 1))

	// The smallest token that makes both whole.
	a, b := perNano.Denom(), capacity.Denom()
	token := new(big.Int).Mul(a, b)
	token.Quo(token, new(big.Int).GCD(nil, nil, a, b))
	whole := func(r *big.Rat) *big.Int {
		n := new(big.Int).Mul(r.Num(), token)
		return n.Quo(n, r.Denom())
	}
	if whole(capacity).Cmp(big.NewInt(maxUnits)) > 0 {
		token.Quo(new(big.Int).Mul(big.NewInt(maxUnits), capacity.Denom()), capacity.Num())
		if token.Sign() == 0 {
			token.SetInt64(1)
		}
	}
	clip := func(n *big.Int, most int64) int64 {
		if n.Cmp(big.NewInt(most)) > 0 {
			return most
		}
		return n.Int64()
	}
	u := units{token: token.Int64(), capacity: clip(whole(capacity), maxUnits)}
	u.perNano = clip(whole(perNano), u.capacity) // more would not fit into the bucket anyway
	return u
}

// decimal returns the shortest decimal number that reads as x.
func decimal(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		panic("ratelimit: not a finite number") // New has checked
	}
	return r
}

// earned returns what elapsed earns. Callers keep elapsed within two windows.
func (u *units) earned(elapsed time.Duration) int64 { return int64(elapsed) * u.perNano }

// time returns how long n units take to earn, rounded up to a whole nanosecond.
func (u *units) time(n int64) time.Duration {
	if n <= 0 {
		return 0
	}
	if u.perNano == 0 {
		return math.MaxInt64
	}
	return time.Duration((n-1)/u.perNano + 1)
}

// window returns want, but at least the time an empty bucket takes to fill and
// at most a time whose earnings, twice and with a debt on top, fit into an int64.
func (u *units) window(want time.Duration) time.Duration {
	if u.perNano == 0 {
		return math.MaxInt64 / 2
	}
	most := time.Duration((math.MaxInt64 - u.capacity) / 2 / u.perNano)
	return min(max(want, u.time(u.capacity)), most)
}
