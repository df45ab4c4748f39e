package calculator

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kiribashiri/internal/ratelimit"
)

func TestTimes(t *testing.T) {
	tenths := []float64{0, 0.1, 0.2, 0.3, 0.4}
	for _, row := range []struct {
		text  string
		want  []float64
		wrong timesError
	}{
		{"", nil, timesFine}, {"　", nil, timesFine},
		{"0 0 0 0.4 1.2", []float64{0, 0, 0, 0.4, 1.2}, timesFine},
		{"０、０、０．４", []float64{0, 0, 0.4}, timesFine},
		{"0,0.4,\t1\n1", []float64{0, 0.4, 1, 1}, timesFine},
		{"0;1", []float64{0, 1}, timesFine},
		{"1,000", nil, timesBackward},
		{"5回 0.1秒ごと", tenths, timesFine}, {"５回、０．１秒毎", tenths, timesFine}, {"5回0.1秒おきに", tenths, timesFine},
		{"0.1秒ごとに5回", tenths, timesFine}, {"5 every 0.1", tenths, timesFine}, {"5 every 0.1s", tenths, timesFine},
		{"5×0.1", tenths, timesFine}, {"5x0.1", tenths, timesFine}, {"5 * 0.1", tenths, timesFine}, {"5@0.1", tenths, timesFine},
		{"3 every 0", []float64{0, 0, 0}, timesFine}, {"1回 9秒ごと", []float64{0}, timesFine},
		{"200 every 1e300", nil, timesFine}, {"200 every 1e307", nil, timesTooLarge},
		{"201 every 1", nil, timesTooMany}, {"99999999999999999999 every 1", nil, timesTooMany}, {strings.Repeat("0 ", 201), nil, timesTooMany},
		{"0 every 1", nil, timesUnreadable}, {"5 every", nil, timesUnreadable}, {"every 5", nil, timesUnreadable}, {"0 x", nil, timesUnreadable},
		{"5 every -1", nil, timesNegative}, {"ー1", nil, timesNegative}, {"0 1 0.5", nil, timesBackward}, {"0 1e999", nil, timesTooLarge}, {"NaN", nil, timesUnreadable},
	} {
		got, wrong := readTimes(row.text)
		if wrong != row.wrong || row.want != nil && row.wrong == timesFine && !slices.Equal(got, row.want) {
			t.Errorf("%q: %v (%v), want %v (%v)", row.text, got, wrong, row.want, row.wrong)
		}
	}
}

// The seed's example of a client that asks every 100 ms: what passes is what the
// limiter lets pass, with no sum of tenths that drifts.
func TestEveryTenthOfASecond(t *testing.T) {
	times, _ := readTimes("50 every 0.1")
	steps, w := fold(Input{2, 2, 2, 0, 1}, times)
	if w == nil {
		t.Fatal("no whole numbers")
	}
	var passed []float64
	for _, s := range steps {
		if s.Allowed {
			passed = append(passed, s.at)
		}
	}
	if want := "[0 0.1 0.5 1 1.5 2 2.5 3 3.5 4 4.5]"; fmt.Sprint(passed) != want {
		t.Errorf("passed at %v, want %s", passed, want)
	}
}

// plainBurst is a random burst of everyday decimal numbers, boundaries included.
func plainBurst(r *rand.Rand) (Input, []float64) {
	part := func(least, most, parts int) float64 { return float64(least+r.IntN(most*parts)) / float64(parts) }
	in := Input{part(1, 20, 10), part(0, 10, []int{1, 10, 100}[r.IntN(3)]), part(0, 20, 10), 0, part(1, 4, 10)}
	times := make([]float64, 1+r.IntN(30))
	at := 0
	for i := range times {
		at += r.IntN(3) * r.IntN(300)
		times[i] = float64(at) / 1000
	}
	return in, times
}

func rational(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(number(x))
	if !ok {
		panic(x)
	}
	return r
}

