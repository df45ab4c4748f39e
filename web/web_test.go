package web_test

import (
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"kiribashiri/internal/calculator"
	"kiribashiri/web"
)

// source returns all files that match pattern, joined.
func source(t *testing.T, pattern string) string {
	t.Helper()
	names, err := fs.Glob(web.Files, pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatalf("no files match %s", pattern)
	}
	var all strings.Builder
	for _, name := range names {
		b, err := fs.ReadFile(web.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// calculatorPages returns the calculator's page with everything that it can have.
func calculatorPages(t *testing.T) string {
	t.Helper()
	p := calculator.NewPage(calculator.Config{
		Asset:     func(name string) string { return "/assets/HASH/" + name },
		PerSecond: 2, Burst: 2, Policy: `"ip";q=2;w=1`, Refusal: "rate limit: 2 turns/sec per IP",
	})
	var all strings.Builder
	for _, query := range []url.Values{
		nil, // a burst, with all relatives
		{"capacity": {"0"}, "times": {"x"}},
		{"capacity": {"10"}, "refill_rate": {"10"}, "tokens": {"0"}, "elapsed": {"0.3"}, "request_count": {"3"}},
		{"capacity": {"1e300"}, "refill_rate": {"1e-300"}, "tokens": {"1"}, "elapsed": {"1"}, "request_count": {"5"}, "times": {"50x0.1"}},
	} {
		document, _, err := p.Render(query, "calc.example")
		if err != nil {
			t.Fatal(err)
		}
		all.Write(document)
	}
	return all.String()
}

// found returns what the first group of pattern matched, each in order.
func found(pattern, in string) []string {
	var all []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(in, -1) {
		all = append(all, match[1])
	}
	return all
}

func TestOnlyThePageIsEmbedded(t *testing.T) {
	err := fs.WalkDir(web.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".go") {
			t.Errorf("%s would be served", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The policy forbids these; a browser would leave them out without a word.
func TestNothingThePolicyForbids(t *testing.T) {
	for _, c := range []struct{ what, pattern, in string }{
		{"inline script", `<script(?:\s[^>]*)?>\s*[^<\s]`, "*.html"},
		{"inline style", `<style|\sstyle=`, "*.html"},
		{"event attribute", `\son[a-z]+=`, "*.html"},
		{"other origin", `(?:src|href)="(?:https?:)?//`, "*.html"},
		{"other origin", `url\(|@import`, "*.css"},
		{"text as markup", `innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc`, "*.js"},
		{"text as code", `\beval\(|new Function|setAttribute\('style'`, "*.js"},
		{"other origin", `https?://`, "*.js"},
	} {
		text := source(t, c.in)
		if c.in == "*.html" {
			text += calculatorPages(t)
		}
		if got := regexp.MustCompile(c.pattern).FindString(text); got != "" {
			t.Errorf("%s in %s: %q", c.what, c.in, got)
		}
	}
}

func TestTextsStandInThePage(t *testing.T) {
	for line := range strings.Lines(source(t, "*.js")) {
		if strings.ContainsFunc(line, func(r rune) bool {
			return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
		}) {
			t.Errorf("Japanese in a script: %s", line)
		}
	}
}

func TestWordsAndTheirUses(t *testing.T) {
	script := source(t, "*.js")
	uses := found(`\b(?:word|Problem|offerJump)\((?:\w+, )?'([^']+)'`, script)
	uses = append(uses, found(`Problem\('([^']+)'`, script)...)
	for _, question := range found(`\bconfirmed\('([^']+)'`, script) {
		uses = append(uses, question+"-title", question+"-text", question+"-yes")
	}
	for _, button := range found(`\badd\('([^']+)', `, script) {
		uses = append(uses, button, button+"-slot")
	}
	if len(uses) < 20 {
		t.Errorf("only %d uses found: %q", len(uses), uses)
	}
	words := make(map[string]bool)
	for _, key := range found(`data-word="([^"]+)"`, source(t, "index.html")) {
		if words[key] {
			t.Errorf("two texts for %q", key)
		}
		words[key] = true
		if !strings.Contains(script, "'"+key+"'") && !slices.Contains(uses, key) {
			t.Errorf("no script says %q", key)
		}
	}
	for _, key := range uses {
		if !words[key] {
			t.Errorf("no text for %q", key)
		}
	}
}

func TestElementsTheScriptAsksFor(t *testing.T) {
	ids := make(map[string]bool)
	for _, id := range found(`\sid="([^"]+)"`, source(t, "index.html")) {
		if ids[id] {
			t.Errorf("two elements with id %q", id)
		}
		ids[id] = true
	}
	page := source(t, "app.js") + source(t, "menu.js")
	uses := slices.Concat(found(`\belement\('([^']+)'\)`, page), found(`data-open="([^"]+)"`, source(t, "index.html")))
	if len(uses) == 0 {
		t.Error("no uses found")
	}
	for _, id := range uses {
		if !ids[id] {
			t.Errorf("no element with id %q", id)
		}
	}
}

func TestWhatTheCalculatorsScriptAsksFor(t *testing.T) {
	script, page := source(t, "calculator.js"), calculatorPages(t)
	for pattern, attribute := range map[string]string{`getElementById\('([^']+)'\)`: "id", `\btext\('([^']+)'\)`: "data-text"} {
		uses := found(pattern, script)
		if len(uses) == 0 {
			t.Errorf("no uses of %s found", attribute)
		}
		for _, use := range uses {
			if !strings.Contains(page, attribute+`="`+use+`"`) {
				t.Errorf("no element with %s %q", attribute, use)
			}
		}
	}
}

func TestModulesImportOnlyOneAnother(t *testing.T) {
	for _, name := range found(`from '([^']+)'`, source(t, "*.js")) {
		file, relative := strings.CutPrefix(name, "./")
		if _, err := fs.Stat(web.Files, file); !relative || err != nil {
			t.Errorf("import of %q", name)
		}
	}
}
