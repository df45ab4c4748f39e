package main

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// One move at a time: what sends one, and what becomes of the page meanwhile.
var sendingRows = []browserRow{
	{"what sends, and how often", testSending},
	{"with fingers, a composition keeps no Enter back", testSendingByTouch},
	{"what is written while a move is under way stays", testNextDraft},
	{"while a move is under way", testUnderWay},
	{"no answer for ten seconds", testNoAnswer},
	{"an old reply does not reach another game", testOldReply},
}

// While keys and mouse are at work, no reply comes.
func testSending(t *testing.T, p *player) {
	const text, processed = "港へ行く", 229 // the code of a key that an input method has dealt with
	p.visits(p.site)
	let, _ := p.site.keeps("/api/new")
	p.runs(`at("#begin").focus()`)
	p.key('\r', false)
	p.key('\r', true)
	p.clicks(`at("#begin")`, 2)
	let()
	p.told("")
	if n := p.posts(); n != 1 {
		t.Errorf("Enter held on the first button, and two clicks: %d games are begun, want 1", n)
	}
	for _, row := range []struct {
		name  string
		sends int
		does  func(let func())
		draft string
	}{
		{"Chromium: Enter ends a composition, then comes the text", 0, func(func()) { p.composes(text); p.key(processed, false); p.types(text) }, text},
		{"Safari: the text comes first", 0, func(func()) { p.composes(text); p.types(text); p.settles(); p.key(processed, false) }, text},
		{"a plain Enter in a composition", 0, func(func()) { p.composes(text); p.key('\r', false); p.types(text) }, text},
		{"a click on send in a composition", 1, func(func()) { p.composes(text); p.clicks(`at("#send")`, 1) }, ""},
		{"a double click on send", 1, func(func()) { p.types(text); p.clicks(`at("#send")`, 2) }, ""},
		{"a double click on a place", 1, func(func()) { p.clicks(button("バス停へ"), 2) }, ""},
		{"a held Enter, and a new draft meanwhile", 1, func(let func()) {
			p.types(text)
			p.key('\r', false)
			p.key('\r', true)
			p.clears()
			p.types("次")
			let()
			p.told("")
			p.key('\r', true)
		}, "次"},
		{"Enter held on a place, and still after the reply", 1, func(let func()) {
			p.clears()
			p.runs(`at("#places button").focus()`)
			p.key('\r', false)
			p.key('\r', true)
			let()
			p.told("")
			p.key('\r', true)
			p.runs(`at("#places button").focus()`)
			p.key('\r', true)
		}, ""},
		{"Enter held on the move that is taken back", 0, func(func()) {
			turns := js[int](p, `at("#turns").childElementCount`)
			p.runs(`at("#undo").focus()`)
			p.key('\r', true)
			if n := turns - js[int](p, `at("#turns").childElementCount`); n != 0 {
				t.Errorf("Enter held takes %d turns back", n)
			}
		}, ""},
	} {
		before := p.posts()
		let, _ := p.site.keeps("/api/turn")
		row.does(let)
		p.settles()
		let()
		p.told("")
		if n := p.posts() - before; n != row.sends || p.shown().Box != row.draft {
			t.Errorf("%s: %d moves are sent and the box holds %q, want %d and %q", row.name, n, p.shown().Box, row.sends, row.draft)
		}
		if row.draft != "" {
			p.plays(p.enters)
		}
	}
}

// A phone's keyboard keeps a composition open while one types.
func testSendingByTouch(t *testing.T, p *player) {
	p.isPhone()
	p.begins(p.site)
	p.runs(`at("#box").focus()`)
	p.composes("港へ行く")
	p.plays(p.enters)
}

func testNextDraft(t *testing.T, p *player) {
	p.begins(p.site)
	for _, row := range []struct {
		name  string
		fails bool
		turns int
	}{{"it fails", true, 0}, {"it comes about", false, 1}} {
		let, cut := p.site.keeps("/api/turn")
		before := js[int](p, `at("#turns").childElementCount`)
		p.clears()
		p.types("港へ行く")
		p.enters()
		p.clears()
		p.types("船長に話")
		if row.fails {
			cut()
		} else {
			let()
		}
		p.over()
		if n := js[int](p, `at("#turns").childElementCount`) - before; n != row.turns || p.shown().Box != "船長に話" {
			t.Errorf("%s: %d turns more, and the box holds %q", row.name, n, p.shown().Box)
		}
	}
}

