package calculator

import (
	"html"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func newPage(t testing.TB, perSecond, burst float64) *Page {
	t.Helper()
	return NewPage(Config{
		Asset:     func(name string) string { return "/assets/0123456789abcdef/" + name },
		PerSecond: perSecond, Burst: burst, Policy: `"ip";q=2;w=1`, Refusal: "rate limit: 2 turns/sec per IP",
	})
}

// open renders the page for a query and claims whether the query was in order.
func open(t testing.TB, p *Page, query url.Values, good bool) string {
	t.Helper()
	document, ok, err := p.Render(query, "calc.example")
	if err != nil {
		t.Fatalf("%v: %v", query, err)
	}
	if ok != good {
		t.Errorf("%v: in order: %v, want %v", query, ok, good)
	}
	return string(document)
}

func ask(t testing.TB, address string) url.Values {
	t.Helper()
	query, err := url.ParseQuery(address)
	if err != nil {
		t.Fatal(err)
	}
	return query
}

var tags = regexp.MustCompile(`<[^>]*>`)

// part returns the text of the page's element with such an id.
func part(t testing.TB, document, id string) string {
	t.Helper()
	match := regexp.MustCompile(`(?s)<(\w+)[^>]* id="` + id + `"[^>]*>(.*?)</`).FindStringSubmatch(document)
	if match == nil {
		t.Fatalf("no element %s", id)
	}
	return html.UnescapeString(tags.ReplaceAllString(match[2], ""))
}

// texts returns what the page shows, without what was typed.
func texts(document string) string {
	document = regexp.MustCompile(`(?s)<(script|template)\b.*?</(script|template)>`).ReplaceAllString(document, "")
	return html.UnescapeString(tags.ReplaceAllString(document, " "))
}

var (
	nonsense = regexp.MustCompile(`(?i)\bnan\b|\binf(inity)?\b|∞|%!`)
	// A minus before nothing but zeros; in "1e-07" or "2026-01" it stands after something.
	minusZero = regexp.MustCompile(`(^|[\s(,>"=])[-−]0*\.?0*([\s),<"%;個秒]|$)`)
)

// sensible claims that a page shows no number that is none.
func sensible(t testing.TB, document string) {
	t.Helper()
	document = regexp.MustCompile(` value="[^"]*"`).ReplaceAllString(document, "") // what was typed
	shown := strings.ReplaceAll(texts(document), " - ", " ")
	attributes := strings.Join(regexp.MustCompile(` (?:x|y|x1|x2|y1|y2|height)="[^"]*"`).FindAllString(document, -1), " ")
	for _, text := range []string{shown, attributes} {
		if match := nonsense.FindString(text); match != "" {
			t.Errorf("the page shows %q", match)
		}
	}
	for _, word := range regexp.MustCompile(`[-−][0-9.]+(e-?[0-9]+)?`).FindAllString(attributes, -1) {
		if minusZero.MatchString(" " + word + " ") {
			t.Errorf("the drawing has a %q", word)
		}
	}
	if match := regexp.MustCompile(`[\s(,=][-−]0(\.0+)?[\s),個秒]`).FindString(shown); match != "" {
		t.Errorf("the page shows %q", match)
	}
}

func TestPageOfVectors(t *testing.T) {
	p := newPage(t, 2, 2)
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			in := read(t, v.In)
			document := open(t, p, in.query(""), true)
			sensible(t, document)
			answer := regexp.MustCompile(`(?s)<dl class="numbers">.*?</dl>`).FindString(document)
			var got []string
			for _, match := range regexp.MustCompile(`(?s)<dd>(.*?)</dd>`).FindAllStringSubmatch(answer, -1) {
				got = append(got, tags.ReplaceAllString(match[1], ""))
			}
			wait := waitText(v.Out.WaitSeconds)
			if wait == "" {
				wait = map[bool]string{true: "なし", false: "待っても通らない"}[v.Out.CanSatisfy]
			}
			want := []string{number(v.Out.Available) + "個", number(v.Out.Consumed) + "個", number(v.Out.Remaining) + "個", number(v.Out.Deficit) + "個", wait}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("numbers %v, want %v", got, want)
			}
			verdict := map[bool]string{true: "許可", false: "拒否"}[v.Out.Allowed]
			if !strings.Contains(document, `<strong class="word">`+verdict) || !strings.Contains(document, "<title>"+verdict) {
				t.Errorf("no verdict %s", verdict)
			}
			for _, snippet := range []string{"code-json", "code-go"} {
				if text := part(t, document, snippet); !strings.Contains(text, number(v.Out.Input.RefillRate)) || minusZero.MatchString(text) {
					t.Errorf("%s: %s", snippet, text)
				}
			}
		})
	}
}

