package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// All of it by keyboard, and where the focus is.
var keyboardRows = []browserRow{
	{"the keyboard reaches everything, visibly", testKeyboard},
	{"the menu and all behind it by keyboard", testMenuByKeyboard},
	{"the focus after a move", testFocus},
	{"a selection is left alone", testSelection},
}

// tabs presses Tab and returns where that leads: an id or what is written there. It
// claims that the stop is seen.
func (p *player) tabs() string {
	p.t.Helper()
	p.key('\t', false)
	stop := js[struct{ Name, Trouble string }](p, `((e) => {
		if (e === document.body) return {};
		const ringed = e.matches("dialog") || [e, e.closest("label")].some((e) => {
			const {outlineStyle, outlineWidth, outlineColor} = e ? getComputedStyle(e) : {};
			return e && outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !outlineColor.endsWith(", 0)");
		});
		const {x, y, width, height} = e.getBoundingClientRect();
		const seen = e.contains(document.elementFromPoint(x + width / 2, y + height / 2));
		return {name: e.id || e.innerText || e.value, trouble: !ringed ? "no ring" : !seen ? "out of sight" : ""};
	})(document.activeElement)`)
	if stop.Trouble != "" {
		p.t.Errorf("%s: %s", stop.Name, stop.Trouble)
	}
	return stop.Name
}

func testKeyboard(t *testing.T, p *player) {
	p.isLow() // not all of it is in sight at once
	p.visits(p.site)
	p.tabs()
	p.plays(p.enters)
	p.says("港へ行く")
	var stops []string
	for range 20 {
		if stop := p.tabs(); stop != "" && !slices.Contains(stops, stop) {
			stops = append(stops, stop)
		}
	}
	want := []string{"send", "menu-open", "skip", "船長に話しかける", "霧の話を聞く", "海を見る", "番屋へ", "防波堤へ", "浜へ", "神社へ", "バス停へ", "undo", "box"}
	if !slices.Equal(stops, want) {
		t.Errorf("Tab goes from the box to %q, want %q", stops, want)
	}
	p.runs(`at("#skip").focus()`)
	p.enters()
	if !js[bool](p, `document.activeElement === at("#box") && location.hash === ""`) {
		t.Error("the skip link does not lead to the box")
	}
	p.runs(`at("#places button").focus()`)
	p.plays(p.enters)
}

func testMenuByKeyboard(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	before := p.shown()
	back := func(what string) {
		t.Helper()
		p.settles()
		if got := js[string](p, `at("dialog[open]")?.id ?? document.activeElement.id`); got != "menu-open" {
			t.Errorf("after %s one is at %q, want the menu's button", what, got)
		}
	}
	opens := func() {
		t.Helper()
		p.runs(`at("#menu-open").focus()`)
		p.enters()
		eventually(t, "the menu is open", func() bool { return js[bool](p, `at("#menu").open`) })
	}
	opens()
	p.escapes()
	back("the menu")
	for _, row := range []struct {
		entry, dialog string
		stops         []string
	}{
		{"記録", "records", []string{"name", "残す", "export", "import", "copy", "text", "閉じる"}},
		{"文字と色", "reader", []string{"normal", "gothic", "auto", "閉じる"}},
		{"遊びかた", "help", []string{"閉じる"}},
		{"はじめから", "ask", []string{"やめておく", "ask-yes"}},
	} {
		opens()
		for range 6 {
			if js[string](p, `document.activeElement.innerText`) == row.entry {
				break
			}
			p.tabs()
		}
		p.enters()
		eventually(t, row.dialog+" is open", func() bool {
			return js[string](p, `[...document.querySelectorAll("dialog[open]")].map((d) => d.id).join()`) == row.dialog
		})
		seen := []string{js[string](p, `document.activeElement.innerText`)}
		for range 12 {
			if stop := p.tabs(); !slices.Contains(seen, stop) {
				seen = append(seen, stop)
			}
			if !js[bool](p, `document.activeElement === document.body || at("dialog[open]").contains(document.activeElement)`) {
				t.Errorf("Tab leaves %s", row.dialog)
			}
		}
		for _, stop := range row.stops {
			if !slices.Contains(seen, stop) {
				t.Errorf("Tab goes through %q, want also %s", seen, stop)
			}
		}
		p.escapes()
		back(row.entry)
	}
	if got := p.shown(); got != before {
		t.Errorf("looking changes something: %+v\nwant %+v", got, before)
	}
	// By its own button, too.
	p.opensDialog("help")
	p.runs(`at("#help form button").focus()`)
	p.enters()
	back("the help")
}

func (p *player) escapes() {
	p.t.Helper()
	p.key('\x1b', false)
	p.settles()
}

func testFocus(t *testing.T, p *player) {
	is := func(what, want string) {
		t.Helper()
		if got := js[string](p, `document.activeElement.id`); got != want {
			t.Errorf("%s: the focus is on %q, want %q", what, got, want)
		}
	}
	p.begins(p.site)
	is("after the opening", "box")
	p.says("港へ行く")
	is("after a line", "box")
	p.chooses("番屋へ")
	is("after a choice", "box")
	p.undoes()
	is("after a move taken back", "box")
	p.types("番屋へ行く")
	let, _ := p.site.keeps("/api/turn")
	p.clicks(`at("#send")`, 1)
	is("on send", "box")
	let()
	p.over()
	p.site.refuses()
	p.types("港へ行く")
	p.enters()
	p.told("（少し待ってからもう一度）")
	is("after a refusal", "box")
	p.site.answers(200, `{"text":"終わった。","state":{},"end":true}`)
	p.plays(p.enters)
	is("after the end", "again")
	p.visits(p.site)
	if !js[bool](p, `at("#again").checkVisibility() && !at("#box").checkVisibility()`) {
		t.Error("after a reload the end is none")
	}
}

func testSelection(t *testing.T, p *player) {
	p.begins(p.site)
	let, _ := p.site.keeps("/api/turn")
	p.clicks(button("港へ"), 1)
	// The reader marks something while the reply is on its way.
	line := js[[]float64](p, `(({x, y}) => [x, y])(at(".turn p").getBoundingClientRect())`)
	do(p, chromedp.MouseEvent("mousePressed", line[0]+5, line[1]+15, chromedp.ButtonLeft, chromedp.ClickCount(2)))
	do(p, chromedp.MouseEvent("mouseReleased", line[0]+5, line[1]+15, chromedp.ButtonLeft, chromedp.ClickCount(2)))
	marked := js[string](p, `getSelection().toString()`)
	let()
	p.over()
	if got := js[string](p, `getSelection().toString()`); got != marked || strings.TrimSpace(marked) == "" {
		t.Errorf("%q was marked, and then %q", marked, got)
	}
	if js[bool](p, `document.activeElement === at("#box")`) {
		t.Error("the focus goes to the box")
	}
}
