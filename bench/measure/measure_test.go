package measure

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestEveryoneRunsOnceARound(t *testing.T) {
	const rounds = 50
	var order []string
	runner := func(name string) Contestant {
		return Contestant{Name: name, Run: func(context.Context) (Sample, error) {
			order = append(order, name)
			return Sample{"n": float64(len(order))}, nil
		}}
	}
	got, err := Interleave(t.Context(), rounds, []Contestant{runner("a"), runner("b")})
	if err != nil {
		t.Fatal(err)
	}
	if len(got["a"]) != rounds || len(got["b"]) != rounds {
		t.Fatalf("a ran %d times and b %d times in %d rounds", len(got["a"]), len(got["b"]), rounds)
	}
	first := map[string]int{}
	for round := range rounds {
		if order[2*round] == order[2*round+1] {
			t.Fatalf("round %d is %v", round, order[2*round:2*round+2])
		}
		first[order[2*round]]++
	}
	if first["a"] == 0 || first["b"] == 0 {
		t.Errorf("the order is the same in all rounds: %v", first)
	}
}

func TestAContestantThatFailsIsNamed(t *testing.T) {
	broken := errors.New("broken")
	_, err := Interleave(t.Context(), 1, []Contestant{{Name: "lame", Run: func(context.Context) (Sample, error) { return nil, broken }}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "lame") {
		t.Errorf("got %v, want the name and the reason", err)
	}
}

// The machine is twice as slow in the second round, and ten times in the third.
var noisy = Samples{
	"fast": {{"us": 10}, {"us": 20}, {"us": 100}},
	"slow": {{"us": 30}, {"us": 60}, {"us": 300}},
	"some": {{"us": 10}, {}, {"us": 10}},
}

func TestRatiosAreTakenInsideARound(t *testing.T) {
	if got, want := noisy.Ratio("slow", "fast", "us"), (Spread{3, 3, 3}); got != want {
		t.Errorf("ratio %v, want %v", got, want)
	}
	if got, want := noisy.Difference("slow", "fast", "us"), (Spread{30, 40, 120}); got != want {
		t.Errorf("difference %v, want %v", got, want)
	}
	if got, want := noisy.Of("fast", "us"), (Spread{15, 20, 60}); got != want {
		t.Errorf("spread %v, want %v", got, want)
	}
}

func TestWhatWasNotMeasuredIsADash(t *testing.T) {
	for name, got := range map[string]Spread{
		"no contestant": noisy.Of("none", "us"),
		"no quantity":   noisy.Of("fast", "mb"),
		"no base":       noisy.Ratio("fast", "none", "us"),
	} {
		if got.Format("%.1f") != "–" || got.Brief("%.1f") != "–" {
			t.Errorf("%s: %q", name, got.Format("%.1f"))
		}
		if AtMost("", "%f", got, 1, "").Reached || AtLeast("", "%f", got, 0, "").Reached {
			t.Errorf("%s reaches a goal", name)
		}
	}
	if got := noisy.Of("some", "us"); !math.IsNaN(got.Median) {
		t.Errorf("a round without a figure is passed over: %v", got)
	}
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		q    float64
		want float64
	}{{0, 1}, {0.5, 2}, {0.75, 2.5}, {1, 3}} {
		if got := Quantile([]float64{1, 2, 3}, c.q); got != c.want {
			t.Errorf("Quantile(1 2 3, %v) = %v, want %v", c.q, got, c.want)
		}
	}
}

func TestASectionShowsWhatStandsInTheWay(t *testing.T) {
	var s Section
	s.Say("Said %d times.", 2)
	s.Table([]string{"", "n"}, [][]string{{"a", "1"}})
	s.Promise(
		AtMost("as low as this", "%.0f", Exactly(2), 1, "A cow."),
		AtLeast("as high as that", "%.0f", Exactly(2), 1, "A horse."),
	)
	const want = `## Title

| goal | measured | reached |
| --- | ---: | --- |
| as low as this | 2 | **no** |
| as high as that | 2 | yes |

**Not reached: as low as this.** A cow.

Said 2 times.

|  | n |
| --- | ---: |
| a | 1 |

`
	if got := s.Markdown("Title"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
