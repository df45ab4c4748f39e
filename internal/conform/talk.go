package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"kiribashiri/internal/simbridge"
)

// A talk is one engine process and what is said to it and by it. It sends what a
// lane sends, and looks closer at what comes.
type talk struct {
	ctx  context.Context
	cfg  *Config
	bare *simbridge.Bare

	in     []byte // read, and not taken as a line yet
	ended  error  // why nothing more will come, once that is known
	echoes bool
	id     uint64 // of the last move
	sent   []byte // the last line
	crlf   bool   // a line ended with \r\n
	held   bool   // the process has ended, but something else keeps its stdout open
	banner []string
	ready  time.Duration // how long it took to answer the first ping
}

// A fault is what an engine has done wrong.
type fault struct {
	rule string // that it breaks wherever it happens; empty if it is only what was being tried
	what string
	sent []string
	came []string
	do   string // if empty, the rule's own advice
}

func (f *fault) Error() string { return f.what }

var (
	errLate    = errors.New("nothing came in time")
	errEnded   = errors.New("its output ended")
	errTooLong = errors.New("its line is too long")
	errStopped = errors.New("the check was stopped")
)

// startTalk starts an engine, without a word to it.
func startTalk(ctx context.Context, cfg *Config) (*talk, error) {
	bare, err := simbridge.StartBare(ctx, simbridge.Config{
		Command: cfg.Command, Env: cfg.Env, Limits: cfg.Limits, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	return &talk{ctx: ctx, cfg: cfg, bare: bare}, nil
}

// A reply is one line from the engine that keeps the protocol.
type reply struct {
	line  []byte
	a     simbridge.Answer
	think time.Duration
}

var ping = simbridge.Move{Kind: "ping"}

// play sends a move and returns the reply to it, or a fault.
func (t *talk) play(m simbridge.Move) (reply, error) {
	t.id++
	line, err := m.Line(t.id)
	if err != nil {
		return reply{}, err
	}
	return t.ask(t.id, line, t.cfg.Limits.SimReply)
}

// pings asks the engine, which is idle, whether it lives.
func (t *talk) pings() error {
	line, err := ping.Line(0)
	if err != nil {
		return err
	}
	_, err = t.ask(0, line, t.cfg.Limits.IdlePong)
	return err
}

func (t *talk) ask(id uint64, line []byte, limit time.Duration) (reply, error) {
	begun := time.Now()
	if err := t.send(line, limit); err != nil {
		return reply{}, err
	}
	got, err := t.answer(id, limit)
	if err != nil {
		return reply{}, err
	}
	got.think = time.Since(begun)
	if len(t.in) > 0 {
		return got, t.strayFault()
	}
	return got, nil
}

// send writes a line.
func (t *talk) send(line []byte, limit time.Duration) error {
	t.sent = line
	switch err := t.bare.Write(line, limit); {
	case err == nil:
		return nil
	case t.ctx.Err() != nil:
		return errStopped
	case errors.Is(err, os.ErrDeadlineExceeded):
		return t.fault(&fault{
			what: fmt.Sprintf("It does not read its stdin: a line of %d bytes did not fit into the pipe within %s.", len(line), limit),
			do:   "Read stdin to the end of each line, whatever its length, before you answer.",
		})
	default: // it has ended; what did it say before?
		for len(t.in) < t.cfg.Limits.ReplyBytes && t.readMore(t.cfg.Limits.Grace) == nil {
		}
		return t.endFault(t.in)
	}
}

// answer reads the reply to the move that bears this id.
func (t *talk) answer(id uint64, limit time.Duration) (reply, error) {
	line, err := t.readLine(limit)
	if err != nil {
		return reply{}, t.silenceFault(err, limit)
	}
	a, err := simbridge.ReadAnswer(line)
	switch {
	case err != nil:
		return reply{}, t.nonsenseFault(id, line, err)
	case a.HasID && a.ID != id:
		if t.followedBy(id) {
			return reply{}, t.fault(&fault{
				rule: ruleLines, came: []string{show(line)},
				what: fmt.Sprintf("Before its reply came another line, with the id %d of an earlier one.", a.ID),
			})
		}
		return reply{}, t.fault(&fault{
			rule: ruleID, came: []string{show(line)},
			what: fmt.Sprintf("Its reply bears the id %d, not %d.", a.ID, id),
		})
	case t.echoes && !a.HasID:
		return reply{}, t.fault(&fault{
			rule: ruleID, came: []string{show(line)},
			what: "This reply bears no id, though earlier ones did.",
		})
	}
	return reply{line: line, a: a}, nil
}

// readLine returns the engine's next line without its line break.
func (t *talk) readLine(limit time.Duration) ([]byte, error) {
	most := t.cfg.Limits.ReplyBytes
	searched := 0
	for end := time.Now().Add(limit); ; {
		if n := bytes.IndexByte(t.in[searched:], '\n'); n >= 0 {
			line := t.in[:searched+n]
			t.in = t.in[searched+n+1:]
			if bytes.HasSuffix(line, []byte{'\r'}) {
				line, t.crlf = line[:len(line)-1], true
			}
			if len(line) > most {
				return line, errTooLong
			}
			return line, nil
		}
		if searched = len(t.in); searched > most+1 {
			return t.in, errTooLong
		}
		if err := t.readMore(time.Until(end)); err != nil {
			return nil, err
		}
	}
}

// readMore waits until something more has come.
func (t *talk) readMore(limit time.Duration) error {
	if t.ended != nil {
		return t.ended
	}
	part := make([]byte, 32<<10)
	n, err := t.bare.Read(part, limit)
	t.in = append(t.in, part[:n]...)
	switch {
	case n > 0:
		return nil
	case t.ctx.Err() != nil:
		return errStopped
	case errors.Is(err, os.ErrDeadlineExceeded) && !t.bare.Exited():
		return errLate
	case errors.Is(err, os.ErrDeadlineExceeded):
		t.held = true
		t.ended = errEnded
	case errors.Is(err, io.EOF):
		t.ended = errEnded
	default:
		t.ended = fmt.Errorf("%w: %w", errEnded, err)
	}
	return t.ended
}

// quiet watches an engine that has been asked nothing.
func (t *talk) quiet(limit time.Duration) error {
	if len(t.in) > 0 {
		return t.strayFault()
	}
	switch err := t.readMore(limit); {
	case err == nil:
		return t.strayFault()
	case errors.Is(err, errLate):
		return nil
	case errors.Is(err, errStopped):
		return err
	default:
		return t.endFault(nil)
	}
}

// followedBy reports whether the engine's next line comes soon and is the reply
// that was waited for.
func (t *talk) followedBy(id uint64) bool {
	line, err := t.readLine(t.cfg.Limits.Grace)
	if err != nil {
		return false
	}
	a, err := simbridge.ReadAnswer(line)
	return err == nil && (!a.HasID || a.ID == id)
}

// fault fills in what was sent.
func (t *talk) fault(f *fault) *fault {
	if t.sent != nil && f.sent == nil {
		f.sent = []string{show(t.sent)}
	}
	return f
}

// strayFault is about something that came though nothing was asked.
func (t *talk) strayFault() error {
	line, err := t.readLine(t.cfg.Limits.Grace)
	if err != nil {
		line = t.in
	}
	f := &fault{rule: ruleStdout, came: []string{show(line)}, what: "It wrote to stdout what is no reply, after its reply."}
	_, err = simbridge.ReadAnswer(line)
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		f.rule, f.what = ruleLines, "It wrote an empty line after its reply."
		f.do = "End each reply with one line break, not two."
	case err == nil:
		f.rule, f.what = ruleLines, "It wrote a second line after its reply."
	}
	return t.fault(f)
}

// nonsenseFault is about a line that is no reply.
func (t *talk) nonsenseFault(id uint64, line []byte, err error) error {
	f := &fault{rule: ruleJSON, came: []string{show(line)}}
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		f.rule, f.what = ruleLines, "It wrote an empty line before its reply."
	case notUTF8(line) != "":
		f.what, f.do = notUTF8(line), adviceUTF8
		return t.fault(f)
	case opensOnly(line):
		f.rule, f.what, f.do = ruleLines, "Its JSON is spread over several lines.", adviceSpread
		return t.fault(f)
	case !utf8.Valid(line):
		f.what, f.do = "Its reply is not UTF-8.", adviceUTF8
	default:
		f.what = "Its reply is no good JSON object: " + plain(err) + "."
	}
	if t.followedBy(id) && f.rule == ruleJSON {
		f.rule, f.do = ruleStdout, ""
		f.what = "It wrote to stdout what is no reply, before its reply."
	}
	return t.fault(f)
}