// A burst decides as rational arithmetic on the decimal numbers does, and reports
// the doubles nearest to its results.
func TestBurstAgreesWithRationals(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	near := func(x *big.Rat) float64 { f, _ := x.Float64(); return f }
	for range 1000 {
		in, times := plainBurst(r)
		steps, w := fold(in, times)
		if w == nil {
			t.Fatalf("%+v %v: no whole numbers", in, times)
		}
		level, last := rational(in.Tokens), new(big.Rat)
		for i, s := range steps {
			now := rational(times[i])
			level.Add(level, new(big.Rat).Mul(rational(in.RefillRate), new(big.Rat).Sub(now, last)))
			if level.Cmp(rational(in.Capacity)) > 0 {
				level = rational(in.Capacity)
			}
			last = now
			want := near(level)
			allowed := level.Cmp(rational(in.RequestCount)) >= 0
			if allowed {
				level.Sub(level, rational(in.RequestCount))
			}
			if s.Available != want || s.Allowed != allowed || s.Remaining != near(level) {
				t.Fatalf("%+v at %v, step %d: %+v, want %v available, allowed %v, %v left", in, times, i+1, s, want, allowed, near(level))
			}
		}
	}
}

// Beyond whole numbers a burst is the function called again and again.
func TestBurstOfAnyNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	double := func() float64 { return math.Ldexp(r.Float64()+0.1, r.IntN(2090)-1070) }
	for range 500 {
		in := Input{double(), double(), double(), 0, double()}
		times := []float64{double(), double(), double(), double(), double()}
		slices.Sort(times)
		steps, _ := fold(in, times)
		bucket, last := in.bucket(), 0.0
		for i, s := range steps {
			want := bucket.Take(times[i]-last, in.RequestCount)
			if s.Outcome != want {
				t.Fatalf("%+v at %v, step %d: %+v, want %+v", in, times, i+1, s, want)
			}
			bucket.Tokens, last = want.Remaining, times[i]
		}
	}
}

// Who reads what is left and how long to wait, and asks again with these numbers
// after that time, is allowed.
func TestShownWaitsSuffice(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	suffices := func(in Input, remaining, wait string) {
		t.Helper()
		left, wrong := field{}.readTyped(remaining)
		if wrong != fine {
			t.Fatalf("%+v: %q remain", in, remaining)
		}
		after, wrong := field{}.readTyped(strings.TrimSuffix(wait, "秒"))
		if wrong != fine {
			t.Fatalf("%+v: wait %q", in, wait)
		}
		again := Input{in.Capacity, in.RefillRate, left, after, in.RequestCount}
		if out := Calculate(again); !out.Allowed {
			t.Fatalf("%+v: shown are %s left and a wait of %s; after it %+v", in, remaining, wait, out)
		}
	}
	waits := 0
	check := func(in Input, times []float64) {
		if a := newResult(Calculate(in)); a.CanSatisfy && !a.Allowed && a.WaitSeconds < largest {
			suffices(in, number(a.Remaining), a.Wait)
			waits++
		}
		for _, row := range newBurst(in, times).Rows {
			if row.Wait != "" && !strings.HasSuffix(row.Wait, "以上") {
				suffices(in, row.Remaining, row.Wait)
				waits++
			}
		}
	}
	for range 500 {
		in, times := plainBurst(r)
		in.Elapsed = times[0]
		check(in, times)
	}
	double := func() float64 { return math.Ldexp(r.Float64()+0.1, r.IntN(2090)-1070) }
	for range 2500 {
		check(Input{double(), double(), double(), double(), double()}, nil)
		check(Input{r.ExpFloat64() + 1, r.ExpFloat64(), r.Float64(), r.ExpFloat64(), r.ExpFloat64() + 0.1}, []float64{0, 0, r.Float64()})
	}
	if waits < 3000 {
		t.Errorf("only %d waits were looked at", waits)
	}
}

// The burst on the page is what the limiter does with the same schedule.
func TestBurstAgreesWithLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 16))
		for range 300 {
			perSecond, burst := float64(1+r.IntN(50))/10, float64(10+r.IntN(50))/10
			l, err := ratelimit.New(ratelimit.Config{PerSecond: perSecond, Burst: burst, Clients: 10})
			if err != nil {
				t.Fatal(err)
			}
			_, times := plainBurst(r)
			steps, _ := fold(Input{burst, perSecond, burst, 0, 1}, times)
			last := 0.0
			for i, s := range steps {
				time.Sleep(time.Duration(math.Round((times[i]-last)*1000)) * time.Millisecond)
				last = times[i]
				d := l.Take(netip.MustParseAddr("192.0.2.1"))
				if d.Allowed() != s.Allowed || !s.Allowed && math.Abs(d.Wait.Seconds()-s.Wait) > 2e-9 {
					t.Fatalf("%v a second, burst %v, at %v, step %d: limiter %+v, burst %+v", perSecond, burst, times, i+1, d, s)
				}
			}
		}
	})
}