func TestPageWords(t *testing.T) {
	p := newPage(t, 2, 2)
	for _, row := range []struct {
		query string
		wants []string
	}{
		{"capacity=10&refill_rate=2&tokens=5&elapsed=1.5&request_count=3", []string{"許可", "3個を使い、5個が残ります。", "= min(10, 5 + 1.5 × 2)", "8 ≥ 3 なので、残りは 8 − 3 = 5"}},
		{"capacity=10&refill_rate=2&tokens=5&elapsed=1.5&request_count=9", []string{"拒否", "1個足りません。0.5秒待てば通ります。", "1 ÷ 2 = 0.5秒"}},
		{"capacity=10&refill_rate=3&tokens=0&elapsed=0&request_count=1", []string{"0.334秒待てば通ります。", "0.334秒（切り上げ）"}},
		{"capacity=10&refill_rate=2&tokens=10&elapsed=0&request_count=11", []string{"容量の10個を超えるので、いくら待っても通りません。", "待っても通らない"}},
		{"capacity=10&refill_rate=0&tokens=2&elapsed=60&request_count=3", []string{"補充がないので、待っても通りません。"}},
		{"capacity=10&refill_rate=10&tokens=0&elapsed=0.3&request_count=3", []string{"= 3 − 1.1102230246251565e-16", "二進数"}},
		{"capacity=10&refill_rate=5e-324&tokens=0&elapsed=0&request_count=10", []string{"1.7976931348623157e308秒以上"}},
		{"capacity=１０&refill_rate=２&tokens=５&elapsed=１．５&request_count=３", []string{"3個を使い、5個が残ります。"}},
		{"capacity=2&refill_rate=2&tokens=2&elapsed=0&request_count=1&times=0 0 0 0.4 1.2", []string{"許可は3回、拒否は2回", "0.8", "0.1秒", "どの判定もトークンバケットと同じです。", "いちばん長い人は0.5秒待たされます。", "トークンバケットより1回少なく通します。"}},
		{"capacity=1e300&refill_rate=1e-300&tokens=1&elapsed=1&request_count=5", []string{"比べ図は描いていません"}},
	} {
		shown := regexp.MustCompile(`\s+`).ReplaceAllString(texts(open(t, p, ask(t, strings.ReplaceAll(row.query, " ", "+")), true)), "")
		for _, want := range row.wants {
			if !strings.Contains(shown, strings.ReplaceAll(want, " ", "")) {
				t.Errorf("%s: no %q", row.query, want)
			}
		}
	}
}

func TestPageOfMistakes(t *testing.T) {
	p := newPage(t, 2, 2)
	document := open(t, p, ask(t, "capacity=0&refill_rate=-1&tokens=&elapsed=NaN&request_count=1e999&times=1+0"), false)
	sensible(t, document)
	for id, want := range map[string]string{
		"capacity": "0より大きい数", "refill_rate": "0以上の数", "tokens": "数を入れて", "elapsed": "数として読めません", "request_count": "大きすぎます", "times": "早い順",
	} {
		if got := part(t, document, id+"-wrong"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
		input := regexp.MustCompile(`<input[^>]* id="` + id + `"[^>]*>`).FindString(document)
		if !strings.Contains(input, `aria-invalid="true"`) || !strings.Contains(input, id+`-wrong"`) {
			t.Errorf("%s is not tied to its mistake: %s", id, input)
		}
	}
	if !strings.Contains(document, "6か所を直すと") || strings.Contains(document, `<svg class="graph"`) {
		t.Error("six mistakes, and yet a result")
	}
	document = open(t, p, ask(t, "capacity=1"), false)
	if got := part(t, document, "capacity-wrong"); got != "" {
		t.Errorf("a good field: %q", got)
	}
}

var fieldValues = regexp.MustCompile(`<input[^>]* name="([^"]*)" value="([^"]*)"`)

// skeleton is a page's tags without what was typed. The page is made of them, of
// texts, and of nothing else.
func skeleton(document string) []string {
	return tags.FindAllString(fieldValues.ReplaceAllString(document, `<input name="$1"`), -1)
}

// onlyText claims of the page that answers a query that what was typed comes back
// as it was, and as text only: a page of mistakes has the very markup that it has
// for harmless mistakes in the same fields.
func onlyText(t testing.TB, p *Page, query url.Values, document string, ok bool) {
	t.Helper()
	shown := fieldValues.FindAllStringSubmatch(document, -1)
	if len(shown) != len(fields)+1 {
		t.Fatalf("%q: %d fields", query, len(shown))
	}
	harmless := make(url.Values)
	for _, match := range shown {
		name, value := match[1], html.UnescapeString(match[2])
		if want := typed(query, name); asks(query) && value != want {
			t.Errorf("%s shows %q, want %q", name, value, want)
		}
		wrong := part(t, document, name+"-wrong") != ""
		switch {
		case wrong:
			harmless.Set(name, "x")
		case name != timesName:
			harmless.Set(name, "1")
		}
	}
	if !utf8.ValidString(document) || strings.ContainsRune(document, 0) {
		t.Errorf("%q: no document may hold such characters", query)
	}
	if strings.Count(document, "<script") != 1 {
		t.Errorf("%q: another script", query)
	}
	if ok {
		return // a page of numbers; its markup depends on them
	}
	got, want := skeleton(document), skeleton(open(t, p, harmless, false))
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%q: the markup has %s, want %s", query, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%q: the markup has %d tags, want %d", query, len(got), len(want))
	}
}

