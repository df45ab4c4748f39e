package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	barWidth     = 20          // characters
	terminalTick = time.Second // between two states of the bar
	plainTick    = time.Minute // between two lines where there is no terminal
)

// show says on w how the run goes, until over is closed: a bar on a terminal, one
// line a minute elsewhere. The run is to take length from begin.
func (t *tally) show(over <-chan struct{}, w io.Writer, terminal bool, begin time.Time, length time.Duration) {
	tick := plainTick
	if terminal {
		tick = terminalTick
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			if terminal {
				fmt.Fprint(w, "\r\x1b[K") // the summary takes the bar's place
			}
			return
		case <-ticker.C:
		}
		gone := min(time.Since(begin), length)
		line := t.line((length - gone).Round(time.Second))
		if !terminal {
			fmt.Fprintln(w, line)
			continue
		}
		full := int(barWidth * gone.Seconds() / length.Seconds())
		fmt.Fprintf(w, "\r\x1b[K[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), line)
	}
}

func (t *tally) line(left time.Duration) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := func(counts map[string]int64) (n int64) {
		for _, count := range counts {
			n += count
		}
		return n
	}
	var moves int64
	for _, n := range t.moves {
		moves += n
	}
	return fmt.Sprintf("%d moves, %d refused, %d errors, %v left", moves, sum(t.refused), sum(t.errors), left)
}
