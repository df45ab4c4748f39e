// Package measure is what all faces of the benchmark share: contestants that take
// turns in rounds, medians of what they did, and the words and tables that come
// of it.
//
// A machine is never quiet, so nothing absolute is trusted: contestants run right
// after one another, in a new random order each round, a ratio is taken inside its
// round, and the median over the rounds is what counts.
package measure

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Face is one side of speed.
type Face struct {
	Name  string // for -only
	Title string
	// Run measures and says what came of it. It returns an error if it could not
	// measure, never because a goal was not reached.
	Run func(context.Context, *Bench, *Section) error
}

// A Bench is what the faces are given.
type Bench struct {
	// Rounds is how many rounds there are, or 0 for as many as the face finds right.
	Rounds int
	// Smoke asks for the least that touches everything. Its figures mean nothing.
	Smoke bool
	// Server is the server's binary, or empty to build it.
	Server string
	// Profiles is a folder for profiles of the server under load, or empty for none.
	Profiles string
	// Dir is a folder for what is built and written; it is gone afterwards.
	Dir string
	// Log tells whoever waits how far it is.
	Log func(format string, args ...any)
}

// RoundsOr returns how many rounds a face runs that finds n right.
func (b *Bench) RoundsOr(n int) int {
	switch {
	case b.Smoke:
		return 1
	case b.Rounds > 0:
		return b.Rounds
	default:
		return n
	}
}

// A Sample is what one contestant did in one round, by the quantity's name.
type Sample map[string]float64

// quantity returns what the sample says of it, or NaN.
func (s Sample) quantity(name string) float64 {
	if v, ok := s[name]; ok {
		return v
	}
	return math.NaN()
}

// A Contestant takes part in every round.
type Contestant struct {
	Name string
	Run  func(context.Context) (Sample, error)
}

// Samples is what all contestants did, by name; each has one sample a round.
type Samples map[string][]Sample

// Interleave has each contestant run once a round, in random order. Only those that
// are compared belong together: the shorter a round, the less the machine changes
// meanwhile.
func Interleave(ctx context.Context, rounds int, contestants []Contestant) (Samples, error) {
	all := make(Samples)
	for range rounds {
		for _, i := range rand.Perm(len(contestants)) {
			c := &contestants[i]
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			sample, err := c.Run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			all[c.Name] = append(all[c.Name], sample)
		}
	}
	return all, nil
}

// Of returns the quantity of one contestant, over the rounds.
func (s Samples) Of(name, quantity string) Spread {
	var values []float64
	for _, sample := range s[name] {
		values = append(values, sample.quantity(quantity))
	}
	return SpreadOf(values)
}

// Ratio returns the quantity of one contestant by that of another, taken inside
// each round, over the rounds.
func (s Samples) Ratio(name, base, quantity string) Spread {
	var ratios []float64
	for i, sample := range s[name] {
		if i < len(s[base]) {
			ratios = append(ratios, sample.quantity(quantity)/s[base][i].quantity(quantity))
		}
	}
	return SpreadOf(ratios)
}

// Difference is the same for one less the other.
func (s Samples) Difference(name, base, quantity string) Spread {
	var differences []float64
	for i, sample := range s[name] {
		if i < len(s[base]) {
			differences = append(differences, sample.quantity(quantity)-s[base][i].quantity(quantity))
		}
	}
	return SpreadOf(differences)
}

// A Spread is a median with the quartiles around it.
type Spread struct {
	Low, Median, High float64
}

// SpreadOf returns the spread of values, which it sorts. If one of them is no number,
// so is the spread.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 || slices.ContainsFunc(values, math.IsNaN) {
		return Spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(values)
	return Spread{Quantile(values, 0.25), Quantile(values, 0.5), Quantile(values, 0.75)}
}

// Quantile returns what the share q of sorted values is at or below, between two
// of them if it falls there.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Format writes the median with verb, and the quartiles behind it; a dash if there
// is no such quantity.
func (s Spread) Format(verb string) string {
	if math.IsNaN(s.Median) {
		return "–"
	}
	if s.Low == s.High {
		return s.Brief(verb)
	}
	return fmt.Sprintf(verb+" ("+verb+"–"+verb+")", s.Median, s.Low, s.High)
}

// Brief writes the median alone.
func (s Spread) Brief(verb string) string {
	if math.IsNaN(s.Median) {
		return "–"
	}
	return fmt.Sprintf(verb, s.Median)
}

// Times returns the spread in another unit.
func (s Spread) Times(n float64) Spread { return Spread{s.Low * n, s.Median * n, s.High * n} }

// Exactly is a figure that was taken once.
func Exactly(v float64) Spread { return Spread{v, v, v} }
