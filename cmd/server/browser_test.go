package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

// The page as players have it: a real browser, the real server and its engine.
func TestBrowser(t *testing.T) {
	browser := startBrowser(t)
	for _, row := range []struct {
		name string
		test func(*testing.T, *player)
	}{
		{"a newcomer comes to the ending by buttons alone", testButtons},
		{"a typed move", testTyped},
		{"a reload keeps story, place and draft", testReload},
		{"a refused move leaves nothing but a notice", testRefused},
		{"what sends, and how often", testSending},
		{"a save that the engine cannot read", testForeignState},
		{"markup is text", testMarkup},
		{"no sideways scroll", testWidths},
		{"the first load is small, the next one next to nothing", testLoads},
		{"the keyboard reaches everything, visibly", testKeyboard},
	} {
		t.Run(row.name, func(t *testing.T) { row.test(t, newPlayer(t, browser)) })
	}
}

func testButtons(t *testing.T, p *player) {
	p.begins(unhurried(t))
	for move := range strings.FieldsSeq(endings["霧の鐘"]) {
		label := js[string](p, `(({choices, places}) => [...choices, ...places].find(({input}) => input === %q)?.label ?? "")(saved())`, move)
		if label == "" {
			t.Fatalf("%s is not offered after %q", move, p.shown().Story)
		}
		p.plays(func() { p.clicks(button(label), 1) })
	}
	if !strings.Contains(p.shown().Story, "終わり「霧の鐘」") || !js[bool](p, `at("#ending").checkVisibility() && at("#offers").hidden`) {
		t.Errorf("no ending: %q", p.shown().Story)
	}
}

func testTyped(t *testing.T, p *player) {
	p.begins(unhurried(t))
	p.plays(func() { p.clicks(button("港へ"), 1) })
	p.types("船長に霧の話を聞く")
	p.plays(p.enters)
	got := p.shown()
	if !strings.Contains(got.Story, "船長に霧の話を聞く") || !strings.Contains(got.Story, "三つ打って、ひと息おく。白鳴の船なら") {
		t.Errorf("the story lacks the move or its reply: %q", got.Story)
	}
	if got.Box != "" || !js[bool](p, `document.activeElement === at("#box")`) {
		t.Error("the box is not empty and ready for the next move")
	}
}

func testReload(t *testing.T, p *player) {
	s := unhurried(t)
	p.begins(s)
	p.plays(func() { p.clicks(button("港へ"), 1) })
	p.types("まだ送らない")
	before := p.shown()
	p.visits(s)
	if got := p.shown(); got.Box != "まだ送らない" || got.Place != "港" || got != before {
		t.Errorf("after a reload: %+v\nwant %+v", got, before)
	}
	p.plays(func() { p.clicks(button("番屋へ"), 1) })
}

func testRefused(t *testing.T, p *player) {
	const fast, burst = "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000"
	engine := filepath.Join(t.TempDir(), "engine")
	link := func(*running) {
		if err := os.Symlink(os.Args[0], engine); err != nil {
			t.Fatal(err)
		}
	}
	link(nil)
	for _, row := range []struct {
		notice        string
		environ       []string
		breaks, mends func(*running)
	}{{ // a bucket that practically never refills, and a full one of a new server
		"（少し待ってからもう一度）",
		[]string{"KIRI_PER_IP_PER_SEC=0.001", "KIRI_PER_IP_BURST=2"},
		func(s *running) { s.post("/api/new", "127.0.0.1", "") },
		func(s *running) { s.dies(); s.restarts() },
	}, {
		"つながりませんでした。もう一度送れます。",
		[]string{fast, burst}, (*running).dies, (*running).restarts,
	}, {
		"いま物語を動かせません。少し待つと、もう一度送れます。",
		[]string{fast, burst, "KIRI_SIM='" + engine + "' " + engineCommand + " serve"},
		func(s *running) {
			os.Remove(engine)
			pid, _ := strconv.Atoi(regexp.MustCompile(`engine is up.*"pid":(\d+)`).FindStringSubmatch(s.log.String())[1])
			syscall.Kill(pid, syscall.SIGKILL)
			eventually(t, "the engine is down", func() bool { return s.get("/api/health").status == 503 })
		}, link,
	}} {
		s := start(t, row.environ...)
		p.begins(s)
		p.types("港へ行く")
		before := p.shown()
		row.breaks(s)
		for range 2 {
			p.enters()
			p.told(row.notice)
			if got := p.shown(); got != before {
				t.Errorf("beside the notice %s: %+v\nwant %+v", row.notice, got, before)
			}
		}
		row.mends(s)
		s.well()
		p.plays(p.enters)
		p.told("")
	}
}

