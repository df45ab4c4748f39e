package conform

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"kiribashiri/internal/simbridge"
)

// same has a second engine answer the very lines of the first.
func (c *check) same() error {
	t, err := c.fresh()
	if err != nil {
		return err
	}
	if err := t.pings(); err != nil { // as the first was
		return err
	}
	for _, p := range c.script {
		r, err := t.play(p.move)
		if err != nil {
			return err
		}
		if where := differ(p.reply.line, r.line); where != "" {
			c.unsteady = true
			return t.fault(&fault{
				what: "A second process, which got the very same lines, answered otherwise: they differ at " + where + ".",
				came: []string{show(p.reply.line), show(r.line)},
			})
		}
	}
	return nil
}

// memory has a new engine answer the moves in another order, with other players'
// between them.
func (c *check) memory() error {
	t, err := c.fresh()
	if err != nil {
		return err
	}
	for i, p := range slices.Backward(c.script) {
		if i%3 == 1 {
			if _, err := t.play(simbridge.Move{Kind: "new"}); err != nil {
				return err
			}
		}
		if err := c.playsAgain(t, p, p.move, "The same state and input brought another reply after other moves: they differ at "); err != nil {
			c.unsteady = true
			return err
		}
	}
	return nil
}

// playsAgain has t answer a move of the script, perhaps in another spelling.
func (c *check) playsAgain(t *talk, p played, m simbridge.Move, what string) error {
	r, err := t.play(m)
	if err != nil {
		return err
	}
	if where := differ(p.reply.line, r.line); where != "" && !c.unsteady {
		return t.fault(&fault{
			what: what + where + ".", sent: []string{show(p.line), show(t.sent)},
			came: []string{show(p.reply.line), show(r.line)},
		})
	}
	return nil
}

// spelling sends states in the way of other writers of JSON.
func (c *check) spelling() error {
	t, err := c.engine()
	if err != nil {
		return err
	}
	for _, p := range c.sample() {
		m := p.move
		m.State = respell(m.State)
		if err := c.playsAgain(t, p, m, "The same state in another spelling brought another reply: they differ at "); err != nil {
			return err
		}
	}
	return nil
}

// sample returns a few moves of the script that have a state: the first, the last
// and some between.
func (c *check) sample() []played {
	with := slices.DeleteFunc(slices.Clone(c.script), func(p played) bool { return p.move.State == nil })
	var some []played
	for i := range 5 {
		some = append(some, with[i*(len(with)-1)/4])
	}
	return some
}

// text sends what players may type.
func (c *check) text() error {
	t, err := c.engine()
	if err != nil {
		return err
	}
	m := c.sample()[2].move
	m.Kind = c.cfg.Kinds[0]
	if slices.Contains(c.cfg.Kinds, "say") {
		m.Kind = "say"
	}
	long := int(min(int64(c.cfg.Limits.InputChars), c.cfg.Limits.BodyBytes/8))
	for _, input := range []string{
		"", " ", "　", "船長に霧の話を聞く", "ｾﾝﾁｮｳ ﾆ ｷｸ", "か\u3099き\u3099", "𠮷野家で👩‍👩‍👧‍👦と🇯🇵",
		"行\u2028を\u2029変える\u0085", "\ufeff\u200b\u200f\u202e", "\ufffe\uffff\U0010ffff", `"`, `\`, `\n\u0000\"}`, `'; --`,
		"</script>&amp;", "%s%n%d{0}${x}$(x)`x`", "../../etc/passwd", "-1", "99999999999999999999", "null", "NaN", "[[[[{{{{",
		strings.Repeat("あ", long), strings.Repeat("😀", long), strings.Repeat(`"`, long),
	} {
		m.Input = &input
		r, err := t.play(m)
		if err != nil {
			return err
		}
		if bytes.ContainsRune(r.line, utf8.RuneError) {
			return t.fault(&fault{
				what: "Its reply has the character U+FFFD, which stands for one that could not be read.",
				came: []string{show(r.line)},
			})
		}
	}
	return nil
}

