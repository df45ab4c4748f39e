package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The page as players have it: a real browser, the real server and its engine.
func TestBrowser(t *testing.T) {
	t.Parallel()
	// All sites are of one host, so one process may draw all their pages.
	browser := startBrowser(t, chromedp.Flag("process-per-site", true))
	server, whole := unhurried(t), t
	for _, concern := range []struct {
		name string
		rows []browserRow
	}{
		{"play", playRows},
		{"sending", sendingRows},
		{"refused", refusedRows},
		{"lines", lineRows},
		{"back", backRows},
		{"records", recordRows},
		{"storage", storageRows},
		{"tabs", tabRows},
		{"speech", speechRows},
		{"scroll", scrollRows},
		{"keyboard", keyboardRows},
		{"touch", touchRows},
		{"reader", readerRows},
		{"layout", layoutRows},
	} {
		t.Run(concern.name, func(t *testing.T) {
			for _, row := range concern.rows {
				at := newSite(whole, server)
				t.Run(row.name, func(t *testing.T) {
					p := newPlayer(t, browser)
					p.site = at
					row.test(t, p)
				})
			}
		})
	}
}

// A browserRow is one fact of the page; its test has a new tab, and a site that the
// browser knows nothing of.
type browserRow struct {
	name string
	test func(*testing.T, *player)
}

var playRows = []browserRow{
	{"a newcomer comes to the ending by buttons alone", testButtons},
	{"the example engine is played to its end", testExample},
	{"a typed move", testTyped},
	{"a reload keeps story, place and draft", testReload},
	{"a killed tab loses nothing", testKilledTab},
	{"markup is text", testMarkup},
	{"whatever an engine or a player says is text", testHostileText},
	{"the first load is small, the next one next to nothing", testLoads},
}

func testButtons(t *testing.T, p *player) {
	p.begins(p.site)
	for move := range strings.FieldsSeq(endings["霧の鐘"]) {
		label := js[string](p, `(({choices, places}) => [...choices, ...places].find(({input}) => input === %q)?.label ?? "")(saved())`, move)
		if label == "" {
			t.Fatalf("%s is not offered after %q", move, p.shown().Story)
		}
		p.plays(func() { p.clicks(button(label), 1) })
	}
	if !strings.Contains(p.shown().Story, "終わり「霧の鐘」") || !js[bool](p, `at("#ending").checkVisibility() && at("#choices").hidden && at("#places").hidden`) {
		t.Errorf("no ending: %q", p.shown().Story)
	}
}

func testExample(t *testing.T, p *player) {
	p.begins(start(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000", exampleEngine(t)))
	for _, label := range []string{"ランプをともす", "戸口へ", "戸を開ける"} {
		p.chooses(label)
	}
	if !strings.Contains(p.shown().Story, "流氷の海が白く光った") || !js[bool](p, `at("#ending").checkVisibility() && at("#choices").hidden && at("#places").hidden`) {
		t.Errorf("no ending: %q", p.shown().Story)
	}
}

func testTyped(t *testing.T, p *player) {
	p.begins(p.site)
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
	p.begins(p.site)
	p.chooses("港へ")
	p.chooses("番屋へ")
	p.says("ランタンを借りる")
	p.types("まだ送らない")
	before := p.shown()
	p.visits(p.site)
	if got := p.shown(); got.Box != "まだ送らない" || got.Place != "番屋" || got != before {
		t.Errorf("after a reload: %+v\nwant %+v", got, before)
	}
	p.chooses("港へ")
}

// A tab whose process ends has no time to save anything.
func testKilledTab(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	p.chooses("番屋へ")
	p.says("ランタンを借りる")
	p.types("書きかけ")
	before := p.shown()
	var killing sync.WaitGroup
	do(p, chromedp.WaitEvent(inspector.TargetCrashed, nil, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		killing.Go(func() { cdp.Call(ctx, tab, page.Crash, cdp.Empty{}) }) // it answers nobody
		return nil
	})))
	killing.Wait()
	again := p.another()
	again.visits(p.site)
	got := again.shown()
	if before.Box = ""; got != before || !strings.Contains(got.Story, "ランタンを借りる") {
		t.Errorf("in a new tab: %+v\nwant %+v", got, before)
	}
	again.chooses("港へ")
}

func testMarkup(t *testing.T, p *player) {
	const markup = `<img src=x onerror=alert(1)><svg onload=alert(2)></svg>&lt;b&gt;`
	p.begins(p.site)
	p.says(markup)
	p.saves(`record.turns[0].text = record.place = record.choices[0].label = record.places[0].label = %q`, markup)
	p.visits(p.site)
	if n := js[int](p, `document.body.innerText.split(%q).length - 1`, markup); n != 5 {
		t.Errorf("it stands in the page %d times, want 5: the move, a reply, the place and two buttons", n)
	}
	if got := js[string](p, `document.title`); got != markup+" — 霧走り" {
		t.Errorf("the title is %q", got)
	}
	const name = `<img src=x onerror=alert(3)>&lt;`
	p.keepsInSlot(name)
	p.clicks(`at("#slots button")`, 1)
	if n := js[int](p, `at("#records").innerText.split(%q).length + at("#ask").innerText.split(%q).length - 2`, name, name); n != 3 {
		t.Errorf("the name of a record stands in the dialogs %d times, want 3: in the list, where it is said to be kept, and in the question", n)
	}
	if n := js[int](p, `document.querySelectorAll("img, [onerror], [onload]").length`); n != 0 {
		t.Errorf("%d elements are made of it", n)
	}
}

func testLoads(t *testing.T, p *player) {
	s := unhurried(t)
	p.visits(s)
	p.settles()
	eventually(t, "all is answered", func() bool { return !slices.ContainsFunc(p.asked(), func(r request) bool { return r.status == 0 }) })
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

// startBrowser skips the test where there is no browser, except where CI is true.
// It returns the context in which newPlayer finds the one that it has started.
func startBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	i := slices.IndexFunc(names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	switch {
	case raceEnabled:
		t.Skip("the pages are tried without the race detector, which would find nothing in a browser")
	case i < 0 && os.Getenv("CI") == "true":
		t.Fatalf("none of the browsers %v is installed", names)
	case i < 0:
		t.Skipf("none of the browsers %v is installed", names)
	}
	// The defaults keep the browser from the network, and its profile new and short-lived.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(names[i]))
	options = append(options, more...)
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
