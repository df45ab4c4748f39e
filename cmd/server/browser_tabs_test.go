package main

import (
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// More than one tab, and tabs that come back.
var tabRows = []browserRow{
	{"two tabs, and the reader goes on in this one", testKeepsThisTab},
	{"two tabs, and the reader takes the other's game", testTakesOtherTab},
	{"another tab's game is seen before it is written over", testLateNews},
	{"a first page follows the tab where the game begins", testFirstPageFollows},
	{"left while a move is under way, and come back to", testComesBack},
	{"come back to after another tab has gone on", testComesBackLater},
}

const torn = "別のタブで、この物語が進みました。どちらを続けますか？"

// isTorn claims that the page asks which game goes on, and until then makes no move
// and writes nothing.
func (p *player) isTorn() {
	p.t.Helper()
	eventually(p.t, "the page asks which game goes on", func() bool { return js[bool](p, `at("#torn").checkVisibility()`) })
	p.tellsStatus(torn)
	before, posts := p.shown(), p.posts()
	saved := js[string](p, `localStorage.kiribashiri + localStorage["kiribashiri.previous"]`)
	p.types("書きかけ")
	for _, act := range []func(){
		p.enters,
		func() { p.clicks(`at("#places button")`, 1) },
		func() { p.clicks(`at("#undo")`, 1) },
		func() {
			p.clicks(`at("#menu-open")`, 1)
			p.clicks(`at("#menu [data-restart]")`, 1)
		},
	} {
		p.runs(`at("#status").replaceChildren()`)
		act()
		p.settles()
		p.tellsStatus(torn)
	}
	p.runs(`document.dispatchEvent(new Event("visibilitychange")), dispatchEvent(new Event("pagehide"))`)
	p.clears()
	if got := p.shown(); got != before || p.posts() != posts || js[string](p, `localStorage.kiribashiri + localStorage["kiribashiri.previous"]`) != saved {
		p.t.Errorf("torn, the page does something: %+v\nwant %+v", got, before)
	}
}

// twoTabs begins a game and opens it in a second tab.
func (p *player) twoTabs() (other *player) {
	p.t.Helper()
	p.begins(p.site)
	p.chooses("港へ")
	other = p.another()
	other.visits(p.site)
	return other
}

func testKeepsThisTab(t *testing.T, x *player) {
	y := x.twoTabs()
	x.chooses("番屋へ")
	y.isTorn()
	y.clicks(`at("#torn-this")`, 1)
	if y.shown().Place != "港" || js[bool](y, `at("#torn").checkVisibility()`) {
		t.Error("the tab does not go on with its game")
	}
	y.chooses("防波堤へ")
	x.isTorn()
	x.clicks(`at("#torn-other")`, 1)
	x.takesOver(y)
}

func testTakesOtherTab(t *testing.T, x *player) {
	y := x.twoTabs()
	x.chooses("番屋へ")
	y.isTorn()
	y.clicks(`at("#torn-other")`, 1)
	y.takesOver(x)
	y.chooses("港へ")
	x.isTorn()
}

// takesOver claims that the tab comes to show what the other does.
func (p *player) takesOver(other *player) {
	p.t.Helper()
	eventually(p.t, "the tab has the other's game", func() bool {
		return js[bool](p, `at("#torn")?.hidden === true && at("#dock").hidden === false && at("#place").innerText === %q`, other.shown().Place)
	})
	want := other.shown()
	if got := p.shown(); got.Story != want.Story || got.Offers != want.Offers || got.Save != want.Save {
		p.t.Errorf("the tab shows %+v\nand the other %+v", got, want)
	}
}

// The browser does not tell this tab in time.
func testLateNews(t *testing.T, x *player) {
	y := x.another()
	y.injects(hearsNoTabs)
	x.begins(x.site)
	x.chooses("港へ")
	y.visits(x.site)
	x.chooses("番屋へ")
	want := js[string](x, `localStorage.kiribashiri`)
	y.chooses("防波堤へ")
	if got := js[string](y, `localStorage.kiribashiri`); got != want {
		t.Errorf("the other tab's game is written over by %s", got)
	}
	y.isTorn()
	y.clicks(`at("#torn-other")`, 1)
	y.takesOver(x)
	// A draft, too, is kept nowhere then.
	x.chooses("港へ")
	want = js[string](x, `localStorage.kiribashiri`)
	y.types("書きかけ")
	y.runs(`Object.defineProperty(document, "hidden", {get: () => true}), document.dispatchEvent(new Event("visibilitychange"))`)
	if got := js[string](y, `localStorage.kiribashiri`); got != want {
		t.Errorf("the other tab's game is written over by a draft: %s", got)
	}
}

func testFirstPageFollows(t *testing.T, x *player) {
	y := x.another()
	y.visits(x.site)
	x.begins(x.site)
	y.takesOver(x)
}

// leaves goes to another page of the site, and back.
func (p *player) leaves(meanwhile func()) {
	p.t.Helper()
	do(p, chromedp.Navigate(p.site.url+"/token-bucket"))
	meanwhile()
	entries := do(p, chromedp.NavigationEntries())
	call(p, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: entries.Entries[entries.CurrentIndex-1].ID})
	eventually(p.t, "the page is back", func() bool { return js[bool](p, `location.pathname === "/" && document.readyState === "complete"`) })
	p.ready()
	if !js[bool](p, `window.persisted === true`) {
		p.t.Error("the browser loads the page anew, so this proves nothing")
	}
}

// hearsNoTabs keeps the news of other tabs from the page, as a browser may.
const hearsNoTabs = `addEventListener("storage", (event) => event.stopImmediatePropagation());`

const tellsPersisted = `addEventListener("pageshow", (event) => { window.persisted = event.persisted; });`

func testComesBack(t *testing.T, p *player) {
	p.injects(tellsPersisted)
	p.begins(p.site)
	p.chooses("港へ")
	let, _ := p.site.keeps("/api/turn")
	p.types("番屋へ行く")
	p.enters()
	before := p.shown()
	p.leaves(let)
	if got := p.shown(); got != before || got.Box != "番屋へ行く" || js[bool](p, `"busy" in document.body.dataset || at("#send").ariaDisabled === "true"`) {
		t.Errorf("come back to: %+v\nwant %+v, and nothing under way", got, before)
	}
	p.told("")
	p.plays(p.enters)
}

func testComesBackLater(t *testing.T, p *player) {
	p.injects(tellsPersisted + hearsNoTabs)
	other := p.twoTabs()
	p.leaves(func() { other.chooses("番屋へ") })
	p.isTorn()
	p.clicks(`at("#torn-other")`, 1)
	p.takesOver(other)
}