// large sends states as large and as deep as the server lets through.
func (c *check) large() error {
	t, err := c.engine()
	if err != nil {
		return err
	}
	size := int(min(c.cfg.Limits.BodyBytes, c.cfg.Limits.CheckBytes)) - bodyAround
	depth := c.cfg.Limits.Depth - 1 // the move itself is one level
	words := func(n int) string {
		return strings.Repeat("霧の鐘が三つ鳴る。", max(n, 0)/len("霧の鐘が三つ鳴る。"))
	}
	states := []string{
		`"` + words(size-2) + `"`,
		`{"log":["` + strings.Join(slices.Repeat([]string{words(250)}, max(size, 0)/256), `","`) + `"]}`,
		"[" + strings.Repeat("0,", max(size, 4)/2-2) + "0]",
		"1" + strings.Repeat("0", max(size, 2)-1), // some libraries refuse to read a number so long
		strings.Repeat("[", depth) + strings.Repeat("]", depth),
		strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1),
	}
	m := c.sample()[2].move
	if own := bytes.TrimSpace(m.State); bytes.HasPrefix(own, []byte(`{"`)) {
		states = append(states, `{"kiribashiri check":"`+words(size-len(own)-32)+`",`+string(own[1:]))
	}
	for _, state := range states {
		m.State = []byte(state)
		if _, err := t.play(m); err != nil {
			return err
		}
	}
	return nil
}

// kind sends kinds that the engine cannot know.
func (c *check) kind() error {
	t, err := c.engine()
	if err != nil {
		return err
	}
	state := c.sample()[2].move.State
	for _, m := range []simbridge.Move{
		{Kind: "kiribashiri-check", State: state},
		{Kind: "kiribashiri-check", State: state, Input: new("霧")},
		{Kind: "踊る", State: state},
		{Kind: "", State: state},
	} {
		if _, err := t.play(m); err != nil {
			return err
		}
	}
	return nil
}

// state sends moves with states that no reply of the engine's brought.
func (c *check) state() error {
	t, err := c.engine()
	if err != nil {
		return err
	}
	moves := c.sample()
	states := [][]byte{nil, []byte("{}"), []byte("[{}]"), []byte(`{"state":{}}`)}
	for _, other := range others {
		states = append(states, []byte(other))
	}
	states = append(states, spoilt(moves[len(moves)-1].move.State)...)
	for i, state := range states[:min(len(states), c.cfg.Limits.CheckStates)] {
		m := moves[i%len(moves)].move
		m.State = state
		if _, err := t.play(m); err != nil {
			return err
		}
	}
	for _, kind := range c.cfg.Kinds { // with the one thing missing, then with both
		for _, state := range [][]byte{moves[2].move.State, nil} {
			if _, err := t.play(simbridge.Move{Kind: kind, State: state}); err != nil {
				return err
			}
		}
	}
	return nil
}

// others are values to put in the place of a state's own.
var others = []string{"null", "true", `""`, `"霧"`, "-1", "1e300", "1e400", "0.5", "123456789012345678901234567890", "[]", "{}", "[[0]]"}

// spoilt returns states that are like this one but for one member: without it, or
// with another value, which has another type as often as not.
func spoilt(state []byte) [][]byte {
	var all [][]byte
	own := members(state)
	write := func(m map[string]jsontext.Value) {
		var b bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(m)) {
			quoted, _ := jsontext.AppendQuote(nil, name) // it was read from JSON
			fmt.Fprintf(&b, ",%s:%s", quoted, m[name])
		}
		if b.Len() > 0 {
			all = append(all, append(append([]byte("{"), b.Bytes()[1:]...), '}'))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		less := maps.Clone(own)
		delete(less, name)
		write(less)
		for _, other := range others {
			changed := maps.Clone(own)
			changed[name] = jsontext.Value(other)
			write(changed)
		}
	}
	return all
}

// pieces sends two lines at once, and one line in two parts.
func (c *check) pieces() error {
	t, err := c.engine()
	if err != nil {
		return err
	}
	lim := &c.cfg.Limits
	first, second := c.sample()[0], c.script[0] // of which the second is "new"
	t.id += 2
	one, err := first.move.Line(t.id - 1)
	if err != nil {
		return err
	}
	two, err := second.move.Line(t.id)
	if err != nil {
		return err
	}
	if err := t.send(append(slices.Clone(one), two...), lim.SimReply); err != nil {
		return err
	}
	sent := []string{show(one), show(two)}
	var came []string
	for i, p := range []played{first, second} {
		r, err := t.answer(t.id-1+uint64(i), lim.SimReply)
		f, isFault := errors.AsType[*fault](err)
		switch {
		case isFault && f.rule == "" && i == 1:
			f.what, f.do = "Of two lines that came at once it answered one.", ""
			f.sent, f.came = sent, append(came, f.came...)
			return f
		case isFault:
			f.sent, f.what = sent, "Two lines came at once. "+f.what
			return f
		case err != nil:
			return err
		}
		came = append(came, show(r.line))
		if where := differ(p.reply.line, r.line); where != "" && !c.unsteady {
			return &fault{what: "Two lines came at once, and the replies are not theirs in this order: they differ at " + where + ".", sent: sent, came: came}
		}
	}

	t.id++
	line, err := first.move.Line(t.id)
	if err != nil {
		return err
	}
	if err := t.send(line[:len(line)/2], lim.SimReply); err != nil {
		return err
	}
	err = t.quiet(lim.Grace)
	if err == nil {
		if err = t.send(line[len(line)/2:], lim.SimReply); err == nil {
			var r reply
			if r, err = t.answer(t.id, lim.SimReply); err == nil {
				if where := differ(first.reply.line, r.line); where != "" && !c.unsteady {
					err = &fault{what: "The reply differs at " + where + ".", came: []string{show(first.reply.line), show(r.line)}}
				}
			}
		}
	}
	if f, ok := errors.AsType[*fault](err); ok {
		f.what = "One line came in two parts. " + f.what
		f.sent = []string{show(line[:len(line)/2]), "and a moment later " + show(line[len(line)/2:])}
		return f
	}
	return err
}