// While keys and mouse are at work, no reply comes.
func testSending(t *testing.T, p *player) {
	const text, processed = "港へ行く", 229 // the code of a key that an input method has dealt with
	s := unhurried(t)
	p.begins(s)
	for _, row := range []struct {
		name  string
		sends int
		does  func()
		draft string
	}{
		{"Chromium: Enter ends a composition, then comes the text", 0, func() { p.composes(text); p.key(processed, false); p.types(text) }, text},
		{"Safari: the text comes first", 0, func() { p.composes(text); p.types(text); p.settles(); p.key(processed, false) }, text},
		{"a plain Enter in a composition", 0, func() { p.composes(text); p.key('\r', false); p.types(text) }, text},
		{"a double click on send", 1, func() { p.types(text); p.clicks(`at("#send")`, 2) }, ""},
		{"a double click on a place", 1, func() { p.clicks(button("バス停へ"), 2) }, ""},
		{"a held Enter, and a new draft meanwhile", 1, func() {
			p.types(text)
			p.key('\r', false)
			p.key('\r', true)
			p.clears()
			p.types("次")
			s.cmd.Process.Signal(syscall.SIGCONT)
			p.told("")
			p.key('\r', true)
		}, "次"},
	} {
		before := p.posts()
		s.cmd.Process.Signal(syscall.SIGSTOP)
		row.does()
		p.settles()
		s.cmd.Process.Signal(syscall.SIGCONT)
		p.told("")
		if n := p.posts() - before; n != row.sends || p.shown().Box != row.draft {
			t.Errorf("%s: %d moves are sent and the box holds %q, want %d and %q", row.name, n, p.shown().Box, row.sends, row.draft)
		}
		if row.draft != "" {
			p.plays(p.enters)
		}
	}
}

func testForeignState(t *testing.T, p *player) {
	s := unhurried(t)
	p.begins(s)
	p.saves(`record.state = {v: 1, story: "another", place: "moon"}`)
	p.visits(s)
	p.types("港へ行く")
	before := p.shown()
	p.enters()
	for _, answer := range []string{"cancel", "restart"} {
		p.told("この記録は今の版では読めません。")
		if got := p.shown(); got != before || !js[bool](p, `at("#notice-kept").checkVisibility()`) {
			t.Errorf("after the refusal: %+v\nwant %+v, and that it says so", got, before)
		}
		p.clicks(`at("#notice-restart")`, 1)
		p.clicks(`at("#ask [value=`+answer+`]")`, 1)
		p.settles()
	}
	eventually(t, "a new game has begun", func() bool { return js[bool](p, `saved().state.story !== "another"`) })
	p.told("")
}

func testMarkup(t *testing.T, p *player) {
	const markup = `<img src=x onerror=alert(1)><svg onload=alert(2)></svg>&lt;b&gt;`
	s := unhurried(t)
	p.begins(s)
	p.types(markup)
	p.plays(p.enters)
	p.saves(`record.turns[0].text = record.place = record.choices[0].label = record.places[0].label = %q`, markup)
	p.visits(s)
	if n := js[int](p, `document.body.innerText.split(%q).length - 1`, markup); n != 5 {
		t.Errorf("it stands in the page %d times, want 5: the move, a reply, the place and two buttons", n)
	}
	if n := js[int](p, `document.querySelectorAll("img, [onerror], [onload]").length`); n != 0 {
		t.Errorf("%d elements are made of it", n)
	}
}

