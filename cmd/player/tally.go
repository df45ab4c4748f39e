package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// The histogram's range and resolution: one part in a thousand.
	leastLatency = time.Microsecond
	mostLatency  = time.Hour
	digits       = 3

	// maxShown is how many replies that were not legal a summary quotes.
	maxShown = 5
)

// A tally counts what comes of a crowd's moves.
type tally struct {
	mu        sync.Mutex
	moves     []int64          // accepted, by player
	refused   map[string]int64 // answers of 429, by code
	errors    map[string]int64 // other requests that were not accepted, by kind
	abandoned int64            // moves given up
	cut       int64            // moves that the end of the run met under way
	unbegun   int64            // moves that were due and never begun
	notLegal  int64
	shown     []string // the first of these
	latencies *hdrhistogram.Histogram
}

func newTally(players int) *tally {
	return &tally{
		moves:     make([]int64, players),
		refused:   make(map[string]int64),
		errors:    make(map[string]int64),
		latencies: hdrhistogram.New(leastLatency.Microseconds(), mostLatency.Microseconds(), digits),
	}
}

// request counts one request that came to err.
func (t *tally) request(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if refused, ok := errors.AsType[*refusal](err); ok && refused.status == http.StatusTooManyRequests {
		t.refused[refused.code]++
		return
	}
	t.errors[kindOf(err)]++
}

// move counts a move that was accepted; wrong says what is not legal about its
// reply, if anything is.
func (t *tally) move(player int, wrong string) {
	t.mu.Lock()
	t.moves[player]++
	t.mu.Unlock()
	if wrong != "" {
		t.illegal(wrong)
	}
}

// illegal counts an answer that is no legal continuation.
func (t *tally) illegal(wrong string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notLegal++
	if len(t.shown) < maxShown {
		t.shown = append(t.shown, wrong)
	}
}

func (t *tally) gaveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.abandoned++
}

func (t *tally) unfinished() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut++
}

// missed counts a move that was due and never begun. Its latency is at least the
// time that it has waited by now.
func (t *tally) missed(due time.Time) {
	t.latency(time.Since(due))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unbegun++
}

func (t *tally) latency(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latencies.RecordValue(min(max(took, leastLatency), mostLatency).Microseconds()) // never out of range
}

// A summary is what came of a run, as -json prints it.
type summary struct {
	Loop        string  `json:"loop"`          // closed or open
	Rate        float64 `json:"rate,omitzero"` // moves a second that were due
	Players     int     `json:"players"`
	Seed        uint64  `json:"seed"`
	Seconds     float64 `json:"seconds"` // that it took
	Interrupted bool    `json:"interrupted"`

	Moves      int64 `json:"moves"`      // accepted
	Fewest     int64 `json:"fewest"`     // of one player
	Most       int64 `json:"most"`       // of one player
	Unfinished int64 `json:"unfinished"` // under way at the end
	Due        int64 `json:"due,omitzero"`
	Missed     int64 `json:"missed,omitzero"` // of those due, never begun

	Refused map[string]int64 `json:"refused"` // requests answered 429, by code
	Errors  map[string]int64 `json:"errors"`  // other requests that were not accepted, by kind
	GaveUp  int64            `json:"gaveUp"`  // moves that were not tried again

	NotLegal int64    `json:"notLegal"`       // replies
	Shown    []string `json:"shown,omitzero"` // the first of these
	Compared int64    `json:"compared"`       // replies held against an earlier one to the same move

	Latency latency `json:"latency"`
}

// A latency is in milliseconds.
type latency struct {
	From string  `json:"from"` // what it counts from: sent (each request that was accepted) or due (each move)
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// sum puts what was counted into s.
func (t *tally) sum(s *summary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Fewest, s.Most = slices.Min(t.moves), slices.Max(t.moves)
	for _, n := range t.moves {
		s.Moves += n
	}
	s.Unfinished, s.Missed, s.GaveUp = t.cut, t.unbegun, t.abandoned
	s.Refused, s.Errors = t.refused, t.errors
	s.NotLegal, s.Shown = t.notLegal, t.shown
	at := func(percent float64) float64 { return float64(t.latencies.ValueAtPercentile(percent)) / 1e3 }
	s.Latency = latency{From: "sent", P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
	if s.Loop == "open" {
		s.Latency.From = "due"
	}
}

// bad reports whether the run found something wrong: a reply that is not legal, or
// moves that could not be played at all.
func (s *summary) bad() bool {
	return s.NotLegal > 0 || s.GaveUp > 0 || s.Moves == 0 && !s.Interrupted
}

// print writes the summary for people.
func (s *summary) print(w io.Writer) {
	if s.Loop == "open" {
		fmt.Fprintf(w, "open loop: %v moves a second were due at fixed times; latency counts from when a move was due to its reply\n", s.Rate)
	} else {
		fmt.Fprint(w, "closed loop: a player's next move waits for the last reply; latency counts from sending a request to its reply\n")
	}
	fmt.Fprintf(w, "%d players, seed %d, %.1f s", s.Players, s.Seed, s.Seconds)
	if s.Interrupted {
		fmt.Fprint(w, ", interrupted")
	}
	fmt.Fprintf(w, "\nmoves     %d accepted (%.2f a second; a player %d to %d), %d given up, %d unfinished\n",
		s.Moves, float64(s.Moves)/max(s.Seconds, 1e-9), s.Fewest, s.Most, s.GaveUp, s.Unfinished)
	if s.Loop == "open" {
		fmt.Fprintf(w, "due       %d, of which %d were never begun\n", s.Due, s.Missed)
	}
	fmt.Fprintf(w, "refused   %s\n", counts(s.Refused))
	fmt.Fprintf(w, "errors    %s\n", counts(s.Errors))
	fmt.Fprintf(w, "not legal %d (%d replies compared with an earlier one)\n", s.NotLegal, s.Compared)
	for _, wrong := range s.Shown {
		fmt.Fprintf(w, "          %s\n", printable(wrong))
	}
	fmt.Fprintf(w, "latency   p50 %.2f ms, p90 %.2f ms, p99 %.2f ms, max %.2f ms\n", s.Latency.P50, s.Latency.P90, s.Latency.P99, s.Latency.Max)
}

// counts lists counts by name: "3: 2 queue_full, 1 rate_limited".
func counts(by map[string]int64) string {
	var total int64
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		total += by[name]
		parts = append(parts, fmt.Sprintf("%d %s", by[name], printable(name)))
	}
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}

// printJSON writes the summary for programs.
func (s *summary) printJSON(w io.Writer) error {
	return json.MarshalWrite(w, s, json.Deterministic(true), jsontext.Multiline(true))
}
