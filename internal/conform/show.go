package conform

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"strconv"
)

// show makes a line fit for a terminal: nothing in it that is not visible, and not
// longer than a few rows.
func show(line []byte) string {
	const head, tail = 240, 60 // bytes
	line = trimBreak(line)
	if len(line) == 0 {
		return "(an empty line)"
	}
	if len(line) <= head+tail {
		return visible(line)
	}
	from, to := head, len(line)-tail
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	return fmt.Sprintf("%s … %s (%d bytes)", visible(line[:from]), visible(line[to:]), len(line))
}

func trimBreak(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	return line
}

// visible writes what cannot be seen, or does something to a terminal, as Go does
// in a string; what is left, quotes and backslashes too, stays as it is.
func visible(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case strconv.IsGraphic(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}
