package calculator

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A vector is one question and its answer, of the file that the function's own
// tests use.
type vector struct {
	Name string
	In   json.RawMessage
	Out  Answer
}

func vectors(t testing.TB) []vector {
	t.Helper()
	raw, err := os.ReadFile("../ratelimit/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t testing.TB, raw []byte) Input {
	t.Helper()
	var r Request
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	in, err := r.Input()
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return in
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			in := read(t, v.In)
			got, want := Calculate(in), v.Out
			want.Input, want.Formula = in, got.Formula
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if strconv.FormatFloat(in.Elapsed, 'g', -1, 64)[0] == '-' {
				t.Errorf("a negative zero is given back: %+v", in)
			}
		})
	}
}

func TestFormula(t *testing.T) {
	for _, row := range []struct {
		in   Input
		want string
	}{
		{Input{10, 2, 5, 1.5, 3}, "min(10, 5 + 1.5 × 2) = 8 ≥ 3"},
		{Input{10, 2, 5, 1.5, 9}, "min(10, 5 + 1.5 × 2) = 8 < 9"},
		{Input{10, 10, 0, 0.3, 3}, "min(10, 0 + 0.3 × 10) = 3 − 1.1102230246251565e-16 < 3"},
		{Input{math.MaxFloat64, 0, 5e-324, 1e21, 1e-7}, "min(1.7976931348623157e308, 5e-324 + 1e21 × 0) = 5e-324 < 1e-7"},
	} {
		if got := Calculate(row.in).Formula; got != row.want {
			t.Errorf("%+v: %s, want %s", row.in, got, row.want)
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	const good = `"capacity":10,"refill_rate":2,"tokens":5,"elapsed":1.5,"request_count":3`
	for _, row := range []struct{ body, field, text string }{
		{`{}`, "capacity", "capacity is missing"},
		{`{"request_count":0}`, "capacity", "capacity is missing"},
		{`{"capacity":10,"refill_rate":-1,"tokens":-1}`, "refill_rate", "refill_rate must be 0 or more"},
		{`{"capacity":"10","refill_rate":2,"tokens":5,"elapsed":1.5,"request_count":3}`, "capacity", "capacity must be a number"},
		{`{"capacity":null}`, "capacity", "capacity must be a number"},
		{`{"capacity":[[10]]}`, "capacity", "capacity must be a number"},
		{`{"capacity":true}`, "capacity", "capacity must be a number"},
		{`{"capacity":0}`, "capacity", "capacity must be above 0"},
		{`{"capacity":-0}`, "capacity", "capacity must be above 0"},
		{`{"capacity":1e-400}`, "capacity", "capacity must be above 0"},
		{`{"capacity":1e400}`, "capacity", "capacity is too large for a double"},
		{`{"capacity":-1e400}`, "capacity", "capacity must be above 0"},
		{`{"capacity":1,"refill_rate":1e309}`, "refill_rate", "refill_rate is too large for a double"},
		{`{"capacity":1,"refill_rate":1,"tokens":-1e999}`, "tokens", "tokens must be 0 or more"},
		{`{"capacity":1,"refill_rate":1,"tokens":1,"elapsed":"NaN"}`, "elapsed", "elapsed must be a number"},
		{`{"capacity":1,"refill_rate":1,"tokens":1,"elapsed":1}`, "request_count", "request_count is missing"},
		{`{"capacity":1,"refill_rate":1,"tokens":1,"elapsed":1,"request_count":0.0}`, "request_count", "request_count must be above 0"},
	} {
		var r Request
		if err := json.Unmarshal([]byte(row.body), &r); err != nil {
			t.Fatal(err)
		}
		_, err := r.Input()
		wrong, ok := errors.AsType[*FieldError](err)
		if !ok || !errors.Is(err, ErrInvalid) || wrong.Field != row.field || err.Error() != row.text {
			t.Errorf("%s: %v, want %s", row.body, err, row.text)
		}
	}
	var r Request
	json.Unmarshal([]byte("{"+good+"}"), &r)
	if _, err := r.Input(); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

// A number is written so that it reads as the same double, and stays one that
// JSON and the form read.
func TestNumbersReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		x := math.Float64frombits(r.Uint64() >> 1)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		s := number(x)
		if got, wrong := (field{}).readTyped(s); got != x || wrong != fine {
			t.Fatalf("%v is written %s, which reads %v (%v)", x, s, got, wrong)
		}
		if !jsontext.Value(s).IsValid() {
			t.Fatalf("%s is no JSON", s)
		}
	}
}

func TestUpIsNeverLess(t *testing.T) {
	for _, row := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {0.5, "0.5"}, {1.0 / 3, "0.334"}, {0.25, "0.25"}, {0.30000000000000004, "0.301"}, {12345.6789, "12345.679"}, {1e300, "1e300"},
		{0.00012345, "0.000124"}, {5e-324, "5e-324"}, {math.MaxFloat64, "1.7976931348623157e308"}, {0.9999999, "1"}, {1e-7, "1e-7"},
	} {
		if got := up(row.x); got != row.want {
			t.Errorf("up(%v) = %s, want %s", row.x, got, row.want)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 200_000 {
		x := math.Float64frombits(r.Uint64() >> 1)
		if r.IntN(2) == 0 {
			x = r.ExpFloat64()
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		got, err := strconv.ParseFloat(up(x), 64)
		if err != nil || got < x || got > x*1.01+0.001 {
			t.Fatalf("up(%v) = %s", x, up(x))
		}
	}
}

func TestTypedNumbers(t *testing.T) {
	for _, row := range []struct {
		typed string
		want  float64
		wrong reason
	}{
		{"10", 10, fine}, {" 10 ", 10, fine}, {"１０", 10, fine}, {"１．５", 1.5, fine}, {"1。5", 1.5, fine}, {"＋３", 3, fine},
		{"　2　", 2, fine}, {".5", 0.5, fine}, {"5.", 5, fine}, {"1e3", 1000, fine}, {"１ｅー３", 0.001, fine}, {"1E+2", 100, fine},
		{"1,000", 1000, fine}, {"１，２３４，５６７．８", 1234567.8, fine}, {"12、345", 12345, fine}, {"5e-324", 5e-324, fine}, {"-0", 0, fine}, {"ー０", 0, fine},
		{"", 0, missing}, {"　", 0, missing}, {"ー1", 0, negative}, {"−1", 0, negative}, {"－１", 0, negative}, {"‐1", 0, negative}, {"-1e-9", 0, negative}, {"-1e999", 0, negative},
		{"1,5", 0, notANumber}, {"1,00,000", 0, notANumber}, {"1 000", 0, notANumber}, {"NaN", 0, notANumber}, {"Inf", 0, notANumber}, {"-Inf", 0, notANumber}, {"infinity", 0, notANumber}, {"0x10", 0, notANumber},
		{"1_000", 0, notANumber}, {"一", 0, notANumber}, {"10個", 0, notANumber}, {"1.2.3", 0, notANumber}, {"--1", 0, notANumber}, {"1\x00", 0, notANumber}, {"٣", 0, notANumber}, {"e3", 0, notANumber}, {".", 0, notANumber},
		{"1e309", 0, tooLarge}, {"9e999999999", 0, tooLarge},
	} {
		got, wrong := field{}.readTyped(row.typed)
		if got != row.want || wrong != row.wrong || math.Signbit(got) {
			t.Errorf("%q: %v (%v), want %v (%v)", row.typed, got, wrong, row.want, row.wrong)
		}
	}
	for _, typed := range []string{"0", "-0", "-1", "０", "1e-999"} {
		if _, wrong := (field{positive: true}).readTyped(typed); wrong != notPositive {
			t.Errorf("%q where it must be above 0: %v", typed, wrong)
		}
	}
}
