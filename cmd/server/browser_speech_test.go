package main

import (
	"context"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// What screen readers hear, told by what changes in the live regions.
var speechRows = []browserRow{
	{"the live regions are there, and empty, before the first reply", testLiveRegions},
	{"a reply is heard once, and nothing else", testOneReply},
	{"a notice is heard once, however often it comes", testOneNotice},
	{"a slow move is said to be under way", testSlowMove},
	{"turns are headings to jump by", testHeadings},
}

// listens has the page write down what comes into its live regions.
func (p *player) listens() {
	p.t.Helper()
	p.runs(`
		window.heard = [];
		for (const region of document.querySelectorAll("[role=log], [role=status], [role=alert], [aria-live]"))
			new MutationObserver((changes) => {
				for (const {type, addedNodes, target} of changes) {
					if (type !== "childList") heard.push(region.id + " changes: " + target.textContent);
					for (const node of addedNodes) heard.push(region.id + ": " + node.textContent);
				}
			}).observe(region, {childList: true, characterData: true, attributes: true, subtree: true});`)
}

// heard claims what has come since it was last asked.
func (p *player) heard(what string, want ...string) {
	p.t.Helper()
	p.settles()
	if got := js[[]string](p, `heard.splice(0)`); !slices.Equal(got, want) {
		p.t.Errorf("%s: heard %q, want %q", what, got, want)
	}
}

func testLiveRegions(t *testing.T, p *player) {
	const regions = `[...document.querySelectorAll("[role=log], [role=status], [role=alert], [aria-live], output")]
		.filter((e) => !e.closest("dialog")).map((e) => [e.id, e.role, e.getAttribute("aria-live") ?? "", e.textContent].join(" "))`
	p.injects(`document.addEventListener("readystatechange", () => { window.atFirst ??= ` + regions + `; });`)
	want := []string{"speech log  ", "status status  "}
	look := func(what string) {
		t.Helper()
		for _, when := range []string{"atFirst", regions} {
			if got := js[[]string](p, `%s`, when); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		tree := do(p, func(ctx context.Context, _ *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
			if _, err := chromedp.Call(ctx, accessibility.Enable, cdp.Empty{}); err != nil {
				return accessibility.GetFullAXTreeResult{}, err
			}
			return chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		})
		var roles []string
		for _, node := range tree.Nodes {
			if node.Role != nil && !node.Ignored && slices.Contains([]string{`"log"`, `"status"`, `"alert"`}, string(node.Role.Value)) {
				roles = append(roles, string(node.Role.Value))
			}
		}
		if !slices.Equal(roles, []string{`"log"`, `"status"`}) {
			t.Errorf("%s: a screen reader finds %v", what, roles)
		}
	}
	p.visits(p.site)
	look("on the first page")
	p.chooses("はじめる")
	p.chooses("港へ")
	p.visits(p.site)
	look("on coming back to a game")
}

func testOneReply(t *testing.T, p *player) {
	p.stopsClock()
	p.visits(p.site)
	p.listens()
	reply := func() string { return "speech: " + js[string](p, `saved().turns.at(-1).text`) }
	p.chooses("はじめる")
	p.heard("the opening", reply())
	p.says("船長に霧の話を聞く")
	p.heard("a line", reply())
	p.chooses("港へ")
	p.heard("a choice", reply())
	p.site.answers(200, `{"text":"波の音がする。","state":{}}`)
	for range 2 {
		p.says("耳をすます")
		p.heard("the same reply twice", "speech: 波の音がする。")
	}
	p.passes(10_000)
	if got := js[string](p, `at("#speech").textContent`); got != "" {
		t.Errorf("after ten seconds the log still holds %q", got)
	}
	p.heard("after ten seconds")
	p.undoes()
	p.heard("a move taken back", "status: 一手もどしました。")
}

func testOneNotice(t *testing.T, p *player) {
	p.begins(p.site)
	p.listens()
	p.types("港へ行く")
	for notice, happens := range map[string]func(){
		"（少し待ってからもう一度）":        p.site.refuses,
		"つながりませんでした。もう一度送れます。": func() { p.site.cuts("/api/turn") },
		"この手は受け付けられませんでした。":    func() { p.site.answers(422, `{"ok":false}`) },
		"この記録は今の版では読めません。":     func() { p.site.answers(422, `{"ok":false,"code":"bad_state","error":"of another story"}`) },
	} {
		happens()
		for range 2 {
			p.enters()
			p.told(notice)
			p.heard("a notice", "status: "+notice)
		}
	}
	p.site.opens()
	p.plays(p.enters)
	for range 3 {
		p.chooses("番屋へ")
		p.chooses("港へ")
	}
	p.fills()
	p.chooses("番屋へ")
	p.runs(`heard.splice(0)`)
	reply := func() string { return "speech: " + js[string](p, `saved().turns.at(-1).text`) }
	p.fills()
	p.chooses("港へ")
	p.heard("a warning", reply(), "status: "+shortened)
	p.chooses("番屋へ")
	p.heard("the warning holds", reply())
}

func testSlowMove(t *testing.T, p *player) {
	p.stopsClock()
	p.begins(p.site)
	p.listens()
	p.types("港へ行く")
	for _, ends := range []string{"cut", "let"} {
		let, cut := p.site.keeps("/api/turn")
		p.enters()
		p.passes(399)
		p.heard("at first")
		p.passes(1)
		p.heard("after 400 ms", "status: 送信中…")
		if ends == "cut" {
			cut()
			p.over()
			p.heard("and it fails", "status: つながりませんでした。もう一度送れます。")
			continue
		}
		let()
		p.over()
		p.heard("and it comes about", "speech: "+js[string](p, `saved().turns.at(-1).text`))
		if got := js[string](p, `at("#status").textContent`); got != "" {
			t.Errorf("the status still says %q", got)
		}
	}
}

func testHeadings(t *testing.T, p *player) {
	p.begins(p.site)
	p.says("港へ行く")
	p.chooses("番屋へ")
	got := js[[]string](p, `[...document.querySelectorAll("#turns > *")].map((turn) => [...turn.querySelectorAll("h1, h2, h3")].map((h) => h.textContent).join())`)
	if want := []string{"はじまり", "1手目港へ行く", "2手目番屋へ"}; !slices.Equal(got, want) {
		t.Errorf("the headings are %q, want %q", got, want)
	}
	p.site.answers(200, `{"text":"霧が晴れる。\n\r\n船が見える。","state":{}}`)
	p.says("待つ")
	if got := js[string](p, `[...document.querySelectorAll(".turn:last-child p")].map((e) => e.textContent).join("|")`); got != "霧が晴れる。|船が見える。" {
		t.Errorf("the paragraphs are %q", got)
	}
	if got := js[int](p, `document.querySelectorAll("#turns [aria-live], #turns [role], #turns[role], #turns[aria-live]").length`); got != 0 {
		t.Errorf("%d parts of the visible story are more than plain markup", got)
	}
}