func testWidths(t *testing.T, p *player) {
	fits := func(what string) {
		t.Helper()
		for _, width := range []int64{320, 1440} {
			do(p, chromedp.EmulateViewport(width, 700))
			if over := js[int](p, `(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.documentElement)`); over > 0 {
				t.Errorf("%s is %d px wider than a window of %d", what, over, width)
			}
		}
	}
	s := unhurried(t)
	p.visits(s)
	fits("the first page")
	p.begins(s)
	p.types(strings.Repeat("w", 200))
	p.plays(p.enters)
	fits("the story")
	p.clicks(`at("#restart")`, 1)
	fits("the question")
}

func testLoads(t *testing.T, p *player) {
	s := unhurried(t)
	p.visits(s)
	p.settles()
	first := p.asked()
	var bytes float64
	for _, r := range first {
		bytes += r.bytes
		if r.status != 200 || !strings.HasPrefix(r.url, s.url+"/") {
			t.Errorf("%s: status %d, want 200 from %s", r.url, r.status, s.url)
		}
	}
	if len(first) > 5 || bytes == 0 || bytes > 40<<10 {
		t.Errorf("%d requests and %v bytes, want at most 5 and 40960", len(first), bytes)
	}
	p.visits(s)
	p.settles()
	for i, r := range p.asked()[len(first):] {
		if i == 0 && r.status != 304 || i > 0 && r.status != 0 {
			t.Errorf("the next time %s has status %d, want 304 for the page and nothing else asked for", r.url, r.status)
		}
	}
}

func testKeyboard(t *testing.T, p *player) {
	p.visits(unhurried(t))
	p.key('\t', false)
	p.plays(p.enters)
	var stops []string
	for range 12 {
		p.key('\t', false)
		stop := js[struct{ Name, Trouble string }](p, `((e) => {
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
		if stop.Name != "" && !slices.Contains(stops, stop.Name) {
			stops = append(stops, stop.Name)
		}
	}
	want := []string{"send", "skip", "restart", "時刻表を見る", "港へ", "食堂へ", "灯台の丘へ", "box"}
	if !slices.Equal(stops, want) {
		t.Errorf("Tab goes from the box to %q, want %q", stops, want)
	}
	p.runs(`at("#places button").focus()`)
	p.plays(p.enters)
}

// unhurried starts a server that takes moves as fast as a test makes them.
func unhurried(t *testing.T) *running {
	t.Helper()
	return start(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000")
}

func (s *running) dies() {
	s.cmd.Process.Kill()
	<-s.ended
}

// restarts runs a server that has ended once more, on the same addresses.
func (s *running) restarts() {
	again := exec.Command(s.cmd.Path)
	again.Env, again.Stderr = s.cmd.Env, s.cmd.Stderr
	if err := again.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.cmd = again
	go func() { s.ended <- again.Wait() }()
}

func (s *running) well() {
	s.t.Helper()
	eventually(s.t, "the server is well again", func() bool { return s.get("/api/health").status == 200 })
}

// startBrowser skips the test where there is no browser, except where CI is true.
// It returns the context in which newPlayer finds the one that it has started.
func startBrowser(t *testing.T) context.Context {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	i := slices.IndexFunc(names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	switch {
	case i < 0 && os.Getenv("CI") == "true":
		t.Fatalf("none of the browsers %v is installed", names)
	case i < 0:
		t.Skipf("none of the browsers %v is installed", names)
	}
	// The defaults keep the browser from the network, and its profile new and short-lived.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(names[i]))
	for _, name := range []string{"no-sandbox", "disable-gpu", "disable-quic", "disable-component-update", "force-prefers-reduced-motion"} {
		options = append(options, chromedp.Flag(name, true))
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser %s: %v", names[i], err)
	}
	return ctx
}

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
		// Refused moves are the tests' own affair, and a browser need not know all
		// that a policy turns off.
		known := strings.Contains(e.Entry.URL, "/api/") || strings.Contains(e.Entry.Text, "Unrecognized feature")
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
		offers: at("#offers").innerText, save: JSON.stringify({...saved(), draft: ""}),
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
