package conform

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kiribashiri/internal/limits"
	"kiribashiri/web"
)

var update = flag.Bool("update", false, "write the golden reports anew")

// puppetConfig is that of the test binary as an engine with one thing wrong. It has
// time enough on a busy machine.
func puppetConfig(wrong string) Config {
	lim := limits.Default()
	lim.StopStep = 10 * time.Second
	lim.EngineGone = 30 * time.Second
	lim.CheckMoves = 12
	lim.CheckQuiet = 50 * time.Millisecond
	lim.Grace = 20 * time.Millisecond
	return Config{
		Command: []string{os.Args[0]},
		Env:     append(os.Environ(), puppetVariable+"="+wrong, "GORACE=atexit_sleep_ms=0"),
		Kinds:   []string{"look", "move", "say"},
		Limits:  lim,
		Notes:   io.Discard,
	}
}

// soon is for engines that hang: nobody wants to wait for them long.
func soon(lim *limits.Limits) {
	lim.SimReply = 5 * time.Second
	lim.IdlePong = 5 * time.Second
}

// leaving is for engines that do not leave.
func leaving(lim *limits.Limits) { lim.StopStep = 2 * time.Second }

// watching is for engines that write late.
func watching(lim *limits.Limits) { lim.CheckQuiet = 2 * time.Second }

