package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
		{"the example engine is played to its end", testExample},
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
	if !strings.Contains(p.shown().Story, "終わり「霧の鐘」") || !js[bool](p, `at("#ending").checkVisibility() && at("#choices").hidden && at("#places").hidden`) {
		t.Errorf("no ending: %q", p.shown().Story)
	}
}

func testExample(t *testing.T, p *player) {
	p.begins(start(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000", exampleEngine(t)))
	for _, label := range []string{"ランプをともす", "戸口へ", "戸を開ける"} {
		p.plays(func() { p.clicks(button(label), 1) })
	}
	if !strings.Contains(p.shown().Story, "流氷の海が白く光った") || !js[bool](p, `at("#ending").checkVisibility() && at("#offers").hidden`) {
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
	for _, answer := range []string{"no", "yes"} {
		p.told("この記録は今の版では読めません。")
		if got := p.shown(); got != before || !js[bool](p, `at("#notice-kept").checkVisibility()`) {
			t.Errorf("after the refusal: %+v\nwant %+v, and that it says so", got, before)
		}
		p.clicks(`at("#notice [data-restart]")`, 1)
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
	p.clicks(`at("#menu-open")`, 1)
	fits("the menu")
	p.clicks(`at("#menu [data-restart]")`, 1)
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
	want := []string{"send", "menu-open", "skip", "時刻表を見る", "港へ", "食堂へ", "灯台の丘へ", "box"}
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
