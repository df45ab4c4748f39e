package main

import (
	"crypto/sha256"
	"fmt"
	"sync"
)

// maxRemembered bounds what a judge remembers, of replies and of ways each: 64
// bytes or so apiece. Beyond it the judge begins anew.
const maxRemembered = 1 << 16

// A judge says whether a reply is a legal continuation of the move that brought
// it: of the contract's shape, and the one that this move must have. An engine is
// deterministic, so the same move from the same state has one reply, whoever plays
// it and whenever; and a way out of a place, taken again, leads to where it led.
// So a reply that belongs to another player does not pass for long.
type judge struct {
	mu       sync.Mutex
	replies  map[digest]digest // of a move with its state → of its reply
	ways     map[way]string    // → the place that it leads to
	compared int64             // replies that were held against an earlier one
}

// A way is an offered place, as seen from another.
type way struct{ from, kind, input string }

func newJudge() *judge {
	return &judge{replies: make(map[digest]digest), ways: make(map[way]string)}
}

// faults returns what is not legal about the reply r to m. If m was to go to a
// place that was offered, w says which.
func (j *judge) faults(m move, w *way, r reply) []string {
	faults := r.faults
	j.mu.Lock()
	defer j.mu.Unlock()
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", m.Kind, inputOf(m.Input), m.State))
	if before, ok := j.replies[key]; !ok {
		remember(j.replies, key, r.digest)
	} else {
		j.compared++
		if before != r.digest {
			faults = append(faults, "the same move from the same state had another reply before")
		}
	}
	if w == nil || w.from == "" || r.Place == "" {
		return faults
	}
	if before, ok := j.ways[*w]; !ok {
		remember(j.ways, *w, r.Place)
	} else if before != r.Place {
		faults = append(faults, fmt.Sprintf("the way %q from %q leads to %q, but led to %q before", w.input, w.from, r.Place, before))
	}
	return faults
}

func remember[K comparable, V any](known map[K]V, key K, value V) {
	if len(known) >= maxRemembered {
		clear(known)
	}
	known[key] = value
}

func inputOf(input *string) string {
	if input == nil {
		return ""
	}
	return *input
}
