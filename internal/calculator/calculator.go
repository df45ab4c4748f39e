// Package calculator shows the server's token bucket to whoever asks: to programs
// as JSON, to people as a page with the sum, a graph and a burst of requests.
//
// It decides nothing itself. Every number comes from [ratelimit.Bucket.Take], the
// function that the limiter is tested against, so what is shown here is what the
// server does. What can go wrong is what was asked, and that is said by field.
package calculator

import (
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"kiribashiri/internal/ratelimit"
)

// An Input is the question: a bucket, the seconds since it was last refilled, and
// what is wanted of it. All are finite, Capacity and RequestCount above 0, the
// others 0 or more.
type Input struct {
	Capacity     float64 `json:"capacity"`      // tokens that fit in
	RefillRate   float64 `json:"refill_rate"`   // tokens a second
	Tokens       float64 `json:"tokens"`        // before the refill; may be more than fit in
	Elapsed      float64 `json:"elapsed"`       // seconds
	RequestCount float64 `json:"request_count"` // tokens wanted
}

// An Answer is the question and what comes of it, in the contract's order.
type Answer struct {
	Input
	Available   float64 `json:"tokens_available"`
	Allowed     bool    `json:"allowed"`
	Remaining   float64 `json:"tokens_remaining"`
	Consumed    float64 `json:"tokens_consumed"`
	Deficit     float64 `json:"deficit"`
	WaitSeconds float64 `json:"wait_seconds"` // rounded up, so that waiting suffices; at most the largest double
	CanSatisfy  bool    `json:"can_satisfy"`
	Formula     string  `json:"formula"` // the decision with its numbers, for people
}

// Calculate answers in, which must be valid.
func Calculate(in Input) Answer {
	out := in.bucket().Take(in.Elapsed, in.RequestCount)
	return Answer{
		Input:       in,
		Available:   out.Available,
		Allowed:     out.Allowed,
		Remaining:   out.Remaining,
		Consumed:    out.Consumed,
		Deficit:     out.Deficit,
		WaitSeconds: out.Wait,
		CanSatisfy:  out.CanSatisfy,
		Formula:     "min(" + in.sum() + ") = " + compared(out, in.RequestCount),
	}
}

func (in Input) bucket() ratelimit.Bucket {
	return ratelimit.Bucket{Capacity: in.Capacity, Rate: in.RefillRate, Tokens: in.Tokens}
}

// sum is what the smaller of is available.
func (in Input) sum() string {
	return number(in.Capacity) + ", " + number(in.Tokens) + " + " + number(in.Elapsed) + " × " + number(in.RefillRate)
}

// compared says what is available and how it compares with what is wanted. What
// is missing may be less than the last digit of what is available shows; then it
// is written as a difference, so that no line says that 3 is less than 3.
func compared(out ratelimit.Outcome, want float64) string {
	switch {
	case out.Allowed:
		return number(out.Available) + " ≥ " + number(want)
	case out.Available >= want:
		return number(want) + " − " + number(out.Deficit) + " < " + number(want)
	default:
		return number(out.Available) + " < " + number(want)
	}
}

// A field is one of the five numbers, for all that is done with each in turn.
type field struct {
	name     string // in JSON and in the page's address
	positive bool   // must be above 0; the others may be 0
	in       func(*Input) *float64
}

// fields are in the contract's order: the first that is wrong is the one named.
var fields = [...]field{
	{"capacity", true, func(in *Input) *float64 { return &in.Capacity }},
	{"refill_rate", false, func(in *Input) *float64 { return &in.RefillRate }},
	{"tokens", false, func(in *Input) *float64 { return &in.Tokens }},
	{"elapsed", false, func(in *Input) *float64 { return &in.Elapsed }},
	{"request_count", true, func(in *Input) *float64 { return &in.RequestCount }},
}

// ErrInvalid is that a field has no number that it can have. The error itself is
// a [*FieldError].
var ErrInvalid = errors.New("invalid input")

// A FieldError says which field is wrong and how.
type FieldError struct {
	Field  string
	reason reason
}

func (e *FieldError) Error() string { return e.Field + " " + e.reason.english() }
func (e *FieldError) Unwrap() error { return ErrInvalid }

// A reason is what is wrong with a field.
type reason int

const (
	fine        reason = iota
	missing            // there is nothing
	notANumber         // there is something else
	tooLarge           // beyond the largest double
	notPositive        // 0 or less where it must be above
	negative           // below 0 where it must not be
)

func (r reason) english() string {
	switch r {
	case missing:
		return "is missing"
	case notANumber:
		return "must be a number"
	case tooLarge:
		return "is too large for a double"
	case notPositive:
		return "must be above 0"
	default:
		return "must be 0 or more"
	}
}

// A Request is the question as JSON: the five fields, unread.
type Request struct {
	Capacity     jsontext.Value `json:"capacity"`
	RefillRate   jsontext.Value `json:"refill_rate"`
	Tokens       jsontext.Value `json:"tokens"`
	Elapsed      jsontext.Value `json:"elapsed"`
	RequestCount jsontext.Value `json:"request_count"`
}

// Input reads the numbers. Its error is a [*FieldError].
func (r Request) Input() (Input, error) {
	var in Input
	for i, value := range [...]jsontext.Value{r.Capacity, r.RefillRate, r.Tokens, r.Elapsed, r.RequestCount} {
		f := fields[i]
		x, wrong := 0.0, missing
		if len(value) > 0 {
			if wrong = notANumber; value.Kind() == '0' {
				x, wrong = f.read(string(value))
			}
		}
		if wrong != fine {
			return Input{}, &FieldError{f.name, wrong}
		}
		*f.in(&in) = x
	}
	return in, nil
}

// read reads the text of a decimal number for this field.
func (f field) read(text string) (float64, reason) {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && x < 0 || x < 0:
		return 0, f.tooSmall()
	case math.IsInf(x, 0):
		return 0, tooLarge
	case err != nil:
		return 0, notANumber
	case x == 0 && f.positive:
		return 0, notPositive
	}
	return x + 0, fine // -0 + 0 is 0
}

func (f field) tooSmall() reason {
	if f.positive {
		return notPositive
	}
	return negative
}
