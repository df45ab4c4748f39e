package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden claims that got is what stands in a file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant, as in %s,\n%s", got, file, want)
	}
}

func exampleTally() *tally {
	t := newTally(3)
	for range 98 {
		t.move(0, "")
		t.latency(2 * time.Millisecond)
	}
	t.move(1, `say "x" from {}: ["state is missing"]`)
	t.latency(30 * time.Millisecond)
	t.move(2, "")
	t.latency(4 * time.Second)
	t.request(&refusal{status: 429, code: "rate_limited"})
	t.request(&refusal{status: 429, code: "rate_limited"})
	t.request(&refusal{status: 429, code: "queue_full"})
	t.request(&refusal{status: 502, code: "engine_failed"})
	t.request(errLost)
	t.request(nil)
	t.gaveUp()
	t.unfinished()
	return t
}

func TestSummary(t *testing.T) {
	s := summary{Loop: "closed", Players: 3, Seed: 7, Seconds: 60, Interrupted: true, Compared: 5}
	exampleTally().sum(&s)
	var text, program bytes.Buffer
	s.print(&text)
	if err := s.printJSON(&program); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/closed.golden", text.Bytes())
	golden(t, "testdata/closed.golden.json", program.Bytes())

	open := summary{Loop: "open", Rate: 2.5, Players: 3, Seed: 7, Seconds: 60, Due: 150}
	newTally(3).sum(&open)
	text.Reset()
	open.print(&text)
	golden(t, "testdata/open.golden", text.Bytes())
}

// Percentiles are within a thousandth of the truth, and nothing falls out of range.
func TestLatencies(t *testing.T) {
	tally := newTally(1)
	for n := range 10_000 {
		tally.latency(time.Duration(n+1) * 100 * time.Microsecond)
	}
	var s summary
	tally.sum(&s)
	for name, pair := range map[string][2]float64{
		"p50": {s.Latency.P50, 500}, "p90": {s.Latency.P90, 900}, "p99": {s.Latency.P99, 990}, "max": {s.Latency.Max, 1000},
	} {
		if got, want := pair[0], pair[1]; got < want*0.999 || got > want*1.001 {
			t.Errorf("%s: %v ms, want %v", name, got, want)
		}
	}
	tally.latency(-time.Second)
	tally.latency(0)
	tally.latency(1000 * time.Hour)
	if n := tally.latencies.TotalCount(); n != 10_003 {
		t.Errorf("%d recorded, want 10003", n)
	}
}

func TestProgress(t *testing.T) {
	for _, row := range []struct {
		name     string
		terminal bool
		want     string
	}{
		{"elsewhere", false, "100 moves, 3 refused, 2 errors, 2m0s left\n100 moves, 3 refused, 2 errors, 1m0s left\n"},
		{"on a terminal", true, "\r\x1b[K[....................] 100 moves, 3 refused, 2 errors, 2m59s left"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				over := make(chan struct{})
				time.AfterFunc(150*time.Second, func() { close(over) })
				exampleTally().show(over, &out, row.terminal, time.Now(), 3*time.Minute)
				got := out.String()
				if row.terminal {
					if n := strings.Count(got, "\r\x1b[K["); n != 149 && n != 150 {
						t.Errorf("drawn %d times, want about 150", n)
					}
					if !strings.Contains(got, "[##########..........] 100 moves, 3 refused, 2 errors, 1m30s left") || !strings.HasSuffix(got, "\r\x1b[K") {
						t.Errorf("no half-full bar, or one that stays: %q", got)
					}
					got = got[:len(row.want)]
				}
				if got != row.want {
					t.Errorf("%q, want %q", got, row.want)
				}
			})
		})
	}
}
