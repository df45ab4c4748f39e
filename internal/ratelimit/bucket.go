// Package ratelimit decides whether a client may make a move: a token bucket,
// once as a pure function ([Bucket.Take], which the calculator shows to people)
// and once as a limiter with a bucket for each client ([Limiter], which the
// server asks). All of the server's arithmetic on tokens stands here.
//
// A bucket holds up to b tokens and earns r a second; a move takes one. So in
// any stretch of T seconds at most b + r·T moves pass (RFC 2215 calls r and b
// the token rate and the bucket depth). Both forms are exact: neither a rounded
// sum nor a clock that steps back ever moves a decision. A test holds one
// against the other, step by step.
package ratelimit

import (
	"math"
	"math/big"
)

// A Bucket is a token bucket at one moment. Tokens and Capacity are in tokens,
// Rate is in tokens a second (or whatever unit the caller measures time in).
type Bucket struct {
	Capacity float64 // above 0
	Rate     float64 // 0 or more; 0 never refills
	Tokens   float64 // 0 or more; what is above Capacity is cut off after the refill
}

// An Outcome is what a bucket answers. Each number is the double nearest to the
// exact result, except that Wait is rounded up, so that waiting suffices.
type Outcome struct {
	Available  float64 // after the refill: min(Capacity, Tokens + elapsed × Rate)
	Allowed    bool    // Available ≥ cost
	Remaining  float64 // Available, less cost if allowed
	Consumed   float64 // cost if allowed, otherwise 0
	Deficit    float64 // what Available lacks; 0 if allowed
	Wait       float64 // until cost could be taken; 0 if allowed or if that never comes
	CanSatisfy bool    // allowed, or will be after Wait
}

// exact is a precision, in bits, at which sums and products of doubles are
// exact: a product of two spans 2^-2148 to 2^2048, and one carry comes on top.
const exact = 4352

// Take refills b with what elapsed earns and then takes cost tokens, if they are
// there. A refused Take takes nothing. elapsed is 0 or more, cost above 0, and
// all numbers are finite; for others the outcome means nothing.
func (b Bucket) Take(elapsed, cost float64) Outcome {
	capacity, rate, want := number(b.Capacity), number(b.Rate), number(cost)
	available := number(elapsed)
	available.Mul(available, rate).Add(available, number(b.Tokens))
	if available.Cmp(capacity) > 0 {
		available.Set(capacity)
	}

	out := Outcome{Available: nearest(available)}
	rest := new(big.Float).SetPrec(exact).Sub(available, want)
	if rest.Sign() >= 0 {
		out.Allowed, out.CanSatisfy = true, true
		out.Remaining, out.Consumed = nearest(rest), cost
		return out
	}
	out.Remaining, out.Deficit = out.Available, nearest(rest.Neg(rest))
	if b.Rate > 0 && cost <= b.Capacity {
		out.CanSatisfy = true
		out.Wait = b.wait(available, want, rate)
	}
	return out
}

// wait returns the smallest double after which a bucket that has available now
// has want, whether a caller goes on from the exact number or from the double
// that it was told. A wait that no double holds is the largest one.
func (b Bucket) wait(available, want, rate *big.Float) float64 {
	least := available
	if told := number(nearest(available)); told.Cmp(least) < 0 {
		least = told
	}
	enough := func(wait float64) bool {
		earned := number(wait)
		return earned.Mul(earned, rate).Add(earned, least).Cmp(want) >= 0
	}
	lack := new(big.Float).SetPrec(exact).Sub(want, least)
	wait, _ := new(big.Float).SetPrec(64).SetMode(big.ToZero).Quo(lack, rate).Float64()
	wait = min(wait, math.MaxFloat64)
	for !enough(wait) && wait < math.MaxFloat64 { // never too long by now, and short by a step or two
		wait = math.Nextafter(wait, math.Inf(1))
	}
	return wait
}

// number returns x for exact arithmetic.
func number(x float64) *big.Float { return new(big.Float).SetPrec(exact).SetFloat64(x) }

// nearest returns the double nearest to x, and never a negative zero.
func nearest(x *big.Float) float64 {
	f, _ := x.Float64()
	return f + 0 // -0 + 0 is 0
}
