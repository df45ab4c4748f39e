package main

import (
	"sync/atomic"
	"time"
)

// A schedule is when the moves of an open loop are due: at equal distances,
// whatever becomes of them.
type schedule struct {
	begin  time.Time
	end    time.Time           // no move is due from then on
	rate   float64             // a second
	missed func(due time.Time) // told of each move that is never begun
	next   atomic.Int64        // number of the first move that nobody has taken
}

func (s *schedule) due(n int64) time.Time {
	return s.begin.Add(time.Duration(float64(n) / s.rate * float64(time.Second)))
}

// take returns when the next move is due that nobody has taken; false if there
// is none left.
func (s *schedule) take() (time.Time, bool) {
	due := s.due(s.next.Add(1) - 1)
	return due, due.Before(s.end)
}

// close ends the schedule at end and returns how many moves were due before it.
// Those that nobody has taken are missed.
func (s *schedule) close(end time.Time) (due int64) {
	taken := s.next.Load()
	for ; s.due(due).Before(end); due++ {
		if due >= taken {
			s.missed(s.due(due))
		}
	}
	return due
}