// silenceFault is about a reply that did not come, or not whole.
func (t *talk) silenceFault(err error, limit time.Duration) error {
	switch {
	case errors.Is(err, errStopped):
		return err
	case errors.Is(err, errTooLong):
		return t.fault(&fault{
			rule: ruleSize, came: []string{show(t.in)},
			what: fmt.Sprintf("Its line is longer than %d bytes.", t.cfg.Limits.ReplyBytes),
		})
	case errors.Is(err, errEnded):
		return t.endFault(t.in)
	case len(t.in) > 0:
		return t.fault(&fault{
			rule: ruleFlush, came: []string{show(t.in)},
			what: fmt.Sprintf("What it wrote has no line break at its end, %s after the line was sent.", limit),
		})
	}
	// Does the answer sit in a buffer? The end of stdin brings it out.
	line, err := t.drained(limit)
	switch {
	case errors.Is(err, errStopped):
		return err
	case err == nil:
		return t.fault(&fault{
			rule: ruleFlush, came: []string{"nothing within " + limit.String(), "after the end of stdin: " + show(line)},
			what: "Its reply came only after the end of stdin: it sat in a buffer, or the engine reads to the end before it answers.",
		})
	}
	f := &fault{
		came: []string{"nothing within " + limit.String()},
		what: fmt.Sprintf("It did not answer within %s (KIRI_SIM_REPLY).", limit),
		do:   "Look for an endless loop, a wait for more input, or reading that wants the end of stdin instead of the end of a line.",
	}
	if t.ready > 0 && bytes.Contains(t.sent, []byte(`"kind":"ping"`)) {
		f.what = fmt.Sprintf("It did not answer a ping within %s.", limit)
	}
	_, stderr := t.bare.Kill()
	f.came = append(f.came, lastWords(stderr)...)
	return t.fault(f)
}

