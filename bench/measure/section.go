package measure

import (
	"fmt"
	"strings"
)

// A Section is what a face has to say, in Markdown.
type Section struct {
	Goals []Goal
	text  strings.Builder
}

// A Goal is one figure that was promised.
type Goal struct {
	What    string // such as "429, CPU a request: at most 1.25 × the bare handler"
	Got     string
	Reached bool
	// Why says what a profile showed to stand in the way. It is printed if the goal
	// is not reached.
	Why string
}

// AtMost is a goal whose figure must not be above most.
func AtMost(what, verb string, got Spread, most float64, why string) Goal {
	return Goal{what, got.Format(verb), got.Median <= most, why}
}

// AtLeast is a goal whose figure must not be below least.
func AtLeast(what, verb string, got Spread, least float64, why string) Goal {
	return Goal{what, got.Format(verb), got.Median >= least, why}
}

// Say adds a paragraph.
func (s *Section) Say(format string, args ...any) {
	fmt.Fprintf(&s.text, format+"\n\n", args...)
}

// Table adds a table. The first column is words, the others are figures.
func (s *Section) Table(head []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(&s.text, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	rule := []string{"---"}
	for range head[1:] {
		rule = append(rule, "---:")
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	s.text.WriteString("\n")
}

// Promise adds goals; they are printed at the head of the section and of the report.
func (s *Section) Promise(goals ...Goal) { s.Goals = append(s.Goals, goals...) }

// Markdown returns the section with its goals in front.
func (s *Section) Markdown(title string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\n", title)
	out.WriteString(Table(s.Goals))
	for _, g := range s.Goals {
		if !g.Reached && g.Why != "" {
			fmt.Fprintf(&out, "**Not reached: %s.** %s\n\n", g.What, g.Why)
		}
	}
	out.WriteString(s.text.String())
	return out.String()
}

// Table returns goals as a table; nothing if there are none.
func Table(goals []Goal) string {
	if len(goals) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("| goal | measured | reached |\n| --- | ---: | --- |\n")
	for _, g := range goals {
		reached := "**no**"
		if g.Reached {
			reached = "yes"
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", g.What, g.Got, reached)
	}
	out.WriteString("\n")
	return out.String()
}
