package ratelimit

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestBucketTake(t *testing.T) {
	const tiny, huge = math.SmallestNonzeroFloat64, math.MaxFloat64
	for _, row := range []struct {
		name                            string
		capacity, rate, tokens, elapsed float64
		cost                            float64
		available, remaining, deficit   float64
		wait                            float64
		allowed, satisfy                bool
	}{
		{"the seed's example", 10, 2, 5, 1.5, 3, 8, 5, 0, 0, true, true},
		{"the seed's second example", 10, 2, 5, 1.5, 9, 8, 8, 1, 0.5, false, true},
		{"exactly enough", 2, 2, 0, 0.5, 1, 1, 0, 0, 0, true, true},
		{"clamped after a long pause", 2, 2, 0, 1e9, 2, 2, 0, 0, 0, true, true},
		{"more tokens than fit are cut off after the refill", 10, 2, 50, 0, 3, 10, 7, 0, 0, true, true},
		{"more than fits never comes", 10, 2, 10, 0, 11, 10, 10, 1, 0, false, false},
		{"no refill never comes", 10, 0, 2, 1e9, 3, 2, 2, 1, 0, false, false},
		{"no refill, but enough", 10, 0, 3, 0, 3, 3, 0, 0, 0, true, true},
		{"a refill beyond the largest double", 10, huge, 0, huge, 10, 10, 0, 0, 0, true, true},
		{"a refill below the smallest double", 10, tiny, 1, tiny, 1, 1, 0, 0, 0, true, true},
		{"a wait beyond the largest double", 10, tiny, 0, 0, 10, 0, 0, 10, huge, false, true},
		{"a wait below the smallest double", 10, huge, 0, 0, tiny, 0, 0, tiny, tiny, false, true},
		{"negative zeros do not show", 10, math.Copysign(0, -1), math.Copysign(0, -1), math.Copysign(0, -1), 1, 0, 0, 1, 0, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			consumed := 0.0
			if row.allowed {
				consumed = row.cost
			}
			want := Outcome{row.available, row.allowed, row.remaining, consumed, row.deficit, row.wait, row.satisfy}
			got := Bucket{row.capacity, row.rate, row.tokens}.Take(row.elapsed, row.cost)
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			for _, x := range []float64{got.Available, got.Remaining, got.Deficit, got.Wait} {
				if math.Signbit(x) {
					t.Errorf("a number is below zero: %+v", got)
				}
			}
		})
	}
}

// double returns a finite double from the whole range: everyday numbers, whole
// ones, and any exponent.
func double(r *rand.Rand) float64 {
	switch r.IntN(4) {
	case 0:
		return r.Float64() * 10
	case 1:
		return float64(r.IntN(20))
	case 2:
		return float64(r.IntN(1000)) / 10
	default:
		return math.Ldexp(r.Float64(), r.IntN(2098)-1074)
	}
}

// agrees holds one Take against rational arithmetic.
func agrees(t *testing.T, b Bucket, elapsed, cost float64) {
	t.Helper()
	got := b.Take(elapsed, cost)
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	near := func(x *big.Rat) float64 { f, _ := x.Float64(); return f }

	available := rat(elapsed)
	available.Mul(available, rat(b.Rate)).Add(available, rat(b.Tokens))
	if available.Cmp(rat(b.Capacity)) > 0 {
		available = rat(b.Capacity)
	}
	rest := new(big.Rat).Sub(available, rat(cost))
	want := Outcome{Available: near(available), Allowed: rest.Sign() >= 0}
	if want.Allowed {
		want.Remaining, want.Consumed, want.CanSatisfy = near(rest), cost, true
	} else {
		want.Remaining, want.Deficit = want.Available, near(new(big.Rat).Neg(rest))
		want.CanSatisfy = b.Rate > 0 && cost <= b.Capacity
		want.Wait = got.Wait // judged below
	}
	if got != want {
		t.Fatalf("%+v.Take(%v, %v)\ngot  %+v\nwant %+v", b, elapsed, cost, got, want)
	}
	if !want.CanSatisfy || want.Allowed {
		if got.Wait != 0 {
			t.Fatalf("%+v.Take(%v, %v).Wait = %v, want 0", b, elapsed, cost, got.Wait)
		}
		return
	}
	if got.Wait <= 0 || math.IsInf(got.Wait, 0) || math.IsNaN(got.Wait) {
		t.Fatalf("%+v.Take(%v, %v).Wait = %v, want a finite wait above 0", b, elapsed, cost, got.Wait)
	}
	if got.Wait == math.MaxFloat64 {
		return // the largest there is, which need not suffice
	}
	if after := (Bucket{b.Capacity, b.Rate, got.Remaining}).Take(got.Wait, cost); !after.Allowed {
		t.Fatalf("%+v.Take(%v, %v): after waiting %v still refused: %+v", b, elapsed, cost, got.Wait, after)
	}
	sooner := math.Nextafter(got.Wait, 0)
	early := (Bucket{b.Capacity, b.Rate, got.Remaining}).Take(sooner, cost)
	exact := rat(sooner)
	exact.Mul(exact, rat(b.Rate)).Add(exact, available)
	if early.Allowed && exact.Cmp(rat(cost)) >= 0 {
		t.Fatalf("%+v.Take(%v, %v): waiting %v would do, but %v was asked", b, elapsed, cost, sooner, got.Wait)
	}
}

func TestBucketAgreesWithRationals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		b := Bucket{max(double(r), math.SmallestNonzeroFloat64), double(r), double(r)}
		agrees(t, b, double(r), max(double(r), math.SmallestNonzeroFloat64))
	}
}

func FuzzBucketTake(f *testing.F) {
	f.Add(10.0, 2.0, 5.0, 1.5, 3.0)
	f.Add(10.0, 2.0, 5.0, 1.5, 9.0)
	f.Add(3.0, 0.3, 0.0, 10.0, 3.0)
	f.Add(5e-324, 1e308, 0.0, 5e-324, 5e-324)
	f.Fuzz(func(t *testing.T, capacity, rate, tokens, elapsed, cost float64) {
		for _, x := range []float64{capacity, rate, tokens, elapsed, cost} {
			if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
				t.Skip()
			}
		}
		if capacity == 0 || cost == 0 {
			t.Skip()
		}
		agrees(t, Bucket{capacity, rate, tokens}, elapsed, cost)
	})
}

func BenchmarkBucketTake(b *testing.B) {
	bucket := Bucket{10, 2, 5}
	for b.Loop() {
		bucket.Take(1.5, 9)
	}
}
