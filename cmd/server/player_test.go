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

// A player has a tab of their own. What the browser keeps is the address's.
type player struct {
	t       *testing.T
	ctx     context.Context
	browser context.Context
	site    *site

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
	p := &player{t: t, browser: browser}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(p.hears))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	p.ctx = ctx
	do(p, chromedp.EmulateViewport(1280, 900))
	p.injects(`
		addEventListener("securitypolicyviolation", (event) => console.error(event.violatedDirective, event.blockedURI));
		const at = (selector) => document.querySelector(selector);
		const saved = () => JSON.parse(localStorage.kiribashiri);`)
	return p
}

// another opens one more tab of the same browser at the same site.
func (p *player) another() *player {
	p.t.Helper()
	other := newPlayer(p.t, p.browser)
	other.site = p.site
	return other
}

// injects has each page of the tab run a script before its own.
func (p *player) injects(script string) {
	p.t.Helper()
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
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
		// Refused moves and questions, and servers that die, are the tests' own affair, and
		// a browser need not know all that a policy turns off.
		known := strings.Contains(e.Entry.URL, "/api/") || strings.Contains(e.Entry.URL, "/token-bucket?") ||
			strings.Contains(e.Entry.Text, "net::ERR_CONNECTION") || strings.Contains(e.Entry.Text, "Unrecognized feature")
		if !known && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			p.t.Errorf("the browser complains: %s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		p.t.Errorf("the page writes to the console: %s %s", e.Type, e.Args[0].Value)
	case *runtime.EventExceptionThrown:
		p.t.Errorf("the page throws: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
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

// stopsClock has the page's timers wait until the test says that time passes.
func (p *player) stopsClock() {
	p.t.Helper()
	p.injects(`
		const due = new Map(), soon = setTimeout, never = clearTimeout;
		let now = 0;
		window.setTimeout = (act, ms = 0) => {
			const id = soon(ms === 0 ? act : () => {});
			if (ms > 0) due.set(id, {at: now + ms, act});
			return id;
		};
		window.clearTimeout = (id) => {
			due.delete(id);
			never(id);
		};
		const passes = (ms) => {
			now += ms;
			for (const [id, {at, act}] of due) if (at <= now && due.delete(id)) act();
		};`)
}

func (p *player) passes(ms int) {
	p.t.Helper()
	p.runs(`passes(%d)`, ms)
	p.settles()
}

func (p *player) visits(where interface{ address() string }) {
	p.t.Helper()
	do(p, chromedp.Navigate(where.address()))
	p.ready()
}

func (s *running) address() string { return s.url }

func (f *site) address() string { return f.url }

// ready waits for the page.
func (p *player) ready() {
	p.t.Helper()
	eventually(p.t, "the page is ready", func() bool {
		return js[bool](p, `document.readyState === "complete" && !at("#loading") && !(at("#start").hidden && at("#dock").hidden)`)
	})
}

// begins visits and starts the story.
func (p *player) begins(where interface{ address() string }) {
	p.t.Helper()
	p.visits(where)
	p.chooses("はじめる")
}

// chooses claims that a button makes a move.
func (p *player) chooses(label string) {
	p.t.Helper()
	p.plays(func() { p.clicks(button(label), 1) })
}

// says claims that a line in the box makes a move.
func (p *player) says(line string) {
	p.t.Helper()
	p.types(line)
	p.plays(p.enters)
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

// key presses a key and does not let go; repeated is how a held key goes on. With
// another code it is an Enter that is none.
func (p *player) key(code int64, repeated bool) {
	p.t.Helper()
	names := map[int64]string{'\t': "Tab", '\x1b': "Escape", up: "ArrowUp", down: "ArrowDown", ' ': " "}
	name, known := names[code]
	if !known {
		name = "Enter"
	}
	p.keyNamed(name, code, repeated)
}

const up, down = 38, 40 // the codes of the arrow keys

// keyNamed presses a key whose name and code need not agree: what an input method
// has dealt with has another code.
func (p *player) keyNamed(name string, code int64, repeated bool) {
	p.t.Helper()
	press := input.DispatchKeyEventParams{Type: "rawKeyDown", Key: name, Code: name, WindowsVirtualKeyCode: code, AutoRepeat: &repeated}
	switch code {
	case '\r':
		press.Type, press.Text = "keyDown", "\r"
	case ' ':
		press.Type, press.Text = "keyDown", " "
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

// answered returns how many of them have an answer, used or not.
func (p *player) answered() int {
	return len(slices.DeleteFunc(p.asked(), func(r request) bool { return r.method != "POST" || r.bytes == 0 }))
}