func checked(t *testing.T, cfg Config) Report {
	t.Helper()
	report, err := Check(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Each way to be wrong is found, and by its own rule alone.
func TestEachFaultIsFoundByItsRule(t *testing.T) {
	none := func(*limits.Limits) {}
	for _, row := range []struct {
		wrong string // of the puppet
		rule  string // that says so; empty for none
		as    Verdict
		says  string // in its notes
		limit func(*limits.Limits)
	}{
		{"", "", OK, "", none},
		{"banner", "", OK, "", none},
		{"greeting", "", OK, "", none},
		{"it ends soon", "", OK, "", none},

		{"exits", ruleStart, Wrong, "ended by itself (exit status 3)", none},
		{"silent", ruleStart, Wrong, "did not answer within", soon},
		{"endless banner", ruleStart, Wrong, "more than 100 lines", none},
		{"JSON banner", ruleStart, Wrong, "before it is asked anything", watching},
		{"JSON banner, no ids", ruleStart, Wrong, "before it is asked anything", watching},
		{"no pong", ruleStart, Wrong, "did not answer a ping", soon},

		{"no ids", ruleID, Warning, `bears no "id"`, none},
		{"ids only at pings", ruleID, Wrong, "bears no id, though", none},
		{"one id for all", ruleID, Wrong, "bears the id 0, not 1", none},

		{"each line twice", ruleLines, Wrong, "second line after", none},
		{"moves twice", ruleLines, Wrong, "second line after", none},
		{"moves twice, later", ruleLines, Wrong, "line", none},
		{"a move twice", ruleLines, Wrong, "second line after", none},
		{"an empty line after each", ruleLines, Wrong, "empty line after", none},
		{"an empty line before each", ruleLines, Wrong, "empty line before", none},
		{"printed for people", ruleLines, Wrong, "spread over several lines", soon},

		{"noise before", ruleStdout, Wrong, "before its reply", none},
		{"noise after", ruleStdout, Wrong, "after its reply", none},
		{"late noise", ruleStdout, Wrong, "after its reply", watching},

		{"no JSON", ruleJSON, Wrong, "no good JSON object", none},
		{"an array", ruleJSON, Wrong, "no good JSON object", none},
		{"invalid UTF-8", ruleJSON, Wrong, "not UTF-8", none},
		{"BOM", ruleJSON, Wrong, "byte-order mark", none},
		{"a name twice", ruleJSON, Wrong, "stands twice", none},
		{"ok a string", ruleJSON, Wrong, "not a boolean", none},
		{"id a string", ruleJSON, Wrong, "not a whole number", none},

		{"too long", ruleSize, Wrong, "longer than 1048576 bytes", none},
		{"endless line", ruleSize, Wrong, "longer than 1048576 bytes", none},

		{"buffers", ruleFlush, Wrong, "after the end of stdin", soon},
		{"no newline", ruleFlush, Wrong, "no line break", soon},
		{"CRLF", ruleFlush, Warning, `\r\n`, none},

		{"refuses to begin", ruleNew, Wrong, "refuses to begin", none},
		{"no state", ruleNew, Wrong, `no "state"`, none},
		{"echoes", ruleNew, Wrong, "the very line that it got", none},
		{"hangs at a move", ruleNew, Wrong, "did not answer within", soon},

		{"crashes at a move", ruleMove, Wrong, "exit status 7", none},
		{"crashes after a move", ruleMove, Wrong, "exit status 7", none},
		{"refuses all", ruleMove, Wrong, "refuses each", none},

		{"chance", ruleSame, Wrong, `differ at "text"`, none},
		{"counts", ruleMemory, Wrong, `differ at "text"`, none},
		{"own memory", ruleMemory, Wrong, "differ at", none},

		{"large number in the state", ruleBrowser, Wrong, "12345678901234567168", none},
		{"state too large", ruleBrowser, Wrong, "413", none},
		{"state too deep", ruleBrowser, Wrong, "64 levels", none},
		{"a name twice in the state", ruleBrowser, Wrong, "400", none},

		{"reads only plain JSON", ruleSpelling, Wrong, "another spelling", none},
		{"crashes at an emoji", ruleText, Wrong, "exit status 5", none},
		{"splits at U+2028", ruleText, Wrong, "exit status 4", none},
		{"mangles text", ruleText, Wrong, "U+FFFD", none},
		{"crashes at an unknown kind", ruleKind, Wrong, "exit status 9", none},
		{"silent at an unknown kind", ruleKind, Wrong, "did not answer within", soon},
		{"crashes at a foreign state", ruleState, Wrong, "ended by itself", none},
		{"crashes at a member of a state", ruleState, Wrong, "ended by itself", none},
		{"short lines only", ruleLarge, Wrong, "ended by itself", none},
		{"large states twice", ruleLarge, Wrong, "second line after", none},
		{"hangs in a burst", rulePieces, Wrong, "Two lines came at once.", soon},
		{"reads chunks", rulePieces, Wrong, "it answered one", soon},

		{"loses the last reply", ruleEnd, Wrong, "right behind it", none},
		{"ignores the end", ruleEnd, Wrong, "but does at SIGTERM", leaving},
		{"ignores SIGTERM", ruleEnd, Wrong, "had to be killed", leaving},
		{"a last word", ruleEnd, Warning, "something more", none},
		{"daemon", ruleEnd, Warning, "lives on", none},
		{"stays when nobody reads", ruleClosed, Wrong, "still there", leaving},

		{"no text", ruleOffers, Warning, `no "text"`, none},
		{"offers of another kind", ruleOffers, Warning, "dance", none},
		{"offers without a label", ruleOffers, Warning, "label", none},
		{"a place that is no string", ruleOffers, Warning, "no string", none},
		{"an end that is no boolean", ruleOffers, Warning, "no boolean", none},
	} {
		t.Run(row.wrong, func(t *testing.T) {
			t.Parallel()
			cfg := puppetConfig(row.wrong)
			row.limit(&cfg.Limits)
			report := checked(t, cfg)
			for _, f := range report.Findings {
				want := OK
				if f.Rule == row.rule {
					want = row.as
				}
				got := f.Verdict
				if got == Untried && row.as == Wrong && f.Rule != row.rule {
					got = OK // nothing is held against the engine
				}
				if got != want {
					t.Errorf("%s is %q %q %q, want %q", f.Rule, words[f.Verdict], f.Notes, f.Came, words[want])
				}
				if said := strings.Join(f.Notes, "\n"); f.Rule == row.rule && !strings.Contains(said, row.says) {
					t.Errorf("%s says %q, want %q", f.Rule, said, row.says)
				}
			}
			if holds := row.as != Wrong; report.Holds() != holds {
				t.Errorf("it holds: %v, want %v", report.Holds(), holds)
			}
		})
	}
}

// Every rule has a row above that breaks it.
func TestEveryRuleCanBreak(t *testing.T) {
	source, err := os.ReadFile("conform_test.go")
	if err != nil {
		t.Fatal(err)
	}
	constants, err := os.ReadFile("rules.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		name := regexp.MustCompile(`(rule\w+) += "` + r.name + `"`).FindSubmatch(constants)
		if name == nil || !regexp.MustCompile(`", `+string(name[1])+`, (Wrong|Warning)`).Match(source) && r.name != ruleTime {
			t.Errorf("no puppet breaks %s", r.name)
		}
	}
}

func TestSlowEnginesAreWarnedOf(t *testing.T) {
	cfg := puppetConfig("")
	cfg.Limits.EngineGone, cfg.Limits.PageWait = 1, 1
	f := checked(t, cfg).Findings[len(rules)-1]
	if said := strings.Join(f.Notes, "\n"); f.Verdict != Warning || !strings.Contains(said, "starts in more than") || !strings.Contains(said, "that the page waits") {
		t.Errorf("%s is %s and says %q", f.Rule, words[f.Verdict], f.Notes)
	}
}

func TestNoProgram(t *testing.T) {
	cfg := puppetConfig("")
	cfg.Command = []string{filepath.Join(t.TempDir(), "engine")}
	if _, err := Check(t.Context(), cfg); err == nil {
		t.Error("no error for a program that is not there")
	}
}

// What a page does is written down twice; both say the same.
func TestThePageKeepsItsLimits(t *testing.T) {
	lim := limits.Default()
	for name, line := range map[string]string{
		"app.js":   fmt.Sprintf("MOVEMS = %d;", lim.PageWait.Milliseconds()),
		"shelf.js": fmt.Sprintf("MAXOFFERS = %d;", lim.PageOffers),
	} {
		script, err := web.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ReplaceAll(string(script), "_", ""), line) {
			t.Errorf("%s has no %q (underlines aside)", name, line)
		}
	}
}

// A check that is stopped ends at once, says what it knows, and leaves nothing.
func TestStopped(t *testing.T) {
	for _, wrong := range []string{"silent", "hangs at a move", "ignores SIGTERM"} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			cfg := puppetConfig(wrong)
			cfg.Limits.SimReply = time.Hour
			cfg.Limits.StopStep = time.Hour
			report, err := Check(ctx, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if !report.Stopped || report.Holds() {
				t.Errorf("stopped %v, holds %v", report.Stopped, report.Holds())
			}
			for _, f := range report.Findings {
				if f.Verdict == Wrong {
					t.Errorf("%s is blamed: %q", f.Rule, f.Notes)
				}
			}
		})
	}
}

func TestReport(t *testing.T) {
	for _, row := range []struct{ name, wrong string }{
		{"good", ""}, {"bad", "crashes at a member of a state"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var text strings.Builder
			if _, err := checked(t, puppetConfig(row.wrong)).WriteTo(&text); err != nil {
				t.Fatal(err)
			}
			got := regexp.MustCompile(`[0-9.]+(µs|ms|s)\b`).ReplaceAllString(text.String(), "0ms") // how fast this machine is
			got = regexp.MustCompile(`"id":\d+`).ReplaceAllString(got, `"id":7`)                   // which move it is
			got = regexp.MustCompile(`(?s)(on stderr:\n).*?( +why )`).ReplaceAllString(got, "${1}…\n$2")
			file := filepath.Join("testdata", row.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the report is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Rules are told apart by their names, and each says why and what to do.
func TestRulesAreWhole(t *testing.T) {
	var names []string
	for _, r := range rules {
		if slices.Contains(names, r.name) {
			t.Errorf("%s stands twice", r.name)
		}
		if r.title == "" || r.why == "" || r.do == "" {
			t.Errorf("%s lacks a text", r.name)
		}
		names = append(names, r.name)
	}
}
