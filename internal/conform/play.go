package conform

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"kiribashiri/internal/simbridge"
)

// start has the first engine answer its first pings, and be silent in between.
func (c *check) start() error {
	t := c.talk
	if err := c.greet(t); err != nil {
		return err
	}
	if err := t.quiet(c.cfg.Limits.CheckQuiet); err != nil {
		return c.orGreeting(err)
	}
	if err := t.pings(); err != nil {
		return err
	}
	c.note(ruleStart, "after %s", figure(t.ready))
	if n := len(t.banner); n > 0 {
		c.note(ruleStart, "%d lines before its first reply, which the server logs and skips; the first: %s", n, t.banner[0])
	}
	return nil
}

// greet waits until a new engine has answered its first ping. What it prints before
// its first JSON line is a banner; that line may be a greeting of its own.
func (c *check) greet(t *talk) error {
	lim := &c.cfg.Limits
	begun := time.Now()
	line, err := ping.Line(0)
	if err != nil {
		return err
	}
	if err := t.send(line, lim.SimReply); err != nil {
		return err
	}
	late := time.AfterFunc(lim.IdlePong, func() { // stopped below, or says it too late
		fmt.Fprintf(c.cfg.Notes, "still waiting for the answer to the first ping, up to %s (KIRI_SIM_REPLY)\n", lim.SimReply)
	})
	defer late.Stop()
	greeted := false
	for end := begun.Add(lim.SimReply); ; {
		line, err := t.readLine(time.Until(end))
		if err != nil {
			return t.noGreeting(err, lim.SimReply)
		}
		a, err := simbridge.ReadAnswer(line)
		switch {
		case err != nil && (notUTF8(line) != "" || bytes.HasPrefix(line, []byte(`{"`))):
			return t.nonsenseFault(0, line, err)
		case err != nil:
			if t.banner = append(t.banner, show(line)); len(t.banner) > lim.BannerLines {
				return t.fault(&fault{
					what: fmt.Sprintf("It printed more than %d lines, none of which is a JSON object.", lim.BannerLines),
					came: append(t.banner[:3:3], "and so on"),
				})
			}
		case a.Ready && !a.HasID && !greeted:
			greeted = true
		case a.HasID && a.ID != 0:
			return t.fault(&fault{
				rule: ruleID, came: []string{show(line)},
				what: fmt.Sprintf("It answered the ping, whose id is 0, with the id %d.", a.ID),
			})
		default:
			t.echoes = a.HasID
			t.ready = time.Since(begun)
			return nil
		}
	}
}

// noGreeting is about an engine that has not answered its first ping.
func (t *talk) noGreeting(err error, limit time.Duration) error {
	if len(t.banner) == 0 || !errors.Is(err, errLate) && !errors.Is(err, errEnded) {
		return t.silenceFault(err, limit)
	}
	few := t.banner[:min(len(t.banner), 5)]
	if slices.ContainsFunc(t.banner, func(line string) bool { return opensOnly([]byte(line)) }) {
		return t.fault(&fault{rule: ruleLines, what: "Its JSON is spread over several lines.", came: few, do: adviceSpread})
	}
	f, ok := errors.AsType[*fault](t.silenceFault(err, limit))
	if !ok {
		return errStopped
	}
	f.came = append(slices.Clone(few), f.came...)
	f.what += " What it printed before is no JSON object, and passes for a banner."
	return f
}

// orGreeting makes out whether a line after the answer to the first ping means that
// a greeting in JSON came before it.
func (c *check) orGreeting(err error) error {
	f, ok := errors.AsType[*fault](err)
	if !ok || f.rule != ruleLines || c.talk.echoes {
		return err
	}
	// Without ids only an engine that is asked nothing can tell.
	t, startErr := startTalk(c.ctx, c.cfg)
	if startErr != nil {
		return err
	}
	defer t.bare.Kill()
	wait := c.cfg.Limits.CheckQuiet + 2*c.talk.ready
	line, readErr := t.readLine(wait)
	for n := 0; readErr == nil && !bytes.HasPrefix(line, []byte{'{'}) && n < c.cfg.Limits.BannerLines; n++ {
		line, readErr = t.readLine(wait)
	}
	if readErr != nil {
		return err
	}
	return &fault{
		what: "It prints a JSON line before it is asked anything, so that each of its replies would pass for the one before.",
		came: []string{show(line)},
		do:   `Print no JSON before the first reply, or exactly {"ready":true}.`,
	}
}

// begin has the engine begin a game.
func (c *check) begin() error {
	m := simbridge.Move{Kind: "new"}
	r, err := c.talk.play(m)
	if err != nil {
		return err
	}
	f := &fault{came: []string{show(r.line)}, sent: []string{show(c.talk.sent)}}
	switch {
	case bytes.Equal(r.line, trimBreak(c.talk.sent)):
		f.what = "It sends back the very line that it got, and plays no game."
	case r.a.Rejected:
		f.what = `It refuses to begin a game ("ok":false).`
	case stateOf(r.line) == nil:
		f.what = `Its reply has no "state", or null.`
	default:
		c.record(m, r)
		return c.talk.quiet(c.cfg.Limits.Grace)
	}
	return f
}

