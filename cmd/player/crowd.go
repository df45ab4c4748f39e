package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	maxPlayers = 10_000

	// repeatEvery: one move in so many is the last one again, from the same state,
	// so that there is something to compare replies with.
	repeatEvery = 20

	// crowdGrace is how long requests under way may go on at the end of a run, so
	// that the server is not left with callers who have gone.
	crowdGrace = 5 * time.Second

	// openGrace is for how long moves that were due within the run are still begun
	// after it, if the server is behind.
	openGrace = 10 * time.Second
)

// A crowd is many players at once.
type crowd struct {
	client    *client
	players   int
	length    time.Duration
	rate      float64 // moves a second that are due in all (open loop); 0 for a closed loop
	forwarded bool    // each player under an address of their own
	seed      uint64
}

// play has the crowd play until its time is over or ctx is done, and returns what
// came of it. Progress goes to w.
//
// In a closed loop every player sends the next move when the last is answered, so
// a slow server is asked less. In an open loop the moves are due at times fixed
// beforehand, and whichever player is free plays the next one; its latency counts
// from when it was due, so a server that stalls is charged for every move that it
// keeps from beginning.
func (c *crowd) play(ctx context.Context, w io.Writer, terminal bool) summary {
	begin := time.Now()
	end := begin.Add(c.length)
	interrupted := make(chan time.Time, 1)
	defer context.AfterFunc(ctx, func() { interrupted <- time.Now() })()

	t, j := newTally(c.players), newJudge()
	length := c.length
	var due *schedule
	if c.rate > 0 {
		due = &schedule{begin: begin, end: end, rate: c.rate, missed: t.missed}
		length += openGrace
	}
	run, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var playing, showing sync.WaitGroup
	for _, p := range c.gather(t, j) {
		p.due = due
		playing.Go(func() { p.playOn(run) })
	}
	over := make(chan struct{})
	showing.Go(func() { t.show(over, w, terminal, begin, c.length) })
	playing.Wait()
	close(over)
	showing.Wait()

	s := summary{Loop: "closed", Players: c.players, Seed: c.seed, Seconds: time.Since(begin).Seconds(), Compared: j.compared}
	if ctx.Err() != nil {
		s.Interrupted = true
		if at := <-interrupted; at.Before(end) {
			end = at
		}
	}
	if due != nil {
		s.Loop, s.Rate, s.Due = "open", c.rate, due.close(end)
	}
	t.sum(&s)
	return s
}

// gather returns the players.
func (c *crowd) gather(t *tally, j *judge) []*player {
	players := make([]*player, c.players)
	shared := newPace()
	for i := range players {
		p := &player{
			sender: sender{client: c.client, pace: shared, tries: maxTries, grace: crowdGrace},
			id:     fmt.Sprintf("player-%d-%d", c.seed, i),
			number: i,
			draw:   rand.New(rand.NewPCG(c.seed, uint64(i))),
			judge:  j,
			tally:  t,
		}
		if c.forwarded {
			p.pace, p.from = newPace(), addressOf(i).String()
		}
		p.heard = func(took time.Duration, err error, _ time.Duration) {
			t.request(err)
			if err == nil && p.due == nil {
				t.latency(took)
			}
		}
		players[i] = p
	}
	return players
}

// addressOf returns a player's own address, of the network that is set aside for
// load tests (RFC 2544).
func addressOf(player int) netip.Addr {
	n := player + 1
	return netip.AddrFrom4([4]byte{198, 18 + byte(n>>16), byte(n >> 8), byte(n)})
}

// A player plays one game after the other, with moves drawn from what the replies
// offer.
type player struct {
	sender
	id     string // for the server's log
	number int
	draw   *rand.Rand
	judge  *judge
	tally  *tally
	due    *schedule // of an open loop; nil in a closed one

	here *reply // where the game stands; nil if one must begin
	last choice // what led here
}

// A choice is a move and, if it goes to a place that was offered, the way.
type choice struct {
	move move
	way  *way
}

// playOn plays until ctx is done, or no more moves are due.
func (p *player) playOn(ctx context.Context) {
	for ctx.Err() == nil {
		if p.due == nil {
			p.play(ctx)
		} else if !p.playNextDue(ctx) {
			return
		}
	}
}

// playNextDue plays the next move that is due, at its time. It returns false if
// there is none before ctx is done.
func (p *player) playNextDue(ctx context.Context) bool {
	when, ok := p.due.take()
	if !ok {
		return false
	}
	select {
	case <-time.After(time.Until(when)):
	case <-ctx.Done():
		if time.Now().Before(when) {
			return false
		}
	}
	switch p.play(ctx) {
	case accepted, cut:
		p.tally.latency(time.Since(when))
	case unsent:
		p.due.missed(when)
	}
	return true
}

// An outcome is how a move ended.
type outcome int

const (
	accepted outcome = iota
	failed           // for good
	cut              // by the end of the run
	unsent           // before the end of the run
)

// play makes one move.
func (p *player) play(ctx context.Context) outcome {
	next := p.choose()
	r, err := p.send(ctx, next.move)
	if errors.Is(err, errUnsent) {
		return unsent
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		p.tally.unfinished()
		return cut
	}
	p.here = nil // unless all is well
	refused, answered := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		faults := p.judge.faults(next.move, next.way, r)
		p.tally.move(p.number, describe(next.move, faults))
		if len(faults) == 0 {
			p.here, p.last = &r, next
		}
		return accepted
	case errors.Is(err, errNoReply):
		p.tally.illegal(describe(next.move, []string{err.Error()}))
	case answered && refused.status == http.StatusUnprocessableEntity && refused.code != "poison_move":
		// The state was the server's own, and so was the offer.
		p.tally.illegal(describe(next.move, []string{"rejected: " + err.Error()}))
	default:
		p.tally.gaveUp()
	}
	return failed
}

// describe says what is wrong about the reply to m; nothing if there are no faults.
func describe(m move, faults []string) string {
	if len(faults) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %q from %s: %q", m.Kind, inputOf(m.Input), m.State, faults)
}

// choose draws the next move. After an end, or where nothing is known, it begins
// a game; where nothing is offered it looks around.
func (p *player) choose() choice {
	if p.here == nil || p.here.End {
		return choice{move: move{Kind: kindNew, BrowserID: p.id}}
	}
	if p.draw.IntN(repeatEvery) == 0 {
		return p.last
	}
	m := move{Kind: "look", State: p.here.State, BrowserID: p.id}
	offers := p.here.offers()
	if len(offers) == 0 {
		return choice{move: m}
	}
	n := p.draw.IntN(len(offers))
	m.Kind, m.Input = offers[n].Kind, offers[n].Input
	if n < len(p.here.Choices) {
		return choice{move: m}
	}
	return choice{m, &way{p.here.Place, m.Kind, inputOf(m.Input)}}
}
