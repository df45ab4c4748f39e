package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A player has a tab, a storage and a cache of their own.
type player struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex // guards requests, which the browser's events change
	requests []*request // in order
}

type request struct {
	id          network.RequestID
	method, url string
	status      int64   // as it came over the wire; 0 if nothing did
	bytes       float64 // over the wire
}

// newPlayer opens an empty tab. Whatever a page should not do there fails the test.
func newPlayer(t *testing.T, browser context.Context) *player {
	p := &player{t: t}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.hears))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	p.ctx = ctx
	do(p, chromedp.EmulateViewport(1280, 900))
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		addEventListener("securitypolicyviolation", (event) => console.error(event.violatedDirective, event.blockedURI));
		const at = (selector) => document.querySelector(selector);
		const saved = () => JSON.parse(localStorage.kiribashiri);`})
	return p
}

func (p *player) hears(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := func(id network.RequestID) *request {
		i := slices.IndexFunc(p.requests, func(r *request) bool { return r.id == id })
		if i < 0 {
			i = len(p.requests)
			p.requests = append(p.requests, &request{id: id})
		}
		return p.requests[i]
	}
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		r := of(e.RequestID)
		r.method, r.url = e.Request.Method, e.Request.URL
	case *network.EventResponseReceivedExtraInfo:
		of(e.RequestID).status = e.StatusCode
	case *network.EventLoadingFinished:
		of(e.RequestID).bytes = e.EncodedDataLength
	case *log.EventEntryAdded:
		// Refused moves and questions are the tests' own affair, and a browser need not know all
		// that a policy turns off.
		known := strings.Contains(e.Entry.URL, "/api/") || strings.Contains(e.Entry.URL, "/token-bucket?") || strings.Contains(e.Entry.Text, "Unrecognized feature")
		if !known && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			p.t.Errorf("the browser complains: %s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		p.t.Errorf("the page writes to the console: %s %s", e.Type, e.Args[0].Value)
	case *runtime.EventExceptionThrown:
		p.t.Errorf("the page throws: %s", e.ExceptionDetails.Text)
	case *page.EventJavascriptDialogOpening:
		p.t.Errorf("the page opens a dialog: %s", e.Message)
	}
}

// do has the browser do one thing, and not take for ever over it.
func do[T any](p *player, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 20*time.Second)
	defer cancel()
	got, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

func call[P, R any](p *player, command cdp.Command[P, R], params P) {
	p.t.Helper()
	do(p, func(ctx context.Context, tab *chromedp.Target) (R, error) { return cdp.Call(ctx, tab, command, params) })
}

// js asks the page. The values stand in the expression as %q or %s.
func js[T any](p *player, expression string, values ...any) T {
	p.t.Helper()
	return do(p, chromedp.Evaluate[T](fmt.Sprintf(expression, values...), chromedp.EvalAwaitPromise))
}

func (p *player) runs(statement string, values ...any) {
	p.t.Helper()
	js[chromedp.Void](p, statement, values...)
}

// settles waits until the page has done all that is due by now.
func (p *player) settles() {
	p.t.Helper()
	p.runs(`new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`)
}

func (p *player) visits(s *running) {
	p.t.Helper()
	do(p, chromedp.Navigate(s.url))
	eventually(p.t, "the page is ready", func() bool { return js[bool](p, `!at("#start").hidden || !at("#form").hidden`) })
}

// begins visits and starts the story.
func (p *player) begins(s *running) {
	p.t.Helper()
	p.visits(s)
	p.plays(func() { p.clicks(button("はじめる"), 1) })
}

// plays claims that what act does adds one turn to the story.
func (p *player) plays(act func()) {
	p.t.Helper()
	before := js[int](p, `at("#turns").childElementCount`)
	act()
	p.over()
	if n := js[int](p, `at("#turns").childElementCount`) - before; n != 1 {
		p.t.Fatalf("%d turns more, want 1; the page says %q", n, js[string](p, `document.body.innerText`))
	}
}

// over waits until no move is under way.
func (p *player) over() {
	p.t.Helper()
	p.settles()
	eventually(p.t, "the move is over", func() bool { return js[bool](p, `!("busy" in document.body.dataset)`) })
}

// told claims the one notice after a move; "" is none.
func (p *player) told(want string) {
	p.t.Helper()
	p.over()
	if got := js[string](p, `at("#notice").checkVisibility() ? at("#notice-text").innerText : ""`); got != want {
		p.t.Errorf("the notice says %q, want %q", got, want)
	}
	if n := js[int](p, `at("main").innerText.split(%q).length - 1`, want); want != "" && n != 1 {
		p.t.Errorf("%q is shown %d times", want, n)
	}
}

// What is shown and saved: all that a move changes only when it is accepted.
type shown struct{ Box, Place, Title, Story, Offers, Save string }

func (p *player) shown() shown {
	p.t.Helper()
	return js[shown](p, `({
		box: at("#box").value, place: at("#place").innerText, title: document.title, story: at("#turns").innerText,
		offers: at("#offers").innerText, save: JSON.stringify({...saved(), revision: 0, tab: "", time: 0}),
	})`)
}

// saves changes the saved game, as if another version had written it.
func (p *player) saves(change string, values ...any) {
	p.t.Helper()
	p.runs(`((record) => { `+change+`; localStorage.kiribashiri = JSON.stringify(record) })(saved())`, values...)
}

// button finds the visible button with such a label, for clicks.
func button(label string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("button")].find((b) => b.checkVisibility() && b.innerText === %q)`, label)
}

// clicks puts the mouse on the middle of what find finds, once that is to be
// seen there, and clicks n times in a row.
func (p *player) clicks(find string, n int) {
	p.t.Helper()
	var middle []float64
	eventually(p.t, "to be clicked: "+find, func() bool {
		middle = js[[]float64](p, `((e) => {
			e?.scrollIntoView({block: "center"});
			const {x, y, width, height} = e?.getBoundingClientRect() ?? {};
			return e?.contains(document.elementFromPoint(x + width / 2, y + height / 2)) ? [x + width / 2, y + height / 2] : null;
		})(%s)`, find)
		return middle != nil
	})
	for i := range n {
		do(p, chromedp.MouseClickXY(middle[0], middle[1], chromedp.ClickCount(i+1)))
	}
}

// types puts text into the box, in place of what an input method is composing.
func (p *player) types(text string) {
	p.t.Helper()
	p.runs(`at("#box").focus()`)
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

func (p *player) clears() {
	p.t.Helper()
	p.runs(`at("#box").value = ""`)
}

func (p *player) composes(text string) {
	p.t.Helper()
	end := int64(len([]rune(text)))
	call(p, input.ImeSetComposition, input.ImeSetCompositionParams{Text: text, SelectionStart: end, SelectionEnd: end})
}

func (p *player) enters() {
	p.t.Helper()
	p.key('\r', false)
	call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "keyUp", Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: '\r'})
}

// key presses Tab or Enter and does not let go; repeated is how a held key goes
// on. With another code it is an Enter that is none.
func (p *player) key(code int64, repeated bool) {
	p.t.Helper()
	press := input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: code, AutoRepeat: &repeated}
	switch code {
	case '\r':
		press.Type, press.Text = "keyDown", "\r"
	case '\t':
		press.Key, press.Code = "Tab", "Tab"
	}
	call(p, input.DispatchKeyEvent, press)
}

// asked returns the requests so far.
func (p *player) asked() (all []request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		all = append(all, *r)
	}
	return all
}

// posts returns how many moves the page has sent.
func (p *player) posts() int {
	return len(slices.DeleteFunc(p.asked(), func(r request) bool { return r.method != "POST" }))
}
