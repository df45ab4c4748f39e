package main

import (
	"strings"
	"testing"
)

// What can be taken back: a move, and a game that another has replaced.
var backRows = []browserRow{
	{"a move is taken back", testUndo},
	{"twenty moves are taken back and no more", testUndoAll},
	{"beginning anew asks, and is taken back", testRestart},
	{"until the next accepted move", testRestartLasts},
}

func testUndo(t *testing.T, p *player) {
	p.begins(p.site)
	if js[bool](p, `at("#undo").checkVisibility()`) {
		t.Error("at the opening there is a move to take back")
	}
	opening := p.shown()
	p.says("港へ行く")
	atHarbor := p.shown()
	p.chooses("番屋へ")
	p.undoes()
	p.tellsStatus("一手もどしました。")
	if got := p.shown(); got != atHarbor {
		t.Errorf("after a choice was taken back: %+v\nwant %+v", got, atHarbor)
	}
	p.visits(p.site)
	if got := p.shown(); got != atHarbor {
		t.Errorf("and a reload: %+v\nwant %+v", got, atHarbor)
	}
	p.undoes()
	if got, want := p.shown(), opening; got.Box != "港へ行く" {
		t.Errorf("a line that was taken back is not in the box: %q", got.Box)
	} else if want.Box = got.Box; got != want {
		t.Errorf("after a line was taken back: %+v\nwant %+v", got, want)
	}
	p.plays(p.enters)
	p.types("書きかけ")
	p.undoes()
	if got := p.shown().Box; got != "書きかけ" {
		t.Errorf("a draft gives way to the line that is taken back: %q", got)
	}
}

func testUndoAll(t *testing.T, p *player) {
	p.begins(p.site)
	for range 11 {
		p.chooses("港へ")
		p.chooses("バス停へ")
	}
	for range 20 {
		p.undoes()
	}
	if got := p.shown().Place; got != "バス停" || js[bool](p, `at("#undo").checkVisibility()`) {
		t.Errorf("after all is taken back the place is %q, or still one may", got)
	}
	p.chooses("港へ")
}

func testRestart(t *testing.T, p *player) {
	foreign := `{kiribashiri2: "a", "kiribashiri.previous.2": "b", "kiribashiri.slot.10": "c", other: "d"}`
	p.visits(p.site)
	p.runs(`Object.assign(localStorage, %s)`, foreign)
	p.begins(p.site)
	p.chooses("港へ")
	p.says("船長に霧の話を聞く")
	p.keepsInSlot("")
	p.escapes()
	p.types("書きかけ")
	before := p.shown()
	slot := js[string](p, `localStorage["kiribashiri.slot.1"]`)
	for _, answer := range []string{"no", "yes"} {
		p.clicks(`at("#menu-open")`, 1)
		p.clicks(`at("#menu [data-restart]")`, 1)
		p.asks("はじめからやり直しますか？", "いまの物語（2手目まで）は終わりになります。次の一手までは、元に戻せます。", answer)
		p.over()
		if got := p.shown(); answer == "no" && got != before {
			t.Errorf("after no: %+v\nwant %+v", got, before)
		}
	}
	p.showsOpening()
	p.visits(p.site)
	p.showsOpening()
	if !js[bool](p, `localStorage["kiribashiri.slot.1"] === %q && Object.entries(%s).every(([key, value]) => localStorage[key] === value)`, slot, foreign) {
		t.Error("a slot or somebody else's key has changed")
	}
	for _, look := range []func(){func() { p.clicks(button("元に戻す"), 1) }, func() { p.visits(p.site) }} {
		look()
		if got := p.shown(); got != before || js[bool](p, `at("#aside").checkVisibility() || localStorage["kiribashiri.previous"] !== undefined`) {
			t.Errorf("taken back: %+v\nwant %+v and nothing set aside", got, before)
		}
	}
	p.undoes()
	p.chooses("番屋へ")
}

// showsOpening claims a new game, and one that it replaced.
func (p *player) showsOpening() {
	p.t.Helper()
	got := p.shown()
	if got.Place != "バス停" || js[int](p, `at("#turns").childElementCount`) != 1 || !js[bool](p, `at("#aside").checkVisibility() && !at("#undo").checkVisibility()`) {
		p.t.Errorf("no new game with a way back: %+v", got)
	}
}

func testRestartLasts(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	p.beginsAnew()
	p.site.refuses()
	p.clicks(button("食堂へ"), 1)
	p.told("（少し待ってからもう一度）")
	if !js[bool](p, `at("#aside").checkVisibility()`) {
		t.Error("a refused move ends the way back")
	}
	p.site.opens()
	p.chooses("食堂へ")
	if js[bool](p, `at("#aside").checkVisibility() || localStorage["kiribashiri.previous"] !== undefined`) {
		t.Error("an accepted move does not end the way back")
	}

	// A new game that does not come about takes nothing away.
	before := p.shown()
	p.site.cuts("/api/new")
	p.clicks(`at("#menu-open")`, 1)
	p.clicks(`at("#menu [data-restart]")`, 1)
	p.clicks(`at("#ask [value=yes]")`, 1)
	p.told("つながりませんでした。もう一度送れます。")
	if got := p.shown(); got != before {
		t.Errorf("beside the notice: %+v\nwant %+v", got, before)
	}
}

// beginsAnew replaces the game by a new one.
func (p *player) beginsAnew() {
	p.t.Helper()
	p.clicks(`at("#menu-open")`, 1)
	p.clicks(`at("#menu [data-restart]")`, 1)
	p.clicks(`at("#ask [value=yes]")`, 1)
	eventually(p.t, "a new game is there", func() bool { return js[bool](p, `saved().turns.length === 1 && at("#turns").childElementCount === 1`) })
	p.over()
}

// undoes claims that the last turn goes.
func (p *player) undoes() {
	p.t.Helper()
	before := js[int](p, `at("#turns").childElementCount`)
	p.clicks(`at("#undo")`, 1)
	if n := before - js[int](p, `at("#turns").childElementCount`); n != 1 {
		p.t.Fatalf("%d turns less, want 1", n)
	}
}

// tellsStatus claims the line that screen readers hear of what has happened.
func (p *player) tellsStatus(want string) {
	p.t.Helper()
	if got := strings.TrimSpace(js[string](p, `at("#status").textContent`)); got != want {
		p.t.Errorf("the status says %q, want %q", got, want)
	}
}
