package main

import (
	"context"
	"encoding/json"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

// The calculator's page in a real browser, as people have it with and without
// script.
func TestCalculatorInBrowser(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	s := start(t)
	for _, row := range []struct {
		name string
		test func(*testing.T, *reader)
	}{
		{"the golden vectors", testReadVectors},
		{"a question without script", testAskWithoutScript},
		{"mistakes without script", testMistakesWithoutScript},
		{"an answer while one types", testAnswerWhileTyping},
		{"mistakes while one types", testMistakesWhileTyping},
		{"an input method composes", testCompose},
		{"copying", testCopy},
		{"no sideways scroll, and targets for fingers", testCalculatorWidths},
		{"the keyboard reaches everything, visibly", testCalculatorKeys},
		{"the second load", testCalculatorReload},
	} {
		t.Run(row.name, func(t *testing.T) { row.test(t, newReader(t, browser, s)) })
	}
}

// A reader has the calculator's page in a tab of their own.
type reader struct {
	*player
	site string
}

func newReader(t *testing.T, browser context.Context, s *running) *reader {
	p := &player{t: t}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(func(event any) {
		// A page with mistakes has status 400, which a browser writes down as an error.
		if e, ok := event.(*log.EventEntryAdded); !ok || !strings.Contains(e.Entry.Text, "400") {
			p.hears(event)
		}
	}))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	p.ctx = ctx
	do(p, chromedp.EmulateViewport(390, 844))
	return &reader{p, s.url}
}