func TestPageEscapes(t *testing.T) {
	p := newPage(t, 2, 2)
	for _, text := range []string{
		`"><script>alert(1)</script>{{.}}{ v }&amp;'`, `" autofocus onfocus="alert(1)`, `"`, `'`, "`", "<", ">", "&", "&#34;", "&lt;b>", "<!--", "</title>", "</textarea>",
		"javascript:alert(1)", "\x00", "1\x00", "\xff\">", "\xc0\x80", "\u2028", "\u2029\">", "\ufeff", "\u202e", "\r\n", "\x0b\x0c\x1f\x7f", "😀", strings.Repeat("w", 300),
	} {
		for name := range p.presets[0].query {
			query := Input{10, 2, 5, 1.5, 3}.query("0 1")
			query.Set(name, text)
			// White space for the burst is no burst.
			good := name == timesName && strings.TrimSpace(typed(query, name)) == ""
			onlyText(t, p, query, open(t, p, query, good), good)
		}
	}
}

func TestMarkupThatIsTypedIsFound(t *testing.T) {
	p := newPage(t, 2, 2)
	document := open(t, p, url.Values{"capacity": {"x"}}, false)
	for _, row := range []struct{ harmless, markup string }{
		{` value="x"`, ` value="x" autofocus x="`}, {"数として読めません", "<b>数として読めません</b>"}, {"<ul class=\"wrongs\">", "<ul onclick=\"x\">"},
	} {
		if with := strings.Replace(document, row.harmless, row.markup, 1); with == document || slices.Equal(skeleton(with), skeleton(document)) {
			t.Errorf("%s is not noticed", row.markup)
		}
	}
}

func TestPresets(t *testing.T) {
	for _, limits := range [][2]float64{{2, 2}, {0.4, 1.5}, {1000, 1000}, {5e-324, 1}, {math.MaxFloat64, math.MaxFloat64}, {1e-300, math.MaxFloat64}} {
		p := newPage(t, limits[0], limits[1])
		first := open(t, p, nil, true)
		sensible(t, first)
		if open(t, p, ask(t, "utm_source=x"), true) != first {
			t.Error("a foreign name in the address changes the page")
		}
		for i, preset := range p.presets {
			document := open(t, p, ask(t, preset.Address[1:]), true)
			sensible(t, document)
			if i == 0 && document != first {
				t.Error("the first preset is not what the page begins with")
			}
			chosen := regexp.MustCompile(`aria-current="true">([^<]*)`).FindStringSubmatch(document)
			if chosen == nil || html.UnescapeString(chosen[1]) != preset.Name {
				t.Errorf("%s is not shown as chosen but %v", preset.Name, chosen)
			}
		}
	}
}