// drained ends stdin and returns the line that this brings out. An engine that has
// never answered may just be slow to start, so that another one is asked.
func (t *talk) drained(limit time.Duration) ([]byte, error) {
	if t.ready > 0 {
		t.bare.CloseStdin()
		return t.readLine(t.cfg.Limits.StopStep)
	}
	other, err := startTalk(t.ctx, t.cfg)
	if err != nil {
		return nil, err
	}
	defer other.bare.Kill()
	if err := other.send(t.sent, limit); err != nil {
		return nil, err
	}
	other.bare.CloseStdin()
	return other.readLine(limit / 2)
}

// endFault is about an engine that went, or closed its stdout, where it should have
// waited for a line or answered one; rest is what it had begun to write.
func (t *talk) endFault(rest []byte) error {
	f := new(fault)
	if t.ready == 0 {
		f.do = "Run the command by hand and see what it says. The program has to stay until stdin ends; a script that starts it has to end in exec ./engine."
	}
	alive := !t.bare.EndsWithin(t.cfg.Limits.StopStep)
	status, stderr := t.bare.Kill()
	switch {
	case alive:
		f.what = "It closed its stdout and lives on, so nothing it does can reach a player."
	case len(rest) > 0 && !bytes.ContainsRune(rest, '\n'):
		f.what = "It ended (" + status + ") in the middle of a line, without a line break."
	default:
		f.what = "It ended by itself (" + status + ")."
	}
	if len(rest) > 0 {
		f.came = append(f.came, show(rest))
	} else {
		f.came = append(f.came, "nothing")
	}
	f.came = append(f.came, lastWords(stderr)...)
	return t.fault(f)
}

// lastWords are the last lines of stderr, for a report.
func lastWords(stderr string) []string {
	if stderr == "" {
		return nil
	}
	const most = 5 // lines; a traceback's last ones name the mistake
	lines := strings.Split(stderr, "\n")
	if over := len(lines) - most; over > 0 {
		lines = lines[over:]
	}
	shown := []string{"on stderr:"}
	for _, line := range lines {
		shown = append(shown, "  "+show([]byte(line)))
	}
	return shown
}

// notUTF8 says which encoding a line seems to have that a banner would hide.
func notUTF8(line []byte) string {
	switch {
	case bytes.HasPrefix(line, []byte("\xef\xbb\xbf")):
		return "Its line begins with a byte-order mark (EF BB BF)."
	case bytes.IndexByte(line, 0) >= 0:
		return "There are zero bytes in its line, as in UTF-16."
	}
	return ""
}

// opensOnly reports whether a line is the first one of an object that was printed
// for people.
func opensOnly(line []byte) bool { return string(bytes.TrimSpace(line)) == "{" }

// plain is an error's text without its library's name.
func plain(err error) string {
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}
