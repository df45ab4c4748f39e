//go:build linux && !race

// These tests run other programs and read files. The race detector has nothing to
// find in them, so they run once, without it.

package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// headings returns a document's, without their hashes.
func headings(t *testing.T, document string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(readFile(t, document), -1) {
		all = append(all, m[1])
	}
	return all
}

// codeBlocks returns those of a document that are in a language.
func codeBlocks(t *testing.T, document, language string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(readFile(t, document), -1) {
		all = append(all, m[1])
	}
	return all
}

// documents are those that have the same twice, in English and Japanese.
var documents = []string{"../docs/WATCHING.md", "../docs/WATCHING.ja.md"}

// linking are those whose links are tried.
var linking = append([]string{
	"../README.md", "../README.ja.md", "../SECURITY.md", "../SECURITY.ja.md", "../docs/OPERATING.md", "../docs/OPERATING.ja.md",
	"../docs/ENGINE.md", "../docs/ENGINE.ja.md", "../docs/SCALING.md", "../docs/SCALING.ja.md",
}, documents...)

// What an operator may see is explained: every metric, every error code, every line
// of the log.
func TestEverythingSeenIsExplained(t *testing.T) {
	metrics := regexp.MustCompile(`(?m)^kiri_\w+`).FindAllString(readFile(t, "../internal/api/testdata/metrics.txt")+"\n"+readFile(t, "../internal/sharedlimit/testdata/metrics.txt"), -1)
	metrics = append(metrics, matches(t, `Name: "(kiri_\w+)"`, "../cmd/server/front.go")...)
	codes := matches(t, `(?m)^\t\{.*, "([a-z_]+)", "`, "../internal/api/errors.go")
	var messages []string
	for _, folder := range []string{"../cmd/server", "../internal/api", "../internal/simbridge", "../internal/sharedlimit"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				messages = append(messages, matches(t, `[lL]og\.(?:Info|Warn|Error)\("([^"]+)"`, file)...)
				messages = append(messages, matches(t, `[lL]og\.Log(?:Attrs)?\([^"\n]*"([^"]+)"`, file)...)
			}
		}
	}
	for what, names := range map[string][]string{"metric": metrics, "error code": codes, "log line": messages} {
		if len(names) < 10 {
			t.Fatalf("only %d times a %s: %q", len(names), what, names)
		}
		for _, document := range documents {
			text := readFile(t, document)
			for _, name := range names {
				if !strings.Contains(text, "`"+name+"`") {
					t.Errorf("%s does not explain the %s %s", document, what, name)
				}
			}
		}
	}
}

// matches returns what a pattern's group has found in a file.
func matches(t *testing.T, pattern, file string) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(readFile(t, file), -1) {
		all = append(all, m[1])
	}
	return all
}

// Every link leads to a file that is there, and to a heading that it has.
func TestLinks(t *testing.T) {
	for _, document := range linking {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(readFile(t, document), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(m[1], "#")
			target := document
			if name != "" {
				target = filepath.Join(filepath.Dir(document), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", document, err)
				continue
			}
			if anchor != "" && !slices.ContainsFunc(headings(t, target), func(heading string) bool { return slug(heading) == anchor }) {
				t.Errorf("%s: %s has no heading for #%s", document, target, anchor)
			}
		}
	}
}

// Whatever SECURITY.md says that a test holds, there is such a test; and both
// languages promise the same.
func TestSecurityNamesTests(t *testing.T) {
	known := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			for _, name := range matches(t, `(?m)^func ((?:Test|Fuzz|Benchmark|test)[A-Z]\w*)\(`, path) {
				known[name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := func(document string) []string {
		names := matches(t, "`((?:Test|Fuzz|Benchmark|test)[A-Z]\\w*)`", document)
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s names %s, and there is no such test", document, name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	english, japanese := named("../SECURITY.md"), named("../SECURITY.ja.md")
	if len(english) < 40 || !slices.Equal(english, japanese) {
		t.Errorf("%d tests are named in English, %d in Japanese, or they differ:\n%q\n%q", len(english), len(japanese), english, japanese)
	}
}

// slug is what a heading is called in a link.
func slug(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsNumber(c):
			return unicode.ToLower(c)
		}
		return -1
	}, heading)
}