func testUnderWay(t *testing.T, p *player) {
	p.stopsClock()
	p.begins(p.site)
	p.chooses("港へ")
	pressed := button("番屋へ")
	controls := func() string {
		return js[string](p, `JSON.stringify({
			held: [...document.querySelectorAll("#send, #undo, #offers .offer")].map((b) => b.ariaDisabled),
			disabled: document.querySelectorAll(":disabled").length,
			here: document.activeElement.innerText.trim(),
			sent: [...document.querySelectorAll(".sent")].map((b) => b.innerText),
			says: at("#send").innerText,
			status: at("#status").innerText,
		})`)
	}
	all := func(what string) string {
		return js[string](p, `JSON.stringify(Array(document.querySelectorAll("#send, #undo, #offers .offer").length).fill(%q))`, what)
	}
	let, _ := p.site.keeps("/api/turn")
	before := p.posts()
	p.runs(`%s.focus()`, pressed)
	p.enters()
	p.clicks(`at("#undo")`, 1)
	p.clicks(button("バス停へ"), 1)
	p.runs(`%s.focus()`, pressed)
	p.settles()
	if got, want := controls(), `{"held":`+all("true")+`,"disabled":0,"here":"番屋へ","sent":["番屋へ"],"says":"送る","status":""}`; got != want {
		t.Errorf("at once: %s\nwant %s", got, want)
	}
	p.passes(400)
	if got, want := controls(), `{"held":`+all("true")+`,"disabled":0,"here":"番屋へ","sent":["番屋へ"],"says":"送信中…","status":"送信中…"}`; got != want {
		t.Errorf("after 400 ms: %s\nwant %s", got, want)
	}
	let()
	p.over()
	if got, want := controls(), `{"held":`+all("false")+`,"disabled":0,"here":"","sent":[],"says":"送る","status":""}`; got != want {
		t.Errorf("afterwards: %s\nwant %s", got, want)
	}
	if n := p.posts() - before; n != 1 {
		t.Errorf("%d moves are sent, want 1", n)
	}
}

func testNoAnswer(t *testing.T, p *player) {
	p.stopsClock()
	p.begins(p.site)
	p.types("港へ行く")
	before := p.shown()
	p.site.keeps("/api/turn")
	p.enters()
	p.passes(9_999)
	if !js[bool](p, `document.body.dataset.busy === "slow"`) {
		t.Error("the move is given up too soon")
	}
	p.passes(1)
	p.told("返事が届きませんでした。もう一度送れます。")
	if got := p.shown(); got != before {
		t.Errorf("beside the notice: %+v\nwant %+v", got, before)
	}
	p.site.opens()
	p.plays(p.enters)
	p.told("")
}

// The move is given up, but its reply is already on the way.
func testOldReply(t *testing.T, p *player) {
	p.injects(`AbortController.prototype.abort = () => {}`)
	p.begins(p.site)
	p.keepsInSlot("")
	p.escapes()
	for _, row := range []struct {
		name   string
		leaves func()
	}{{"a new one", p.beginsAnew}, {"a record", p.opensSlot}} {
		let, _ := p.site.keeps("/api/turn")
		p.clicks(`at("#places button")`, 1)
		row.leaves()
		before := p.shown()
		let()
		eventually(t, "the old reply has come", func() bool { return p.answered() == p.posts() })
		p.settles()
		if got := p.shown(); got != before || js[bool](p, `"busy" in document.body.dataset`) {
			t.Errorf("%s: %+v\nwant %+v", row.name, got, before)
		}
		p.plays(func() { p.clicks(`at("#places button")`, 1) })
	}
}

// isPhone makes the tab one that is touched.
func (p *player) isPhone() {
	p.t.Helper()
	do(p, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
}