func TestSnippetsNameTheHost(t *testing.T) {
	for host, want := range map[string]string{
		"game.example": "https://game.example", "game.example:8443": "https://game.example:8443", "127.0.0.1:8787": "http://127.0.0.1:8787",
		"localhost:8787": "http://localhost:8787", "[::1]:8787": "http://[::1]:8787", "[2001:db8::1]": "https://[2001:db8::1]",
		"": "http://localhost", "a'; rm -rf /; '": "http://localhost", "a$(id)": "http://localhost", strings.Repeat("a", 300): "http://localhost",
	} {
		got := newSnippets(Calculate(Input{1, 1, 1, 1, 1}), Config{PerSecond: 2, Burst: 2}, host)
		if !strings.HasPrefix(got.Ask, "curl -X POST "+want+"/api/token-bucket ") || got.Begin != "curl -i -X POST "+want+"/api/new" {
			t.Errorf("%q: %s and %s, want %s", host, got.Ask, got.Begin, want)
		}
	}
}

// The page's Go line is the call that the tests make.
func TestGoSnippet(t *testing.T) {
	got := newSnippets(Calculate(Input{10, 2, 5, 1.5, 9}), Config{PerSecond: 2, Burst: 2}, "x").Go
	want := "bucket := ratelimit.Bucket{Capacity: 10, Rate: 2, Tokens: 5}\noutcome := bucket.Take(1.5, 9)\n" +
		"fmt.Println(outcome.Allowed, outcome.Remaining, outcome.Wait) // false 8 0.5"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Everything that a graph can be of stays within it.
func TestGraphStaysInItsFrame(t *testing.T) {
	p := newPage(t, 2, 2)
	for _, query := range []string{
		"capacity=1e308&refill_rate=1e308&tokens=1e308&elapsed=1e308&request_count=1e308",
		"capacity=5e-324&refill_rate=5e-324&tokens=0&elapsed=5e-324&request_count=5e-324",
		"capacity=1&refill_rate=1e-308&tokens=0&elapsed=1e308&request_count=1",
		"capacity=10&refill_rate=5e-324&tokens=0&elapsed=0&request_count=10",
		"capacity=2&refill_rate=2&tokens=2&elapsed=0&request_count=1&times=0+1e308",
		"capacity=2&refill_rate=0&tokens=2&elapsed=0&request_count=1&times=0+0+5",
		"capacity=10&refill_rate=2&tokens=10&elapsed=0&request_count=1&times=200x0.01",
	} {
		document := open(t, p, ask(t, query), true)
		sensible(t, document)
		for _, match := range regexp.MustCompile(` (?:x|x1|x2|cx)="([^"]*)%"`).FindAllStringSubmatch(document, -1) {
			if x, wrong := (field{}).readTyped(match[1]); wrong != fine || x > 100 {
				t.Errorf("%s: something stands at %s%%", query, match[1])
			}
		}
	}
}

func FuzzPage(f *testing.F) {
	p := newPage(f, 2, 2)
	f.Add("capacity=10&refill_rate=2&tokens=5&elapsed=1.5&request_count=9")
	f.Add("capacity=2&refill_rate=2&tokens=2&elapsed=0&request_count=1&times=0+0+0+0.4+1.2")
	f.Add("capacity=1e308&refill_rate=5e-324&tokens=1e308&elapsed=0&request_count=1e308&times=9+every+1e306")
	f.Add("capacity=%EF%BC%91&refill_rate=-0&tokens=1,000&elapsed=%00&request_count=<b>&times=%ff")
	f.Add("capacity=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&times=%22+onfocus=%22x&tokens=%00'%E2%80%A8")
	f.Fuzz(func(t *testing.T, address string) {
		query, _ := url.ParseQuery(address)
		document, ok, err := p.Render(query, "calc.example")
		if err != nil {
			t.Fatal(err)
		}
		sensible(t, string(document))
		text := string(document)
		onlyText(t, p, query, text, ok)
		if ok != strings.Contains(text, `<svg class="graph"`) || ok == strings.Contains(text, `aria-invalid="true"`) {
			t.Errorf("in order: %v, but the page says otherwise", ok)
		}
		if !strings.HasSuffix(text, "</html>") {
			t.Error("the page is cut off")
		}
	})
}

func BenchmarkRender(b *testing.B) {
	p := newPage(b, 2, 2)
	for name, query := range map[string]url.Values{
		"one request":  Input{10, 2, 5, 1.5, 9}.query(""),
		"200 requests": Input{10, 2, 5, 1.5, 3}.query("200x0.1"),
		"200 doubles":  Input{1e300, 1e-300, 5, 1.5, 3}.query("200x0.1"),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Render(query, "calc.example")
			}
		})
	}
}
