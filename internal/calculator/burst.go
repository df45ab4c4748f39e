package calculator

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"kiribashiri/internal/ratelimit"
)

// maxSteps is how many requests one burst may have: as many as a table can be
// read and a page be made in a few milliseconds.
const maxSteps = 200

// A step is one request of a burst and what comes of it.
type step struct {
	at float64 // seconds since the bucket held what was said
	ratelimit.Outcome
}

// fold asks the bucket for the same number of tokens at each of times, in
// seconds, in order. It also returns the burst in whole numbers, or nil if it has
// none of a size that doubles hold.
//
// Counted in whole numbers nothing rounds from one request to the next: 0.1
// seconds ten times is one second, as it is for the limiter.
func fold(in Input, times []float64) ([]step, *whole) {
	if w, ok := newWhole(in, times); ok {
		return w.fold(in, times), w
	}
	steps := make([]step, 0, len(times))
	bucket, last := in.bucket(), 0.0
	for _, at := range times {
		out := bucket.Take(at-last, in.RequestCount)
		steps = append(steps, step{at, out})
		bucket.Tokens, last = out.Remaining, at
	}
	return steps, nil
}

// A whole is a bucket and a burst in whole numbers: of a unit of which ten to the
// power of places make a token. A time is what the bucket earns until then, so
// that the rate is one unit a unit of time (or none).
type whole struct {
	places                 int
	capacity, tokens, cost int64
	rate                   float64 // 1, or 0 if nothing is refilled
	earned                 []int64 // by the time of each request
}

// maxWhole keeps neighbouring whole numbers apart when they are shown as tokens:
// divided by a power of ten they are still different doubles.
const maxWhole = 1 << 50

func newWhole(in Input, times []float64) (*whole, bool) {
	const maxPlaces = 22 // the largest power of ten that a double holds exactly
	tokens := min(in.Tokens, in.Capacity)
	ratePlaces, timePlaces, places := 0, 0, 0
	grow := func(places *int, x float64) {
		_, exponent := decimal(x)
		*places = max(*places, -exponent)
	}
	grow(&ratePlaces, in.RefillRate)
	for _, t := range times {
		grow(&timePlaces, t)
	}
	for _, x := range []float64{in.Capacity, tokens, in.RequestCount} {
		grow(&places, x)
	}
	places = max(places, ratePlaces+timePlaces)
	if places > maxPlaces {
		return nil, false
	}

	w := &whole{places: places, earned: make([]int64, len(times))}
	all := true
	scale := func(x float64, places int) int64 {
		n, ok := scaled(x, places)
		all = all && ok
		return n
	}
	w.capacity, w.tokens, w.cost = scale(in.Capacity, places), scale(tokens, places), scale(in.RequestCount, places)
	rate := scale(in.RefillRate, places-timePlaces)
	if rate > 0 {
		w.rate = 1
	}
	for i, t := range times {
		ticks := scale(t, timePlaces)
		if all = all && (ticks == 0 || rate <= maxWhole/ticks); !all {
			return nil, false
		}
		w.earned[i] = ticks * rate
	}
	return w, all
}

// scaled returns x times ten to the power of places, which must make it whole.
func scaled(x float64, places int) (n int64, ok bool) {
	digits, exponent := decimal(x)
	zeros := exponent + places
	if digits == "0" {
		return 0, true
	}
	if len(digits)+zeros > 16 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", zeros), 10, 64)
	return n, err == nil && n <= maxWhole
}

func (w *whole) fold(in Input, times []float64) []step {
	steps := make([]step, 0, len(times))
	bucket, last := ratelimit.Bucket{Capacity: float64(w.capacity), Rate: w.rate, Tokens: float64(w.tokens)}, int64(0)
	for i, at := range times {
		out := bucket.Take(float64(w.earned[i]-last), float64(w.cost))
		bucket.Tokens, last = out.Remaining, w.earned[i]

		for _, x := range []*float64{&out.Available, &out.Remaining, &out.Consumed, &out.Deficit} {
			*x = w.number(*x)
		}
		if out.Wait > 0 { // in seconds, and enough for who goes on from the numbers shown
			out.Wait = ratelimit.Bucket{Capacity: in.Capacity, Rate: in.RefillRate, Tokens: out.Remaining}.Take(0, in.RequestCount).Wait
		}
		steps = append(steps, step{at, out})
	}
	return steps
}

// number returns n units as tokens.
func (w *whole) number(n float64) float64 { return n / math.Pow10(w.places) }

// Ways to say "N times, every T seconds", once in ASCII. 回, 秒 and ごと are words
// for people; the others are for who writes quickly.
var (
	timesEvery = regexp.MustCompile(`^([0-9]+) ?(?:回|[x*×@]|every)[, ]*([-+0-9.eE]+) ?(?:s|秒)?(?:ごと|毎|おき)?に?$`)
	everyTimes = regexp.MustCompile(`^([-+0-9.eE]+) ?(?:s|秒) ?(?:ごと|毎|おき)に? ?([0-9]+) ?回$`)
)

// A timesError is what is wrong with the times of a burst.
type timesError int

const (
	timesFine timesError = iota
	timesUnreadable
	timesNegative
	timesTooLarge
	timesTooMany
	timesBackward
)

// readTimes reads the times of a burst, in seconds: a list, or how often and how
// far apart. No text is no burst.
func readTimes(text string) ([]float64, timesError) {
	text = strings.TrimSpace(strings.ToLower(ascii(text)))
	if match := timesEvery.FindStringSubmatch(text); match != nil {
		return repeat(match[1], match[2])
	}
	if match := everyTimes.FindStringSubmatch(text); match != nil {
		return repeat(match[2], match[1])
	}
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ,;\t\r\n", c) })
	if len(words) > maxSteps {
		return nil, timesTooMany
	}
	times := make([]float64, 0, len(words))
	for _, word := range words {
		at, wrong := readTime(word)
		if wrong != timesFine {
			return nil, wrong
		}
		if len(times) > 0 && at < times[len(times)-1] {
			return nil, timesBackward
		}
		times = append(times, at)
	}
	return times, timesFine
}

func readTime(word string) (float64, timesError) {
	at, wrong := field{}.readTyped(word)
	switch wrong {
	case fine:
		return at, timesFine
	case negative:
		return 0, timesNegative
	case tooLarge:
		return 0, timesTooLarge
	default:
		return 0, timesUnreadable
	}
}

func repeat(count, every string) ([]float64, timesError) {
	period, wrong := readTime(every)
	if wrong != timesFine {
		return nil, wrong
	}
	n, err := strconv.Atoi(count)
	if err != nil || n > maxSteps {
		return nil, timesTooMany
	}
	if n == 0 {
		return nil, timesUnreadable
	}
	digits, exponent := decimal(period)
	step, _ := new(big.Int).SetString(digits, 10)
	times := make([]float64, n)
	for i := range times {
		// By way of the decimal number, so that the third of 0.1 is 0.3 and no sum of rounded parts.
		text := new(big.Int).Mul(step, big.NewInt(int64(i))).String() + "e" + strconv.Itoa(exponent)
		if times[i], err = strconv.ParseFloat(text, 64); err != nil {
			return nil, timesTooLarge
		}
	}
	return times, timesFine
}