// plays plays a move of ordinary play.
func (c *check) plays(m simbridge.Move) (reply, error) {
	r, err := c.talk.play(m)
	if err == nil {
		c.record(m, r)
	}
	return r, err
}

// record puts a move that was played into the script, and looks at what it brought.
func (c *check) record(m simbridge.Move, r reply) {
	c.script = append(c.script, played{m, c.talk.sent, r})
	c.worst = max(c.worst, r.think)
	if state := stateOf(r.line); state != nil && !r.a.Rejected {
		c.watchState(state, r.line)
	}
	c.watchOffers(m, r)
}

// walk plays what the engine offers, and begins anew where a story ends.
func (c *check) walk() error {
	state := stateOf(c.script[0].reply.line)
	offers := offersIn(c.script[0].reply.line, c.cfg)
	accepted := 0
	var refused []byte
	var vain []string                     // offers that it refused
	chance := rand.New(rand.NewPCG(1, 2)) // the same for every check
	for n := range c.cfg.Limits.CheckMoves {
		m := simbridge.Move{Kind: c.cfg.Kinds[n%len(c.cfg.Kinds)], State: state}
		if n%2 == 1 || len(offers) == 0 {
			m.Input = new("見る")
		}
		offered := len(offers) > 0 && n%4 != 3 // the others are what somebody might type
		if offered {
			o := offers[chance.IntN(len(offers))]
			m.Kind, m.Input = o.kind, o.input
		}
		r, err := c.plays(m)
		if err != nil {
			return err
		}
		if r.a.Rejected {
			refused = r.line
			if offered {
				vain = append(vain, fmt.Sprintf("It refuses a move that it has offered: kind %s, input %s.", inWords(&m.Kind), inWords(m.Input)))
			}
			continue
		}
		accepted++
		if next := stateOf(r.line); next != nil {
			state = next
		}
		offers = offersIn(r.line, c.cfg)
		if ended(r.line) {
			if r, err = c.plays(simbridge.Move{Kind: "new"}); err != nil {
				return err
			}
			state, offers = stateOf(r.line), offersIn(r.line, c.cfg)
		}
	}
	if accepted == 0 {
		return c.talk.fault(&fault{
			what: fmt.Sprintf("It refuses each of %d moves with its own state.", c.cfg.Limits.CheckMoves),
			came: []string{show(refused)},
			do:   "Offer moves that it takes, and set KIRI_KINDS to the kinds that it knows.",
		})
	}
	for _, what := range vain {
		c.warn(ruleOffers, what, refused)
	}
	if err := c.talk.pings(); err != nil {
		return err
	}
	c.note(ruleMove, "%d moves", len(c.script))
	return c.talk.quiet(c.cfg.Limits.Grace)
}

// judgeID tells what follows from an engine that knows no ids.
func (c *check) judgeID() {
	if !c.talk.echoes {
		c.warn(ruleID, `Its answer to a ping bears no "id". The server plays with it one move at a time, but should it once write two lines for a move, the second may reach the next player.`, c.script[0].reply.line)
	}
	c.judge(ruleID, nil)
}

func (c *check) judgeFlush() {
	if c.talk.crlf {
		c.warn(ruleFlush, `Its lines end with \r\n. The server takes the \r off; other programs may not.`, nil)
		c.finding(ruleFlush).Why = "JSON allows it; but two programs that disagree about the end of a line lose one."
		c.finding(ruleFlush).Do = `Write \n alone (on Windows open stdout as binary).`
	}
	c.judge(ruleFlush, nil)
}

// judgeTime reports how long everything took.
func (c *check) judgeTime() {
	lim := &c.cfg.Limits
	var thinks []time.Duration
	for _, p := range c.script {
		thinks = append(thinks, p.think)
	}
	slices.Sort(thinks)
	c.note(ruleTime, "start %s; a move %s at the median, %s at worst", figure(c.talk.ready), figure(thinks[len(thinks)/2]), figure(c.worst))
	if c.talk.ready > lim.EngineGone {
		c.warn(ruleTime, fmt.Sprintf("It starts in more than %s: players get 503 at each restart after a failure.", lim.EngineGone), nil)
	}
	if c.worst > lim.PageWait {
		c.warn(ruleTime, fmt.Sprintf("A move takes more than the %s that the page waits.", lim.PageWait), nil)
	}
	c.judge(ruleTime, nil)
}

// figure is a duration to three digits or so.
func figure(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// members reads an object's members. The line is known to be an object.
func members(line []byte) map[string]jsontext.Value {
	var all map[string]jsontext.Value
	if json.Unmarshal(line, &all, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return all
}

// stateOf returns the state in a reply, or nil if there is none.
func stateOf(line []byte) []byte {
	state := members(line)["state"]
	if state.Kind() == 'n' {
		return nil
	}
	return state
}

func ended(line []byte) bool { return string(members(line)["end"]) == "true" }

func inWords(s *string) string {
	if s == nil {
		return "none"
	}
	return show([]byte(*s))
}
