package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// How long a move is tried.
const (
	maxTries    = 8                      // for programs: times that a move may meet a broken engine, proxy or connection
	maxRefusals = 100                    // times that it may be refused for the rate or a full queue
	minBackoff  = 500 * time.Millisecond // after the first failure; doubled after each other one
	maxBackoff  = 8 * time.Second
	minRefused  = time.Second // the wait after a 429 that does not say how long
)

// A sender plays moves on the server for one player, at the pace of its address.
// It keeps at a move while that makes sense. Sending it again is always safe: the
// server keeps nothing, and the state that goes with the move is the player's.
type sender struct {
	client *client
	pace   *pace
	from   string        // X-Forwarded-For, for a server that believes us; empty for none
	tries  int           // times that a move may meet a broken engine, proxy or connection; at least 1
	grace  time.Duration // how long a request under way may go on once its context is done

	// heard is told of each request that was answered or got lost: how long that
	// took, and, if it is to be sent again, how long until then.
	heard func(took time.Duration, err error, pause time.Duration)
}

// errUnsent is a move that was not sent before its context was done.
var errUnsent = errors.New("not sent")

// send plays m and returns the reply. The error is the last request's, or the
// context's cause if that was done before; it is errUnsent if nothing was sent.
func (s *sender) send(ctx context.Context, m move) (reply, error) {
	requests, cancel := outlive(ctx, s.grace)
	defer cancel()
	for tries, refusals := 0, 0; ; {
		if err := s.pace.wait(ctx); err != nil {
			if tries+refusals == 0 {
				err = fmt.Errorf("%w: %w", errUnsent, err)
			}
			return reply{}, err
		}
		began := time.Now()
		r, err := s.client.post(requests, s.from, m)
		took := time.Since(began)
		s.book(r, err)
		if err != nil && requests.Err() != nil {
			return reply{}, context.Cause(ctx)
		}

		var pause time.Duration
		refused, answered := errors.AsType[*refusal](err)
		switch {
		case answered && refused.status == http.StatusTooManyRequests && refusals+1 < maxRefusals:
			refusals++
			if pause = refused.after; pause == 0 {
				pause = minRefused
			}
		case (errors.Is(err, errLost) || answered && isFailure(refused.status)) && tries+1 < s.tries:
			tries++
			pause = backoff(tries)
			if answered {
				pause = max(pause, refused.after)
			}
		default:
			s.heard(took, err, 0)
			if r.State == nil {
				r.State = m.State // as if the engine had said that nothing has changed
			}
			return r, err
		}
		s.heard(took, err, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		}
	}
}

// book tells the pace what a request has cost.
func (s *sender) book(r reply, err error) {
	if refused, ok := errors.AsType[*refusal](err); ok {
		if refused.status == http.StatusTooManyRequests && refused.code == "rate_limited" {
			s.pace.refused(refused.quota)
		} else {
			s.pace.spent(refused.quota)
		}
		return
	}
	s.pace.spent(r.quota)
}

func isFailure(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// backoff is how long to wait after that many failures in a row. It is drawn, so
// that players who failed together do not come back together.
func backoff(failures int) time.Duration {
	most := min(minBackoff<<(failures-1), maxBackoff)
	return most/2 + rand.N(most/2)
}

// kindOf names an error in counts.
func kindOf(err error) string {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.kind()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, errLost):
		return "lost connection"
	case errors.Is(err, errNoReply):
		return "not a reply"
	}
	return "other"
}

// errOver is why the requests of a run that is over are given up.
var errOver = errors.New("the run is over")

// outlive returns a context that goes on for grace after ctx is done.
func outlive(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	if grace == 0 {
		return ctx, func() {}
	}
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel(errOver)
		case <-longer.Done(): // the move has ended first
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}
