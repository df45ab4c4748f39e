// Package conform holds an engine against the rules of the protocol and says in
// words what is wrong and what to do.
//
// It starts the engine's process as the bridge does, sends the very lines that the
// bridge would, and reads replies by the bridge's own check; so an engine that
// passes is one that the server can use. What can go wrong is a false verdict, so
// each finding shows what was sent and what came.
package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/simbridge"
)

// Config says which engine is checked and what the server would grant it. All
// fields must be set.
type Config struct {
	Command []string      // the engine's program and arguments
	Env     []string      // its whole environment, as "NAME=value"
	Kinds   []string      // the kinds of move that the server lets through
	Limits  limits.Limits // SimReply is how long it may take to answer
	Sealed  bool          // states travel sealed, which makes them longer
	Notes   io.Writer     // is told now and then what is waited for
}

// A Verdict is what is known of a rule.
type Verdict int

// The verdicts.
const (
	Untried Verdict = iota
	OK
	Warning
	Wrong
)

// A Finding is the verdict on one rule.
type Finding struct {
	Rule, Title string
	Verdict     Verdict
	Notes       []string // figures, and what is wrong, in words
	Sent, Came  []string // the lines that show it, safe to print
	Why, Do     string   // empty unless something is wrong
}

// A Report has a finding for each rule.
type Report struct {
	Findings []Finding
	Stopped  bool // the check was stopped before its end
}

// Holds reports whether no rule is broken; there may be warnings.
func (r Report) Holds() bool {
	return !r.Stopped && r.count(Wrong) == 0 && r.count(Untried) == 0
}

func (r Report) count(v Verdict) int {
	n := 0
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// Check holds the engine of cfg against every rule. It returns an error only if the
// engine's program cannot be executed. When ctx is done it stops and reports what it
// knows. Nothing of the engine is left when it returns.
func Check(ctx context.Context, cfg Config) (Report, error) {
	c := newCheck(ctx, &cfg)
	defer c.drop()
	if err := c.run(); err != nil {
		return Report{}, err
	}
	c.report.Stopped = ctx.Err() != nil
	return c.report, nil
}

// A check is one engine's, in progress.
type check struct {
	ctx    context.Context
	cfg    *Config
	report Report
	talk   *talk    // the engine that is up; nil if none is
	script []played // ordinary play, as the first process answered it
	begun  time.Time
	worst  time.Duration // of the moves in it
	// unsteady says that the engine gives other replies to the same moves, so that
	// nothing follows from a difference any more.
	unsteady bool
}

func newCheck(ctx context.Context, cfg *Config) *check {
	c := &check{ctx: ctx, cfg: cfg, begun: time.Now()}
	for _, r := range rules {
		c.report.Findings = append(c.report.Findings, Finding{Rule: r.name, Title: r.title})
	}
	return c
}

// A played is a move and the reply that it brought.
type played struct {
	move simbridge.Move
	line []byte // as it was sent
	reply
}

// A trial tries whether one rule holds.
type trial struct {
	rule string
	try  func() error // a *fault if it does not
}

// run tries the rules. An engine that fails in ordinary play is asked no more: most
// of the rest would fail for the same reason.
func (c *check) run() error {
	t, err := startTalk(c.ctx, c.cfg)
	if err != nil {
		return err
	}
	c.talk = t
	for _, step := range []trial{{ruleStart, c.start}, {ruleNew, c.begin}, {ruleMove, c.walk}} {
		err := step.try()
		rule := step.rule
		if f, ok := errors.AsType[*fault](err); ok && f.rule != "" {
			rule = f.rule
		}
		if !c.judge(rule, err) {
			return nil
		}
	}
	for _, rule := range []string{ruleLines, ruleStdout, ruleJSON, ruleSize, ruleOffers} {
		c.judge(rule, nil)
	}
	c.judgeID()
	c.judgeFlush()
	c.judgeBrowser()
	c.judgeTime()

	for _, trial := range []trial{
		{ruleSame, c.same}, {ruleMemory, c.memory}, {ruleSpelling, c.spelling}, {ruleText, c.text},
		{ruleKind, c.kind}, {ruleState, c.state}, {ruleLarge, c.large}, {rulePieces, c.pieces}, {ruleEnd, c.end}, {ruleClosed, c.closed},
	} {
		if trial.rule == ruleMemory && c.unsteady || trial.rule == ruleLarge && c.finding(ruleState).Verdict == Wrong {
			continue // it would only tell the same again
		}
		if time.Since(c.begun) > c.cfg.Limits.IdlePong {
			fmt.Fprintf(c.cfg.Notes, "trying whether the engine %s\n", c.rule(trial.rule).title)
		}
		err := trial.try()
		if err == nil && c.talk != nil {
			err = c.talk.quiet(c.cfg.Limits.Grace)
		}
		if f, ok := errors.AsType[*fault](err); ok && f.rule == ruleStart { // no trial's doing
			c.judge(ruleStart, err)
			return nil
		}
		if !c.judge(trial.rule, err) {
			c.drop() // the next rule gets an engine of its own
		}
		if c.ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// judge notes what came of a rule, and reports whether it holds.
func (c *check) judge(name string, err error) bool {
	f := c.finding(name)
	broken, _ := errors.AsType[*fault](err)
	switch {
	case errors.Is(err, errStopped):
		return false
	case err == nil:
		f.Verdict = max(f.Verdict, OK)
		return true
	case broken == nil: // the machine's doing, not the engine's
		broken = &fault{what: "It could not be tried: " + err.Error() + "."}
	}
	r := c.rule(name)
	f.Verdict = Wrong
	f.Notes = []string{broken.what}
	f.Sent, f.Came = broken.sent, broken.came
	f.Why, f.Do = r.why, r.do
	if broken.do != "" {
		f.Do = broken.do
	}
	return false
}

// warn notes something that the server and the page can live with. The first of a
// rule shows its line.
func (c *check) warn(name, what string, came []byte) {
	f := c.finding(name)
	r := c.rule(name)
	const most = 8 // warnings of one rule; the author mends these first
	if f.Verdict != Warning {
		f.Verdict, f.Why, f.Do = Warning, r.why, r.do
		if came != nil {
			f.Came = []string{show(came)}
		}
	}
	if len(f.Notes) < most && !slices.Contains(f.Notes, what) {
		f.Notes = append(f.Notes, what)
	}
}

// note adds a figure to a rule's line.
func (c *check) note(name, format string, args ...any) {
	f := c.finding(name)
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

func (c *check) finding(name string) *Finding {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	return &c.report.Findings[i]
}

func (c *check) rule(name string) rule {
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == name })]
}

// engine returns an engine that has answered its first ping: the one that is up, or
// a new one.
func (c *check) engine() (*talk, error) {
	if c.talk == nil {
		return c.fresh()
	}
	return c.talk, nil
}

// fresh puts a new engine in the place of the one that is up.
func (c *check) fresh() (*talk, error) {
	c.drop()
	t, err := startTalk(c.ctx, c.cfg)
	if err != nil {
		return nil, err
	}
	c.talk = t
	err = c.greet(t)
	if f, ok := errors.AsType[*fault](err); ok {
		f.rule, f.what = ruleStart, "Another process of it, started later, fails. "+f.what
	}
	return t, err
}

// drop ends the engine that is up.
func (c *check) drop() {
	if c.talk != nil {
		c.talk.bare.Kill()
		c.talk = nil
	}
}
