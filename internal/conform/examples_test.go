package conform

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/simbridge"
)

// folder is where the examples stand that the document shows.
const folder = "../../examples/engines"

// needed skips a test that wants a program which is missing; CI has to have it.
func needed(t *testing.T, program string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s: %v", program, err)
	}
	t.Skipf("skipped without %s: %v", program, err)
}

// The engines that authors are shown keep every rule, without a warning.
func TestExamplesKeepTheProtocol(t *testing.T) {
	for _, row := range []struct {
		name  string
		build func(t *testing.T) []string
	}{{
		"Python", func(t *testing.T) []string {
			python, err := exec.LookPath("python3")
			needed(t, "python3", err)
			return []string{python, filepath.Join(folder, "lamp.py")}
		},
	}, {
		"C++", func(t *testing.T) []string {
			_, err := exec.LookPath("g++")
			needed(t, "g++", err)
			header := exec.Command("g++", "-M", "-x", "c++", "-include", "nlohmann/json.hpp", os.DevNull)
			needed(t, "nlohmann/json.hpp", header.Run())
			program := filepath.Join(t.TempDir(), "lamp")
			out, err := exec.Command("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o", program, filepath.Join(folder, "lamp.cpp")).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return []string{program}
		},
	}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			lim := limits.Default()
			lim.EngineGone = time.Minute // how soon it starts is this machine's affair
			report := checked(t, Config{
				Command: row.build(t), Env: os.Environ(), Kinds: []string{"look", "move", "say"}, Limits: lim, Notes: io.Discard,
			})
			if !report.Holds() || report.count(Warning) > 0 {
				var text strings.Builder
				report.WriteTo(&text)
				t.Error(text.String())
			}
		})
	}
}

// What the document shows is what has been tried.
func TestDocumentShowsTheExamples(t *testing.T) {
	for _, document := range []string{"ENGINE.md", "ENGINE.ja.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", document))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct{ name, language string }{{"lamp.py", "python"}, {"lamp.cpp", "cpp"}} {
			code, err := os.ReadFile(filepath.Join(folder, row.name))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "```"+row.language+"\n"+string(code)+"```\n") {
				t.Errorf("%s does not show %s as it is", document, row.name)
			}
		}
	}
}

// The document's table names every rule, in the report's order.
func TestDocumentNamesTheRules(t *testing.T) {
	for _, document := range []string{"ENGINE.md", "ENGINE.ja.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", document))
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := string(text), false
		for _, r := range rules {
			if _, rest, ok = strings.Cut(rest, "\n| `"+r.name+"` |"); !ok {
				t.Errorf("%s has no row for %s in its place", document, r.name)
				break
			}
		}
		for _, r := range rules { // the report that it shows as an example
			if r.name == ruleFlush && (!strings.Contains(string(text), r.why) || !strings.Contains(string(text), r.do)) {
				t.Errorf("%s shows another report than there is", document)
			}
		}
	}
}

// Whatever an engine writes can be looked at and shown.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"ok":true,"text":"霧","state":{"a":[1,2.5e-3,"\"\\/\u9727😀"]},"choices":[{"label":"x","kind":"say"}],"end":true}`,
		`{"state":12345678901234567890}`, `{"state":{"a":1,"a":2},"choices":[1,{"kind":7}],"places":{}}`, `{"state":"\ud83d\ude00"}`, "\xff\x1b[31m",
	} {
		f.Add([]byte(line))
	}
	cfg := puppetConfig("")
	f.Fuzz(func(t *testing.T, line []byte) {
		if shown := show(line); strings.ContainsAny(shown, "\x1b\n\r\u2028\u202e\x00") || len(shown) > 4000 {
			t.Errorf("shown as %q", shown)
		}
		a, err := simbridge.ReadAnswer(line)
		if err != nil {
			return
		}
		c := newCheck(t.Context(), &cfg)
		c.talk = new(talk)
		c.record(simbridge.Move{Kind: "new"}, reply{line: line, a: a})
		offersIn(line, &cfg)
		state := stateOf(line)
		if state == nil {
			return
		}
		spoilt(state)
		again := append(append([]byte(`{"state":`), respell(state)...), '}')
		if where := differ(append(append([]byte(`{"state":`), state...), '}'), again); where != "" && stuck(state, &cfg) == "" {
			t.Errorf("%s is respelled %s", state, again)
		}
	})
}
