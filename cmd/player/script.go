package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxScript = 1 << 20 // bytes of a script

	expectMark  = "expect:"
	commentMark = "#"
)

// A step is one move of a script and what its reply must have in it. The first
// step of a script is the beginning of the game and has no text.
type step struct {
	number  int // of the line
	text    string
	expects []expectation
}

type expectation struct {
	number int
	text   string
}

// readScript reads the script in file.
func readScript(file string) ([]step, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxScript {
		return nil, fmt.Errorf("%s: longer than %d bytes", file, maxScript)
	}
	steps := []step{{}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !utf8.Valid(line) {
			return nil, fmt.Errorf("%s:%d: not UTF-8", file, number)
		}
		line := strings.TrimSpace(string(line))
		if line == "" || strings.HasPrefix(line, commentMark) {
			continue
		}
		want, isExpectation := strings.CutPrefix(line, expectMark)
		if !isExpectation {
			steps = append(steps, step{number: number, text: line})
			continue
		}
		want = strings.TrimSpace(want)
		if want == "" {
			return nil, fmt.Errorf("%s:%d: nothing stands after %q", file, number, expectMark)
		}
		last := &steps[len(steps)-1]
		last.expects = append(last.expects, expectation{number, want})
	}
	return steps, nil
}

// A scriptError is where a script did not go as it should.
type scriptError struct {
	file   string
	number int // of the line; 0 for the beginning of the game
	wrong  string
	came   *reply // what came instead, if anything did
}

func (e *scriptError) Error() string {
	text := fmt.Sprintf("%s: %s", place(e.file, e.number), printable(e.wrong))
	if e.came != nil {
		var shown strings.Builder
		e.came.print(&shown)
		text += "; the reply was:\n" + strings.TrimSuffix(shown.String(), "\n")
	}
	return text
}

// place names a line of a file, or, by 0, what comes before the first.
func place(file string, number int) string {
	if number == 0 {
		return file + ": at the beginning of the game"
	}
	return fmt.Sprintf("%s:%d", file, number)
}

// playScript plays the script in file by s and says on stdout how many moves and
// expectations it had. The error is a *scriptError if the script did not go as it
// should; waits are told on stderr.
func playScript(ctx context.Context, c *client, file string, stdout, stderr io.Writer) error {
	steps, err := readScript(file)
	if err != nil {
		return err
	}
	var number int
	s := &sender{client: c, pace: newPace(), tries: maxTries, heard: func(_ time.Duration, err error, pause time.Duration) {
		if pause > 0 {
			fmt.Fprintf(stderr, "%s: %v; again in %v\n", place(file, number), err, pause.Round(time.Millisecond))
		}
	}}
	var here reply
	met := 0
	for i, step := range steps {
		number = step.number
		m := move{Kind: kindNew}
		if i > 0 {
			m = here.move(step.text)
		}
		if here, err = s.send(ctx, m); err != nil {
			return &scriptError{file: file, number: number, wrong: err.Error()}
		}
		for _, want := range step.expects {
			if !here.contains(want.text) {
				return &scriptError{
					file: file, number: want.number, came: &here,
					wrong: fmt.Sprintf("%q is not in the reply to %s", want.text, step.name()),
				}
			}
			met++
		}
	}
	fmt.Fprintf(stdout, "%s: %d moves, %d expectations met\n", file, len(steps), met)
	return nil
}

func (s step) name() string {
	if s.text == "" {
		return "the beginning of the game"
	}
	return fmt.Sprintf("line %d, %q", s.number, s.text)
}

// contains reports whether text stands anywhere in what a player sees of r.
func (r reply) contains(text string) bool {
	if strings.Contains(r.Text, text) || strings.Contains(r.Place, text) {
		return true
	}
	for _, o := range r.offers() {
		if strings.Contains(o.Label, text) {
			return true
		}
	}
	return false
}

// move returns the move that a line of text makes from here: the offer with that
// label, and otherwise what is said.
func (r reply) move(text string) move {
	if o, ok := r.offered(text); ok {
		return r.press(o)
	}
	return move{Kind: "say", Input: &text, State: r.State}
}

func (r reply) press(o offer) move { return move{Kind: o.Kind, Input: o.Input, State: r.State} }
