package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/network"
)

// Moves that do not come about change nothing but a notice.
var refusedRows = []browserRow{
	{"a refused move leaves nothing but a notice", testRefused},
	{"a refusal is said once, and nothing is sent again by itself", testRefusedOnce},
	{"without a network", testOffline},
	{"each refusal has its words", testRefusals},
}

func testRefusedOnce(t *testing.T, p *player) {
	p.stopsClock()
	p.begins(p.site)
	p.says("港へ行く")
	p.passes(60_000)
	p.listens()
	p.site.refuses()
	p.types("番屋へ行く")
	before, posts := p.shown(), p.posts()
	for n := range 2 {
		p.enters()
		p.told("（少し待ってからもう一度）")
		p.heard("the refusal", "status: （少し待ってからもう一度）")
		p.passes(60_000) // far beyond what Retry-After says
		if got := p.posts() - posts; got != n+1 || js[int](p, `due.size`) != 0 {
			t.Errorf("%d moves are sent, want %d; or a timer still runs", got, n+1)
		}
		p.told("（少し待ってからもう一度）")
		if got := p.shown(); got != before || !js[bool](p, `document.activeElement === at("#box")`) {
			t.Errorf("beside the notice: %+v\nwant %+v, and the focus in the box", got, before)
		}
	}
	if js[bool](p, `[...Object.values(localStorage), at("#turns").textContent].join().includes("少し待って")`) {
		t.Error("the notice is saved, or in the story")
	}
	p.key(up, false)
	if got := p.box(); got != "港へ行く|" {
		t.Errorf("the line before is %q", got)
	}
	p.key(down, false)
	p.site.opens()
	p.plays(p.enters)
	p.told("")
	p.undoes()
	if got := p.shown(); got.Story != before.Story || got.Offers != before.Offers {
		t.Errorf("one move earlier: %+v\nwant %+v", got, before)
	}
}

func testOffline(t *testing.T, p *player) {
	p.begins(p.site)
	p.types("港へ行く")
	before := p.shown()
	offline := func(is bool) {
		call(p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
			{URLPattern: "", DownloadThroughput: -1, UploadThroughput: -1, Offline: is},
		}})
		call(p, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1})
	}
	offline(true)
	if js[bool](p, `navigator.onLine`) {
		t.Fatal("the browser is not offline")
	}
	p.enters()
	p.told("通信が切れているようです。つながったら、もう一度送れます。")
	if got := p.shown(); got != before {
		t.Errorf("beside the notice: %+v\nwant %+v", got, before)
	}
	offline(false)
	p.plays(p.enters)
	p.told("")
}

func testRefusals(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	p.types("番屋へ行く")
	before := p.shown()
	for _, row := range []struct {
		status int
		body   string
		notice string
	}{
		{400, `{"ok":false,"code":"bad_request","error":"input is too long"}`, "このままでは受け取れませんでした。短く書き直すと送れるかもしれません。"},
		{413, `{"ok":false,"code":"too_large","error":"too large"}`, "この記録は今の版では読めません。"},
		{422, `{"ok":false,"code":"bad_state","error":"of another <b>story</b>"}`, "この記録は今の版では読めません。"},
		{422, `{"ok":false,"error":"扉は<b>閉まっている</b>。"}`, "扉は<b>閉まっている</b>。"},
		{422, `{"ok":false}`, "この手は受け付けられませんでした。"},
		{422, `{"ok":false,"code":"poison_move","error":"this move ended engines"}`, "この手は、いまは受け付けられません。別の手なら進めます。"},
		{429, `{"ok":false,"code":"queue_full","error":"too many players at once"}`, "（少し待ってからもう一度）"},
		{500, `{"ok":false,"code":"internal","error":"internal"}`, "つながりませんでした。もう一度送れます。"},
		{502, `{"ok":false,"code":"engine_failed","error":"the engine failed"}`, "物語の途中でつまずきました。もう一度送れます。"},
		{502, `<html>Bad Gateway</html>`, "物語の途中でつまずきました。もう一度送れます。"},
		{503, `{"ok":false,"code":"engine_down","error":"no engine"}`, "いま物語を動かせません。少し待つと、もう一度送れます。"},
		{504, `{"ok":false,"code":"engine_timeout","error":"no answer"}`, "返事が届きませんでした。もう一度送れます。"},
		{200, `{"text":`, "つながりませんでした。もう一度送れます。"},
		{200, `[]`, "つながりませんでした。もう一度送れます。"},
	} {
		p.site.answers(row.status, row.body)
		p.enters()
		p.told(row.notice)
		if got := p.shown(); got != before {
			t.Errorf("%d %s: %+v\nwant %+v", row.status, row.body, got, before)
		}
		if got := js[bool](p, `at("#notice-actions").checkVisibility()`); got != (row.notice == "この記録は今の版では読めません。") {
			t.Errorf("%d %s: a way out of an unreadable record is offered: %v", row.status, row.body, got)
		}
	}
	p.site.opens()
	p.plays(p.enters)
	p.told("")
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
