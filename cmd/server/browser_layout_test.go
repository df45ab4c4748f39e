package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page in every state that it has, in windows of all sizes.
var layoutRows = []browserRow{
	{"everything fits, is uncovered, and large enough for a finger", testStates},
	{"readers may enlarge the page", testZoom},
}

// faults looks for what is wrong with the layout; words that reach beyond the
// window, controls that are too small or covered, text that is cut off.
const faults = `(() => {
	const found = [];
	const root = document.documentElement, dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
	const name = (e) => (e.id || e.innerText || e.value || e.className).slice(0, 20);
	for (const e of [root, ...document.querySelectorAll("dialog[open]")])
		if (e.scrollWidth > e.clientWidth) found.push(name(e) + " is wider than its window: " + e.scrollWidth);
	for (const e of (dialog ?? document).querySelectorAll("button, input, a")) {
		if (!e.checkVisibility() || e.matches(".skip")) continue;
		const target = e.closest("label") ?? e;
		target.scrollIntoView({block: "center", behavior: "instant"});
		const {x, y, width, height} = target.getBoundingClientRect();
		if (width < 44 || height < 44) found.push(name(e) + " is too small: " + width + " by " + height);
		if (!target.contains(document.elementFromPoint(x + width / 2, y + height / 2))) found.push(name(e) + " is covered");
	}
	for (const e of document.querySelectorAll("body *")) {
		if (!e.checkVisibility() || e.closest(".unseen, svg") || e.matches("dialog, input") || getComputedStyle(e).overflowX === "visible") continue;
		if (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) found.push(name(e) + " is cut off");
	}
	return found;
})()`

// spaced is what a reader may do to the spacing of all text, by WCAG 1.4.12.
const spaced = `(() => {
	const sheet = new CSSStyleSheet();
	sheet.replaceSync("* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-block-end: 2em !important }");
	document.adoptedStyleSheets = [sheet];
})()`

func testStates(t *testing.T, p *player) {
	wide := strings.Repeat("w", 300)
	menu := func(entry string) func() {
		return func() {
			p.clicks(`at("#menu-open")`, 1)
			p.clicks(`at("#menu [`+entry+`]")`, 1)
		}
	}
	for _, state := range []struct {
		name  string
		comes func()
	}{
		{"the first page", func() { p.visits(p.site) }},
		{"a save that cannot be read", func() { p.runs(`localStorage.kiribashiri = "?"`); p.visits(p.site); p.runs(`localStorage.clear()`) }},
		{"the opening", func() { p.begins(p.site) }},
		{"a game", func() { p.says("港へ行く"); p.says(wide[:200]) }},
		{"a notice", func() { p.site.answers(422, `{"error":"`+wide+`"}`); p.types("港へ行く"); p.enters(); p.over() }},
		{"words without an end", func() {
			p.site.answers(200, `{"text":"`+wide+`","state":{},"place":"灯台の丘","choices":[{"label":"`+wide+`","kind":"say"}],"places":[{"label":"`+wide+`","kind":"move"}]}`)
			p.plays(p.enters)
		}},
		{"the menu", func() { p.clicks(`at("#menu-open")`, 1) }},
		{"the records", func() { p.escapes(); p.keepsInSlot(wide[:40]) }},
		{"the question", func() { p.clicks(`at("#slots button")`, 1) }},
		{"the reader's wishes", func() { p.escapes(); p.escapes(); menu("data-open=reader")() }},
		{"the help", func() { p.escapes(); menu("data-open=help")() }},
		{"a full storage", func() { p.escapes(); p.fills(); p.says("もう一度"); p.fills(); p.says("もう一度") }},
		{"a new game", func() { p.makesRoom(); p.beginsAnew() }},
		{"two tabs", func() {
			p.saves(`record.revision++`)
			p.runs(`dispatchEvent(new StorageEvent("storage", {key: "kiribashiri"}))`)
		}},
		{"the end", func() {
			p.clicks(`at("#torn-this")`, 1)
			p.site.answers(200, `{"text":"終わり","state":{},"end":true}`)
			p.says("終わる")
		}},
	} {
		do(p, chromedp.EmulateViewport(1280, 900))
		state.comes()
		p.settles()
		// 640 and 320 are what a window of 1280 is when enlarged two and four times.
		for _, window := range [][2]int64{{1440, 900}, {640, 450}, {320, 640}, {320, 225}} {
			do(p, chromedp.EmulateViewport(window[0], window[1]))
			for _, fault := range js[[]string](p, faults) {
				t.Errorf("%s, in a window of %v: %s", state.name, window, fault)
			}
		}
		p.runs(spaced)
		for _, fault := range js[[]string](p, faults) {
			t.Errorf("%s, in a window of 320 and with more space in all text: %s", state.name, fault)
		}
		p.runs(`document.adoptedStyleSheets = []`)
	}
}

func testZoom(t *testing.T, p *player) {
	p.visits(p.site)
	content := js[string](p, `at("meta[name=viewport]").content`)
	if strings.Contains(content, "scale=1,") && strings.Contains(content, "maximum") || strings.Contains(content, "user-scalable") {
		t.Errorf("the viewport is %q", content)
	}
}