func (r *reader) withoutScript() {
	r.t.Helper()
	call(r.player, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

func (r *reader) opens(query string) {
	r.t.Helper()
	do(r.player, chromedp.Navigate(r.site+"/token-bucket"+query))
}

// text returns what an element shows.
func (r *reader) text(selector string) string {
	r.t.Helper()
	return js[string](r.player, `document.querySelector(%q)?.innerText ?? "nothing"`, selector)
}

// puts types text into a field, in place of what is there.
func (r *reader) puts(field, text string) {
	r.t.Helper()
	r.runs(`(document.getElementById(%q).focus(), document.activeElement.select())`, field)
	call(r.player, input.InsertText, input.InsertTextParams{Text: text})
}

// sees waits until an element shows what it should.
func (r *reader) sees(selector, want string) {
	r.t.Helper()
	eventually(r.t, selector+" shows "+want, func() bool { return strings.Contains(r.text(selector), want) })
}

func (r *reader) address() string { return js[string](r.player, `location.href`) }

// number writes x as the page does.
func shownNumber(x float64) string {
	if x != 0 && (x < 1e-6 || x >= 1e21) {
		s := strconv.FormatFloat(x, 'e', -1, 64)
		return strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-").Replace(s)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// Every vector of the function's own tests, from the browser's address to its
// screen; and who waits for as long as is shown is allowed.
func testReadVectors(t *testing.T, r *reader) {
	raw, err := os.ReadFile("../../internal/ratelimit/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name string
		In   map[string]json.Number
		Out  struct {
			Available  float64 `json:"tokens_available"`
			Allowed    bool
			Remaining  float64 `json:"tokens_remaining"`
			Consumed   float64 `json:"tokens_consumed"`
			Deficit    float64
			Wait       float64 `json:"wait_seconds"`
			CanSatisfy bool    `json:"can_satisfy"`
		}
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	verdict := map[bool]string{true: "許可", false: "拒否"}
	for _, v := range vectors {
		query := make(url.Values)
		for name, number := range v.In {
			query.Set(name, number.String())
		}
		r.opens("?" + query.Encode())
		got := js[[]string](r.player, `[...document.querySelectorAll(".numbers dd")].map((e) => e.innerText.replace("個", ""))`)
		want := []string{shownNumber(v.Out.Available), shownNumber(v.Out.Consumed), shownNumber(v.Out.Remaining), shownNumber(v.Out.Deficit)}
		if len(got) != 5 || !slices.Equal(got[:4], want) || r.text(".word") != verdict[v.Out.Allowed] {
			t.Errorf("%s: %s %v, want %s %v", v.Name, r.text(".word"), got, verdict[v.Out.Allowed], want)
			continue
		}
		if v.Out.Wait == 0 || v.Out.Wait == math.MaxFloat64 {
			continue
		}
		query.Set("elapsed", strings.TrimSuffix(got[4], "秒"))
		query.Set("tokens", got[2])
		r.opens("?" + query.Encode())
		if r.text(".word") != "許可" {
			t.Errorf("%s: after the shown wait of %s still refused", v.Name, got[4])
		}
	}
}

func testAskWithoutScript(t *testing.T, r *reader) {
	r.withoutScript()
	r.opens("")
	if got := r.text(".chip[aria-current]"); !strings.Contains(got, "このサーバーの設定") {
		t.Errorf("the page begins with %q", got)
	}
	for field, text := range map[string]string{"capacity": "１０", "refill_rate": "2", "tokens": "５", "elapsed": "１．５", "request_count": "9", "times": "０、０"} {
		r.puts(field, text)
	}
	r.enters()
	r.sees("#summary", "1個足りません。0.5秒待てば通ります。")
	address, _ := url.Parse(r.address())
	if got := address.Query(); got.Get("capacity") != "１０" || got.Get("times") != "０、０" {
		t.Errorf("the address is %s", address)
	}
	if js[bool](r.player, `document.querySelector("table").checkVisibility()`) {
		t.Error("the table is open")
	}
	r.clicks(`document.querySelector("summary")`, 1)
	if got := js[string](r.player, `document.querySelector("tbody tr").innerText`); !js[bool](r.player, `document.querySelector("table").checkVisibility()`) || strings.Join(strings.Fields(got), " ") != "1 0 5 ○ 拒否 5 2秒" {
		t.Errorf("the first row is %q", got)
	}
	if n := js[int](r.player, `[...document.querySelectorAll("[data-copy]")].filter((e) => e.checkVisibility()).length`); n != 0 {
		t.Errorf("%d buttons do nothing without script", n)
	}
	r.clicks(`[...document.querySelectorAll(".chip")].find((e) => e.innerText === "補充なし")`, 1)
	r.sees("#summary", "補充がないので、待っても通りません。")
	if n := js[int](r.player, `document.querySelectorAll("svg.graph > title, svg.graph > desc").length`); n != 2 {
		t.Error("the graph has no text")
	}
}

func testMistakesWithoutScript(t *testing.T, r *reader) {
	r.withoutScript()
	r.opens("?capacity=10&refill_rate=ー2&tokens=5&elapsed=NaN&request_count=3&times=2+1")
	for field, want := range map[string]string{"capacity": "", "refill_rate": "0以上の数", "elapsed": "数として読めません", "times": "早い順"} {
		state := js[struct {
			Invalid, Described, Value string
		}](r.player, `((e) => ({
			invalid: e.ariaInvalid, value: e.value,
			described: e.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).innerText).join(" "),
		}))(document.getElementById(%q))`, field)
		if state.Invalid != strconv.FormatBool(want != "") || !strings.Contains(state.Described, want) {
			t.Errorf("%s: %+v, want %q", field, state, want)
		}
	}
	if got := js[string](r.player, `document.getElementById("refill_rate").value`); got != "ー2" {
		t.Errorf("what was typed has become %q", got)
	}
	r.clicks(`document.querySelector("#wrong a")`, 1)
	if got := js[string](r.player, `document.activeElement.id`); got != "refill_rate" {
		t.Errorf("the first mistake leads to %q", got)
	}
}

// questions returns the page's own requests since it was loaded.
func (r *reader) questions() (n int) {
	for _, q := range r.asked() {
		if strings.Contains(q.url, "/token-bucket?") {
			n++
		}
	}
	return n
}

const example = "?capacity=10&refill_rate=2&tokens=5&elapsed=1.5&request_count=3"

func testAnswerWhileTyping(t *testing.T, r *reader) {
	r.opens(example)
	r.runs(`document.querySelector("details").open = true`)
	before, history := r.questions(), js[int](r.player, `history.length`)
	r.puts("request_count", "")
	for _, key := range "８．５" { // in one go
		call(r.player, input.InsertText, input.InsertTextParams{Text: string(key)})
	}
	r.sees("#summary", "0.5個足りません。0.25秒待てば通ります。")
	if n := r.questions() - before; n != 1 {
		t.Errorf("%d requests for one pause, want 1", n)
	}
	state := js[struct {
		Focus, Value, Said, Title string
		Caret, History            int
		Open, Stale               bool
	}](r.player, `({
		focus: document.activeElement.id, value: document.activeElement.value, caret: document.activeElement.selectionEnd, history: history.length,
		said: document.getElementById("said").innerText, title: document.title, open: document.querySelector("details").open,
		stale: document.body.classList.contains("stale"),
	})`)
	if state.Focus != "request_count" || state.Value != "８．５" || state.Caret != 3 || state.History != history || !state.Open || state.Stale ||
		!strings.HasPrefix(state.Title, "拒否") || !strings.Contains(state.Said, "拒否") || !strings.Contains(state.Said, "0.25秒") {
		t.Errorf("after the answer: %+v", state)
	}
	// The address is the link to share.
	link := r.address()
	r.opens("")
	do(r.player, chromedp.Navigate(link))
	r.sees("#summary", "0.25秒待てば通ります。")

	r.puts("times", "0 0 0.4")
	r.sees("#burst", "3回のうち、許可は0回、拒否は3回")
	r.sees("#kin-queue", "この並びでは：0回を許可")
	r.enters()
	r.settles()
	if n := js[int](r.player, `performance.getEntriesByType("navigation").length`); n != 1 {
		t.Errorf("%d navigations", n)
	}
}

func testMistakesWhileTyping(t *testing.T, r *reader) {
	r.opens(example)
	r.puts("tokens", "ー１")
	r.sees("#tokens-wrong", "0以上の数")
	r.sees("#summary", "入力を直すと")
	r.sees("#said", "0以上の数")
	if js[string](r.player, `document.getElementById("tokens").ariaInvalid`) != "true" {
		t.Error("the field is not marked")
	}
	r.puts("tokens", "５")
	r.sees("#summary", "3個を使い、5個が残ります。")
	if got := r.text("#tokens-wrong"); got != "" || js[string](r.player, `document.getElementById("tokens").ariaInvalid`) != "false" {
		t.Errorf("the mistake stays: %q", got)
	}
}

// Nobody is asked before the composition is done.
func testCompose(t *testing.T, r *reader) {
	r.opens(example)
	before := r.questions()
	r.runs(`(document.getElementById("elapsed").focus(), document.activeElement.select())`)
	r.composes("９")
	time.Sleep(600 * time.Millisecond) // the page's own clock: twice its pause
	if n := r.questions() - before; n != 0 {
		t.Errorf("%d requests while composing", n)
	}
	call(r.player, input.InsertText, input.InsertTextParams{Text: "９"})
	r.sees(".sum", "min(10, 5 + 9 × 2)")
}

func testCopy(t *testing.T, r *reader) {
	r.opens(example)
	r.runs(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`)
	r.puts("request_count", "9")
	r.sees("#summary", "0.5秒")
	r.clicks(`document.querySelector('[data-copy="code-json"]')`, 1)
	r.sees(`[data-copy="code-json"]`, "写しました")
	r.sees("#said", "写しました")
	want := "curl -X POST " + r.site + "/api/token-bucket \\\n  -H 'Content-Type: application/json' \\\n" +
		`  -d '{"capacity":10,"refill_rate":2,"tokens":5,"elapsed":1.5,"request_count":9}'`
	if got := js[string](r.player, `window.copied`); got != want {
		t.Errorf("copied\n%s\nwant\n%s", got, want)
	}
	r.sees(`[data-copy="code-json"]`, "写す")
}

func testCalculatorWidths(t *testing.T, r *reader) {
	for _, query := range []string{
		"", "?capacity=2&refill_rate=2&tokens=2&elapsed=0&request_count=1&times=200x0.1",
		"?capacity=1.7976931348623157e308&refill_rate=1.7976931348623157e-300&tokens=1&elapsed=1.7976931348623157e300&request_count=1.234567890123456e307",
		"?capacity=" + strings.Repeat("w", 300) + "&times=x",
	} {
		for _, width := range []int64{320, 390, 768, 1440} {
			do(r.player, chromedp.EmulateViewport(width, 700))
			r.opens(query)
			r.runs(`document.querySelector("details")?.setAttribute("open", "")`)
			if over := js[int](r.player, `(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.documentElement)`); over > 0 {
				t.Errorf("%s is %d px wider than a window of %d", query, over, width)
			}
			small := js[[]string](r.player, `[...document.querySelectorAll("a, button, input, summary")].filter((e) => {
				const {width, height} = e.getBoundingClientRect();
				return e.checkVisibility() && (width < 44 || height < 44);
			}).map((e) => e.outerHTML)`)
			if len(small) > 0 {
				t.Errorf("%s at %d px: targets smaller than 44 px: %q", query, width, small[:1])
			}
		}
	}
}

func testCalculatorKeys(t *testing.T, r *reader) {
	do(r.player, chromedp.EmulateViewport(1280, 900))
	r.opens(example)
	var stops []string
	for range 24 {
		r.key('\t', false)
		stop := js[struct{ Name, Trouble string }](r.player, `((e) => {
			if (e === document.body) return {};
			const {outlineStyle, outlineWidth, outlineColor} = getComputedStyle(e);
			const {x, y, width, height} = e.getBoundingClientRect();
			let trouble = "";
			if (outlineStyle === "none" || parseFloat(outlineWidth) < 2 || outlineColor.endsWith(", 0)")) trouble = "no ring";
			if (!e.contains(document.elementFromPoint(x + width / 2, y + height / 2))) trouble = "out of sight";
			return {name: e.id || e.innerText, trouble};
		})(document.activeElement)`)
		if stop.Trouble != "" {
			t.Errorf("%s: %s", stop.Name, stop.Trouble)
		}
		if stop.Name != "" && len(stops) < 19 {
			stops = append(stops, stop.Name)
		}
	}
	want := []string{"結果へ", "霧走り", "このサーバーの設定（毎秒2回）", "一気に5回", "0.1秒ごとに20回", "窓の境目", "1.5秒後に3個", "満タン", "補充なし",
		"capacity", "refill_rate", "tokens", "elapsed", "request_count", "times", "計算する", "表で見る", "写す", "写す"}
	if !slices.Equal(stops, want) {
		t.Errorf("Tab goes to %q\nwant %q", stops, want)
	}
}

// The page is asked for again and confirmed; what it needs is not asked for.
func testCalculatorReload(t *testing.T, r *reader) {
	r.opens(example)
	r.settles()
	first := len(r.asked())
	r.opens(example)
	r.settles()
	pages := 0
	for _, q := range r.asked()[first:] {
		switch {
		case strings.HasSuffix(q.url, "/icon.svg"): // a browser takes its time with the first one
		case strings.Contains(q.url, "/token-bucket?"):
			if pages++; q.status != 304 {
				t.Errorf("the page's status the next time is %d, want 304", q.status)
			}
		case q.status != 0:
			t.Errorf("the next time %s is asked for, with status %d", q.url, q.status)
		}
	}
	if pages != 1 {
		t.Errorf("the page was asked for %d times, want once", pages)
	}
}
