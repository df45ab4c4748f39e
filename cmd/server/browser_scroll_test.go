package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Where the reader is led, and where the reader is left.
var scrollRows = []browserRow{
	{"who reads above stays there to the pixel", testReadingAbove},
	{"a long reply is read from its first line", testLongReply},
	{"a short reply moves forward and never past its start", testShortReply},
	{"reduced motion is obeyed", testMotion},
	{"coming back one is at the last turn", testComesBackToLastTurn},
}

var threeScreens = `{"text":"` + strings.Repeat(`霧が深い。\n`, 80) + `","state":{},"places":[{"label":"奥へ","kind":"move","input":"a"}]}`

// isLow makes a window in which few moves fill the page.
func (p *player) isLow() {
	p.t.Helper()
	do(p, chromedp.EmulateViewport(900, 500))
}

func (p *player) scrollsTo(y string) {
	p.t.Helper()
	p.runs(`scrollTo({top: %s, behavior: "instant"})`, y)
	p.settles()
}

func (p *player) scrollY() float64 {
	p.t.Helper()
	return js[float64](p, `scrollY`)
}

// top is how far below the bar the last turn starts.
func (p *player) top() float64 {
	p.t.Helper()
	return js[float64](p, `at(".turn:last-child").getBoundingClientRect().top - at("#bar").getBoundingClientRect().bottom`)
}

func testReadingAbove(t *testing.T, p *player) {
	p.isLow()
	p.begins(p.site)
	for range 2 {
		p.says("港へ行く")
		p.says("バス停へ行く")
	}
	stays := func(act func(), offers string) {
		t.Helper()
		p.types("食堂へ行く")
		p.scrollsTo("40.5")
		before := p.scrollY()
		act()
		p.settles()
		if got := p.scrollY(); got != before || before == 0 {
			t.Errorf("the page is scrolled from %v to %v", before, got)
		}
		if got := js[string](p, `at("#jump").checkVisibility() ? at("#jump").innerText : ""`); got != offers {
			t.Errorf("the way there is %q, want %q", got, offers)
		}
	}
	stays(func() { p.plays(p.enters) }, "新しい返事 ↓")
	p.clicks(`at("#jump")`, 1)
	p.settles()
	if top, end := p.top(), js[bool](p, `scrollY + innerHeight >= document.documentElement.scrollHeight - 1`); top < -1.5 || top > 1 && !end || js[bool](p, `at("#jump").checkVisibility()`) {
		t.Errorf("the jump leads to %v px below the bar, or is still offered", top)
	}
	p.site.refuses()
	stays(func() { p.enters(); p.told("（少し待ってからもう一度）") }, "お知らせ ↓")
	p.scrollsTo("1e6")
	eventually(t, "who goes there alone needs no jump", func() bool { return !js[bool](p, `at("#jump").checkVisibility()`) })
	if !js[bool](p, `at("#notice").getBoundingClientRect().bottom <= at("#dock").getBoundingClientRect().top`) {
		t.Error("the notice is covered")
	}
}

func testLongReply(t *testing.T, p *player) {
	for _, size := range [][2]int64{{900, 500}, {390, 844}} {
		do(p, chromedp.EmulateViewport(size[0], size[1]))
		p.begins(p.site)
		p.site.answers(200, threeScreens)
		p.says("霧に入る")
		if top := p.top(); math.Abs(top) > 1.5 {
			t.Errorf("in a window of %v: the turn starts %v px below the bar", size, top)
		}
		if !js[bool](p, `at(".turn:last-child").contains(document.elementFromPoint(innerWidth / 2, at(".turn:last-child p").getBoundingClientRect().top + 5))`) {
			t.Error("its first line is covered")
		}
		p.site.opens()
		p.runs(`localStorage.clear()`)
	}
}

func testShortReply(t *testing.T, p *player) {
	p.isLow()
	p.begins(p.site)
	for _, line := range []string{"港へ行く", "番屋へ行く", "あたりを見る", "港へ行く"} {
		p.scrollsTo("1e6")
		before := p.scrollY()
		p.says(line)
		p.settles()
		if got := p.scrollY(); got < before || p.top() < -1.5 {
			t.Errorf("%s: the page is scrolled from %v to %v, and the turn starts %v px below the bar", line, before, got, p.top())
		}
		if !js[bool](p, `at(".turn:last-child h2").getBoundingClientRect().bottom < at("#dock").getBoundingClientRect().top`) {
			t.Errorf("%s: the start of the reply is out of view", line)
		}
	}
}

func testMotion(t *testing.T, p *player) {
	p.isLow()
	for _, row := range []struct {
		wish   string
		smooth bool
	}{{"reduce", false}, {"no-preference", true}} {
		call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: row.wish}}})
		p.begins(p.site)
		p.site.answers(200, threeScreens)
		p.types("霧に入る")
		p.settles()
		p.runs(`
			window.passed = new Set();
			window.moving = 0;
			document.addEventListener("scroll", () => {
				passed.add(scrollY);
				moving = Math.max(moving, document.getAnimations().length);
			});`)
		p.plays(p.enters)
		eventually(t, "the turn is under the bar", func() bool { return math.Abs(p.top()) <= 1.5 })
		positions, moving := js[int](p, `passed.size`), js[int](p, `moving`)
		if smooth := positions > 1; smooth != row.smooth || (moving > 0) != row.smooth {
			t.Errorf("%s: %d positions are passed and %d things move", row.wish, positions, moving)
		}
		p.site.opens()
		p.runs(`localStorage.clear()`)
	}
}

func testComesBackToLastTurn(t *testing.T, p *player) {
	p.isLow()
	p.begins(p.site)
	p.site.answers(200, threeScreens)
	for n := range 3 {
		p.scrollsTo("1e6")
		p.says(fmt.Sprintf("霧に入る%d", n))
	}
	p.visits(p.site)
	p.settles()
	if top := p.top(); math.Abs(top) > 1.5 {
		t.Errorf("the last turn starts %v px below the bar", top)
	}
}
