package advsim

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kiribashiri/internal/advsim/japanese"
)

// playInTerminal plays with whoever types on r, in plain text on w, until the
// story or r ends.
func (e *engine) playInTerminal(r io.Reader, w io.Writer) error {
	lines := bufio.NewReader(r)
	for out := e.begin(); ; {
		offers := e.offers(out.state)
		if _, err := io.WriteString(w, e.page(out, offers)); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		if out.state.ending != "" {
			return nil
		}
		line, _, err := readLine(lines)
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading a move: %w", err)
		}
		// The blank line parts what is typed from what is told, and ends the
		// prompt's line where nothing was typed there.
		if _, err := io.WriteString(w, "\n"); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		if err == io.EOF {
			return nil
		}
		kind, input := asTyped(offers, string(line))
		out = e.play(out.state, kind, input)
	}
}

// offers returns all that can be pressed.
func (e *engine) offers(s state) []offer { return append(e.choices(s), e.places(s)...) }

// page returns what a player reads after a move.
func (e *engine) page(out outcome, offers []offer) string {
	var b strings.Builder
	for line := range strings.Lines(out.text) {
		fmt.Fprintf(&b, "%s\n", strings.TrimSuffix(line, "\n"))
	}
	if out.state.ending != "" {
		return b.String()
	}
	fmt.Fprintf(&b, "\n［%s］\n", e.story.place(out.state.place).name)
	for i, o := range offers {
		fmt.Fprintf(&b, "%d %s\n", i+1, o.Label)
	}
	b.WriteString("> ")
	return b.String()
}

// asTyped returns the move that a typed line makes: the offer of that number, or
// else what it says.
func asTyped(offers []offer, line string) (kind, input string) {
	if n, err := strconv.Atoi(japanese.Fold(line)); err == nil && 1 <= n && n <= len(offers) {
		return offers[n-1].Kind, offers[n-1].Input
	}
	return "say", line
}
