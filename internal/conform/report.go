package conform

import (
	"fmt"
	"io"
	"strings"
)

// words are the verdicts as a report has them.
var words = map[Verdict]string{Untried: "-", OK: "ok", Warning: "warning", Wrong: "WRONG"}

// WriteTo writes the report for people: a line for each rule, and below it what was
// sent, what came, and what to do.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-8s %-9s %s", words[f.Verdict], f.Rule, f.Title)
		if f.Verdict == OK && len(f.Notes) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(f.Notes, "; "))
		}
		b.WriteByte('\n')
		if f.Verdict != Warning && f.Verdict != Wrong {
			continue
		}
		row := func(name string, lines ...string) {
			for _, line := range lines {
				if line != "" {
					fmt.Fprintf(&b, "         %-9s %s\n", name, line)
				}
				name = ""
			}
		}
		row("", f.Notes...)
		row("sent", f.Sent...)
		row("came", f.Came...)
		row("why", f.Why)
		row("do", f.Do)
	}
	b.WriteByte('\n')
	switch wrong, warnings, untried := r.count(Wrong), r.count(Warning), r.count(Untried); {
	case r.Stopped:
		b.WriteString("The check was stopped before its end.\n")
	case wrong > 0 && untried > 0:
		fmt.Fprintf(&b, "%s broken, %d not tried (-): mend this first, then check again.\n", rulesAre(wrong), untried)
	case wrong > 0:
		fmt.Fprintf(&b, "%s broken.\n", rulesAre(wrong))
	case warnings > 0:
		fmt.Fprintf(&b, "The server can use this engine. Warnings: %d.\n", warnings)
	default:
		b.WriteString("The server can use this engine.\n")
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func rulesAre(n int) string {
	if n == 1 {
		return "1 rule is"
	}
	return fmt.Sprintf("%d rules are", n)
}
