package calculator

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A leaky bucket as a meter decides the same as a token bucket, always, and a
// queue takes in the same.
func TestMeterDecidesTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	decisions := 0
	for range 3000 {
		in, times := plainBurst(r)
		steps, w := fold(in, times)
		meter, queue, _, _, _ := w.relatives()
		looked, queued := w.judge(meter), w.judge(queue)
		for i, s := range steps {
			if looked[i].allowed != s.Allowed || queued[i].allowed != s.Allowed {
				t.Fatalf("%+v at %v, step %d: token bucket %v, meter %v, queue %v", in, times, i+1, s.Allowed, looked[i].allowed, queued[i].allowed)
			}
			decisions++
		}
	}
	t.Logf("%d decisions", decisions)
}

// What each relative does with bursts that tell them apart: + passes, - does not.
func TestRelatives(t *testing.T) {
	for _, row := range []struct {
		name                              string
		in                                Input
		times                             string
		bucket, fixed, log, counter, wait string
	}{
		{"twice the limit at the edge of a window", Input{2, 2, 2, 0, 1}, "0.95 0.95 0.95 1.05 1.05 1.05", "++----", "++-++-", "++----", "++----", "0 0.5"},
		{"a log gives back in a lump", Input{2, 2, 2, 0, 1}, "0 0 0.5 0.9 1 1", "+++-+-", "++--++", "++--++", "++----", "0 0.5 0.5 0.5"},
		{"a counter takes the past for even", Input{2, 2, 2, 0, 1}, "0 0 1.4 1.5 2", "+++++", "+++++", "++++-", "++-++", "0 0.5 0 0.4 0.4"},
		{"what was spent before counts at time 0", Input{2, 2, 0, 0, 1}, "0 0.5 0.999 1", "-+-+", "---+", "---+", "----", "0.5 0.5"},
		{"nothing is refilled", Input{2, 0, 1, 0, 1}, "0 5 1e9", "+--", "+--", "+--", "+--", "never"},
		{"more than fits", Input{2, 2, 2, 0, 3}, "0 9", "--", "--", "--", "--", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			times, wrong := readTimes(row.times)
			if wrong != timesFine {
				t.Fatal(wrong.japanese())
			}
			steps, w := fold(row.in, times)
			_, _, fixed, log, counter := w.relatives()
			own := make([]verdict, len(steps))
			for i, s := range steps {
				own[i].allowed = s.Allowed
			}
			for _, c := range []struct {
				name, want string
				got        []verdict
			}{
				{"token bucket", row.bucket, own}, {"fixed window", row.fixed, w.judge(fixed)},
				{"sliding log", row.log, w.judge(log)}, {"sliding counter", row.counter, w.judge(counter)},
			} {
				got := ""
				for _, v := range c.got {
					got += map[bool]string{true: "+", false: "-"}[v.allowed]
				}
				if got != c.want {
					t.Errorf("%s: %s, want %s", c.name, got, c.want)
				}
			}
			var waits []string
			_, queue, _, _, _ := w.relatives()
			for _, v := range w.judge(queue) {
				if v.allowed && row.in.RefillRate == 0 {
					waits = append(waits, "never")
				} else if v.allowed {
					waits = append(waits, number(w.number(float64(v.delay))/row.in.RefillRate))
				}
			}
			if got := strings.Join(waits, " "); got != row.wait {
				t.Errorf("waits in the queue: %s, want %s", got, row.wait)
			}
		})
	}
}

// No relative lets more pass within one window than it promises: a log the
// capacity, a fixed window twice that.
func TestWindowsKeepTheirPromise(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for range 2000 {
		in, times := plainBurst(r)
		_, w := fold(in, times)
		_, _, fixed, log, _ := w.relatives()
		for factor, verdicts := range map[int64][]verdict{1: w.judge(log), 2: w.judge(fixed)} {
			for i := range verdicts {
				sum := int64(0)
				for j := i; j < len(verdicts) && w.earned[j]-w.earned[i] < w.capacity; j++ {
					if verdicts[j].allowed {
						sum += w.cost
					}
				}
				if sum > factor*w.capacity {
					t.Fatalf("%+v at %v: %d units from step %d on, in a window of %d", in, times, sum, i+1, w.capacity)
				}
			}
		}
	}
}
