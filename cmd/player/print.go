package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// print writes a reply as plain text: the place, the text, and the offers by number.
func (r reply) print(w io.Writer) {
	if r.Place != "" {
		fmt.Fprintf(w, "【%s】\n", printable(r.Place))
	}
	for line := range strings.Lines(r.Text) {
		fmt.Fprintln(w, printable(strings.TrimRight(line, "\r\n")))
	}
	for i, o := range r.offers() {
		fmt.Fprintf(w, "%3d %s\n", i+1, printable(o.Label))
	}
}

// printable takes out what could play tricks on a terminal: control and direction
// characters.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsGraphic(c) {
			return c
		}
		return unicode.ReplacementChar
	}, s)
}
