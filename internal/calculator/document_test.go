package calculator

import (
	"bytes"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"kiribashiri/web"
)

// oracle is the page's template as html/template runs it. It wants to be told that a
// field is a function, and that a place is made of attributes.
func oracle(t testing.TB) *template.Template {
	t.Helper()
	source := regexp.MustCompile(`\.(Kin|Show) `).ReplaceAllString(web.Calculator, "call .$1 ")
	source = strings.ReplaceAll(source, "call call", "call")
	source = strings.ReplaceAll(source, "{{.Place}}", "{{attributes .Place}}")
	source = strings.ReplaceAll(source, " {{.}}/>", " {{attributes .}}/>")
	return template.Must(template.New("").Funcs(template.FuncMap{
		"attributes": func(p place) template.HTMLAttr { return template.HTMLAttr(p) },
	}).Parse(source))
}

// What a visitor may type, and more.
var typed = []string{
	"", "3", "0.1", "-1", "1e300", "1,5", "x", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "' onfocus='alert(1)", "&lt;&amp;",
	"a\x00b", "+1", "=", "`", "javascript:alert(1)", "\u2028", "\xff", "日本語", "{{.Wrong}}", "--><!--", "/*", "\r\n",
}

func TestDocumentIsHTMLTemplates(t *testing.T) {
	p := newPage(t, 2, 2)
	want := oracle(t)
	check := func(query url.Values, host string) {
		t.Helper()
		v := p.view(query, host)
		got, err := p.document.execute(v)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := want.Execute(&out, v); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, out.Bytes()) {
			at := 0
			for at < min(len(got), out.Len()) && got[at] == out.Bytes()[at] {
				at++
			}
			t.Fatalf("%v differs at %d:\n%.200s\nwant\n%.200s", query, at, got[max(0, at-50):], out.Bytes()[max(0, at-50):])
		}
	}
	check(nil, "calc.example")
	for _, preset := range p.presets {
		check(preset.query, "localhost:8787")
	}
	for _, v := range vectors(t) {
		check(read(t, v.In).query(""), "[::1]:80")
		check(read(t, v.In).query("0 0 0.1 0.5"), "calc.example")
	}
	for _, text := range typed {
		for _, f := range fields {
			query := p.presets[0].query
			query = url.Values{f.name: {text}, timesName: query[timesName], "capacity": query["capacity"]}
			check(query, text)
		}
		query := Input{10, 2, 10, 1, 3}.query(text)
		check(query, "calc.example")
		check(url.Values{timesName: {text}}, "calc.example")
	}
	check(Input{3, 0, 3, 0, 1}.query("0 0 0 0 5"), "calc.example")
	check(Input{10, 2, 10, 0, 1}.query("200回 0.01秒ごと"), "calc.example")
	check(Input{1, 1, 1, 0, 3}.query("0 1 2"), "calc.example")
}

// A visitor's text stands in the page, and never as markup.
func TestTypedTextStaysText(t *testing.T) {
	p := newPage(t, 2, 2)
	for _, text := range typed {
		document := open(t, p, url.Values{"capacity": {text}, timesName: {text}}, false)
		for _, markup := range []string{"<script>alert", "<img", "onfocus='"} {
			if strings.Contains(document, markup) {
				t.Errorf("%q: the page has %s", text, markup)
			}
		}
	}
}

func TestFaultyTemplates(t *testing.T) {
	for _, source := range []string{
		"{{.Nothing}}", "{{.Wrong.Deeper}}", "{{range .Wrong}}{{end}}", "{{template `none` .}}", "{{.Fields}}", "{{len .Wrong}}", "{{le 1 `a`}}",
		"{{.Show 1}}", "{{call .Wrong 1}}", "{{range .Fields}}{{else}}{{end}}", "{{$x := 1}}{{$x}}", "{{.Wrong | not}}", "{{nil}}", "{{break}}",
	} {
		d, err := parseDocument(source)
		if err == nil {
			_, err = d.execute(view{Show: number, Fields: []viewField{{}}})
		}
		if err == nil {
			t.Errorf("%s is taken", source)
		}
	}
}