// end sends a last line and the end of stdin together.
func (c *check) end() error {
	t, err := c.fresh()
	if err != nil {
		return err
	}
	lim := &c.cfg.Limits
	line, err := c.sample()[2].move.Line(1)
	if err != nil {
		return err
	}
	if err := t.send(line, lim.SimReply); err != nil {
		return err
	}
	t.bare.CloseStdin()
	sent := []string{show(line), "and the end of stdin"}
	r, err := t.answer(1, lim.SimReply)
	if err != nil {
		if f, ok := errors.AsType[*fault](err); ok {
			f.what = "A last line came, and the end of stdin right behind it. " + f.what
			f.sent = sent
		}
		return err
	}
	f := &fault{sent: sent, came: []string{show(r.line)}}
	switch {
	case t.bare.EndsWithin(lim.StopStep):
	case c.ctx.Err() != nil:
		return errStopped
	default:
		t.bare.Terminate()
		if f.what = fmt.Sprintf("It does not leave within %s, but does at SIGTERM.", lim.StopStep); !t.bare.EndsWithin(lim.StopStep) {
			f.what = fmt.Sprintf("It does not leave within %s, nor within %s of SIGTERM, and had to be killed.", lim.StopStep, lim.StopStep)
		}
		return f
	}
	t.readMore(lim.PipeLinger) // its error is t.ended
	switch {
	case len(t.in) > 0:
		c.warn(ruleEnd, "It wrote something more after its last reply.", t.in)
	case t.held:
		c.warn(ruleEnd, "A process that it started lives on and holds its stdout.", nil)
		c.finding(ruleEnd).Why = "The server ends an engine's children with it, but not those that have left its process group (setsid)."
		c.finding(ruleEnd).Do = "Start no daemons; end what you start."
	}
	c.drop()
	return nil
}

// closed leaves the engine without a reader.
func (c *check) closed() error {
	t, err := c.fresh()
	if err != nil {
		return err
	}
	lim := &c.cfg.Limits
	t.bare.CloseStdout()
	line, err := c.sample()[2].move.Line(1)
	if err != nil {
		return err
	}
	_ = t.bare.Write(line, lim.SimReply) // it may have left already, as it should
	t.bare.CloseStdin()
	if !t.bare.EndsWithin(lim.StopStep + c.worst) {
		if c.ctx.Err() != nil {
			return errStopped
		}
		return &fault{
			what: fmt.Sprintf("Its stdout was closed, then its stdin; %s later it is still there.", lim.StopStep),
			sent: []string{show(line)}, came: []string{"nothing, since nobody reads"},
		}
	}
	c.drop()
	return nil
}

// differ names the first member at which two replies are not the same, ids aside;
// nothing if there is none. The order of members does not count.
func differ(a, b []byte) string {
	one, two := members(a), members(b)
	names := slices.Sorted(maps.Keys(one))
	for name := range two {
		if _, ok := one[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if name != "id" && canonical(one[name]) != canonical(two[name]) {
			return strconv.Quote(name)
		}
	}
	return ""
}

func canonical(v jsontext.Value) string {
	v = v.Clone()
	if v.Canonicalize() != nil { // such as a name that stands twice
		return string(v)
	}
	return string(v)
}

// respell writes the same JSON in another way: with blanks around values, and each
// character of a string that can be escaped as \u and four digits.
func respell(value []byte) []byte {
	var b bytes.Buffer
	inString := false
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRune(value[i:])
		switch {
		case inString && r == '\\': // an escape stays as it is
			if size = 2; value[i+1] == 'u' {
				size = 6
			}
			b.Write(value[i : i+size])
		case r == '"':
			inString = !inString
			b.WriteByte('"')
		case !inString && strings.ContainsRune("{}[]:,", r):
			fmt.Fprintf(&b, " %c ", r)
		case inString && r == '/':
			b.WriteString(`\/`)
		case inString && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case inString:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.Bytes()
}
