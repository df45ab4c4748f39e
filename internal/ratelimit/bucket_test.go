package ratelimit

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
)

// A vector is one question and its answer. The file is the calculator's too, so
// its names are those of the calculator's JSON.
type vector struct {
	Name string
	In   struct {
		Capacity float64
		Rate     float64 `json:"refill_rate"`
		Tokens   float64
		Elapsed  float64
		Cost     float64 `json:"request_count"`
	}
	Out struct {
		Available  float64 `json:"tokens_available"`
		Allowed    bool
		Remaining  float64 `json:"tokens_remaining"`
		Consumed   float64 `json:"tokens_consumed"`
		Deficit    float64
		Wait       float64 `json:"wait_seconds"`
		CanSatisfy bool    `json:"can_satisfy"`
	}
}

func TestBucketTake(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			got := Bucket{v.In.Capacity, v.In.Rate, v.In.Tokens}.Take(v.In.Elapsed, v.In.Cost)
			if want := Outcome(v.Out); got != want {
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

// A double is a whole number of parts of 2^-1074, and a product of two of 2^-2148.
const part = -2148

// parts returns x, or x × y, as that many of the latter: rational arithmetic, of which
// the denominator is always the same.
func parts(x float64, y ...float64) *big.Int {
	whole := func(x float64) (*big.Int, int) {
		fraction, exponent := math.Frexp(x)
		return big.NewInt(int64(math.Ldexp(fraction, 53))), exponent - 53
	}
	n, exponent := whole(x)
	for _, y := range y {
		m, e := whole(y)
		n.Mul(n, m)
		exponent += e
	}
	if shift := exponent - part; shift >= 0 {
		return n.Lsh(n, uint(shift))
	}
	return n.Rsh(n, uint(part-exponent)) // the zeros that Frexp has put behind a denormal
}

// agrees holds one Take against rational arithmetic.
func agrees(t *testing.T, b Bucket, elapsed, cost float64) {
	t.Helper()
	got := b.Take(elapsed, cost)
	near := func(n *big.Int) float64 {
		f, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(n), part).Float64()
		return f
	}

	available := parts(elapsed, b.Rate)
	available.Add(available, parts(b.Tokens))
	if capacity := parts(b.Capacity); available.Cmp(capacity) > 0 {
		available = capacity
	}
	rest := new(big.Int).Sub(available, parts(cost))
	want := Outcome{Available: near(available), Allowed: rest.Sign() >= 0}
	if want.Allowed {
		want.Remaining, want.Consumed, want.CanSatisfy = near(rest), cost, true
	} else {
		want.Remaining, want.Deficit = want.Available, near(rest.Neg(rest))
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
	exact := parts(sooner, b.Rate)
	if early.Allowed && exact.Add(exact, available).Cmp(parts(cost)) >= 0 {
		t.Fatalf("%+v.Take(%v, %v): waiting %v would do, but %v was asked", b, elapsed, cost, sooner, got.Wait)
	}
}

func TestBucketAgreesWithRationals(t *testing.T) {
	inputs := 1_000_000
	if testing.Short() {
		inputs /= 10
	}
	const runs = 8
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, seed))
			for range inputs / runs {
				b := Bucket{max(double(r), math.SmallestNonzeroFloat64), double(r), double(r)}
				agrees(t, b, double(r), max(double(r), math.SmallestNonzeroFloat64))
			}
		})
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
