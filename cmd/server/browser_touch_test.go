package main

import (
	"testing"

	"github.com/chromedp/cdproto/input"
)

// On a phone.
var touchRows = []browserRow{
	{"pressing with a finger brings up no keyboard", testTap},
	{"the box stays above a keyboard that lies over the page", testKeyboardOverPage},
	{"no field makes the phone enlarge the page", testFieldSizes},
}

// taps touches the middle of what find finds.
func (p *player) taps(find string) {
	p.t.Helper()
	var middle []float64
	eventually(p.t, "to be tapped: "+find, func() bool {
		middle = js[[]float64](p, `((e) => {
			e?.scrollIntoView({block: "center"});
			const {x, y, width, height} = e?.getBoundingClientRect() ?? {};
			return e?.contains(document.elementFromPoint(x + width / 2, y + height / 2)) ? [x + width / 2, y + height / 2] : null;
		})(%s)`, find)
		return middle != nil
	})
	call(p, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchStart", TouchPoints: []*input.TouchPoint{{X: middle[0], Y: middle[1]}}})
	call(p, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}})
	p.settles()
}

func testTap(t *testing.T, p *player) {
	p.isPhone()
	p.visits(p.site)
	if !js[bool](p, `matchMedia("(pointer: coarse)").matches`) {
		t.Fatal("this is no touch screen")
	}
	inBox := func(what string, want bool) {
		t.Helper()
		if got := js[bool](p, `document.activeElement === at("#box")`); got != want {
			t.Errorf("%s: in the box %v, want %v", what, got, want)
		}
	}
	p.plays(func() { p.taps(button("はじめる")) })
	inBox("after the opening", false)
	p.plays(func() { p.taps(button("港へ")) })
	inBox("after a choice", false)
	p.taps(`at("#undo")`)
	inBox("after a move taken back", false)
	p.visits(p.site)
	inBox("after a reload", false)
	p.taps(`at("#box")`)
	inBox("after a tap on it", true)
	p.types("港へ行く")
	p.plays(func() { p.taps(`at("#send")`) })
	inBox("after a line, whose keyboard stays", true)
}

// No headless browser has such a keyboard; what the page is told of it is ours.
func testKeyboardOverPage(t *testing.T, p *player) {
	p.isPhone()
	p.injects(`
		const view = Object.assign(new EventTarget(), {height: 844, offsetTop: 0, scale: 1});
		Object.defineProperty(window, "visualViewport", {value: view});
		const looks = (change) => {
			Object.assign(view, change);
			view.dispatchEvent(new Event("resize"));
		};`)
	p.begins(p.site)
	p.runs(`at("#box").focus()`)
	for _, row := range []struct {
		name, view string
		bottom     float64
	}{
		{"no keyboard", `{}`, 844},
		{"a keyboard", `{height: 400}`, 400},
		{"and the page moved up under it", `{offsetTop: 100}`, 500},
		{"a page enlarged by fingers", `{height: 400, offsetTop: 0, scale: 2}`, 844},
		{"the keyboard is gone", `{height: 844, scale: 1}`, 844},
	} {
		p.runs(`looks(%s)`, row.view)
		p.settles()
		if got := js[float64](p, `at("#dock").getBoundingClientRect().bottom`); got < row.bottom-1 || got > row.bottom {
			t.Errorf("%s: what the box stands on ends at %v, want %v", row.name, got, row.bottom)
		}
		if !js[bool](p, `[at("#box"), at("#send")].every((e) => {
			const {x, y, width, height} = e.getBoundingClientRect();
			return e.contains(document.elementFromPoint(x + width / 2, y + height / 2));
		})`) {
			t.Errorf("%s: the box is covered", row.name)
		}
	}
}

func testFieldSizes(t *testing.T, p *player) {
	p.isPhone()
	p.begins(p.site)
	for _, size := range []string{"small", "normal", "large", "larger"} {
		p.runs(`shelf.keepReader({size: %q})`, size)
		if got := js[[]string](p, `[...document.querySelectorAll("input, select, textarea")].map((e) => [e.id, parseFloat(getComputedStyle(e).fontSize)])
			.filter(([, px]) => !(px >= 16)).map(String)`); len(got) > 0 {
			t.Errorf("in size %s: %v", size, got)
		}
	}
}
