package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// What people type who try a page.
var hostileTexts = []string{
	`<script>console.error(1)</script>`,
	`<img src=x onerror=console.error(2)>`,
	`<svg/onload=console.error(3)><iframe srcdoc="<script>top.console.error(4)</script>"></iframe>`,
	`</title></textarea></p></template></style></script><script>console.error(5)</script>`,
	`javascript:console.error(6)`,
	`"'` + "`" + ` onfocus=console.error(7) autofocus x="`,
	`<a href="javascript:console.error(8)">押す</a><base href=//evil.example/><meta http-equiv=refresh content=0>`,
	`&lt;b&gt;&#60;b&#62;\u003cb\u003e${console.error(9)}{{console.error(10)}}`,
	"<!--\u2028\u2029--!><style>*{display:none}</style><link rel=stylesheet href=//evil.example>",
	`]]>"}]};console.error(11);//\`,
	`__proto__`,
}

// A real engine says it all back, in every place that a reply has, and so does the
// player: it stands there to be read, and makes nothing.
func testHostileText(t *testing.T, p *player) {
	s := start(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000", "KIRI_SIM='"+os.Args[0]+"' test-echo")
	p.begins(s)
	const foreign = `script, img, iframe, svg, [onload], [onerror], [onfocus], base, style, template, meta, link, [href^="javascript:"], [href*="evil"]`
	ours := js[int](p, `document.body.querySelectorAll(%q).length`, foreign)
	elements := js[int](p, `document.querySelectorAll("*").length`)
	for _, text := range hostileTexts {
		p.says(text)
		for _, where := range []string{"#place", "#choices button", "#places button", "#turns > :last-child"} {
			if got := js[string](p, `at(%q).textContent`, where); !strings.Contains(got, text) {
				t.Errorf("%s reads %q, want %q", where, got, text)
			}
		}
		if got := js[string](p, `document.title`); !strings.HasPrefix(got, text) && !strings.HasPrefix(got, strings.Join(strings.Fields(text), " ")) {
			t.Errorf("the title is %q, want %q", got, text)
		}
		now := js[int](p, `document.querySelectorAll("*").length`)
		if made := now - elements; made > 10 {
			t.Errorf("%q made %d elements", text, made)
		}
		elements = now
		p.types("no " + text)
		p.enters()
		p.told("no " + text)
		p.clears()
		elements = js[int](p, `document.querySelectorAll("*").length`)
	}
	p.visits(s)
	p.opensDialog("records")
	p.escapes()
	if n := js[int](p, `document.body.querySelectorAll(%q).length`, foreign); n != ours {
		t.Errorf("%d elements are made of it", n-ours)
	}
}

// A page of somebody else's makes a visitor's browser do what it can: it gets no
// move played, reads nothing, and shows nothing of ours.
func TestHostilePage(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	s := unhurried(t)
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<!doctype html><title>x</title><iframe name=into></iframe>`)
	}))
	defer hostile.Close()
	for _, row := range []struct{ name, url string }{
		{"of this machine", hostile.URL},
		{"of another site", strings.Replace(hostile.URL, "127.0.0.1", "localhost", 1)},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := strings.Count(s.log.String(), `"route":"new"`)
			ctx, cancel := chromedp.NewContext(browser) // nobody listens to the browser's complaints
			defer cancel()
			if err := chromedp.Do(ctx); err != nil {
				t.Fatal(err)
			}
			p := &player{t: t, ctx: ctx, browser: browser}
			call(p, page.Navigate, page.NavigateParams{URL: row.url})
			eventually(t, "the page is there", func() bool { return js[bool](p, `document.readyState === "complete" && document.title === "x"`) })
			type outcome struct{ What, Came string }
			outcomes := js[[]outcome](p, `(async (game) => {
				const tried = [];
				const came = (what, promise) => tried.push(promise.then((v) => ({what, came: String(v)}), () => ({what, came: "nothing"})));
				const tag = (name, fields) => new Promise((made, failed) => {
					const element = Object.assign(document.createElement(name), fields, {onload: () => made("it"), onerror: failed});
					document.body.append(element);
				});
				const post = (path, more) => fetch(game + path, {method: "POST", ...more}).then((r) => r.text());
				const json = {headers: {"Content-Type": "application/json"}, body: '{"kind":"look"}'};
				came("a post with JSON", post("/api/turn", json));
				came("a post", post("/api/new"));
				came("a post of text", post("/api/turn", {...json, headers: {"Content-Type": "text/plain"}}));
				came("a post with cookies", post("/api/new", {credentials: "include"}));
				came("a question", fetch(game + "/api/health").then((r) => r.text()));
				came("a post that reads nothing", post("/api/new", {mode: "no-cors"}));
				came("a question that reads nothing", fetch(game + "/api/health", {mode: "no-cors"}).then((r) => r.text()));
				came("the health as a script", tag("script", {src: game + "/api/health"}));
				came("the page as a script", tag("script", {src: game + "/"}));
				came("the health as a style", tag("link", {rel: "stylesheet", href: game + "/api/health"}));
				came("the page as an image", tag("img", {src: game + "/"}));
				navigator.sendBeacon(game + "/api/new");
				const form = Object.assign(document.createElement("form"), {method: "post", action: game + "/api/new", target: "into"});
				document.body.append(form);
				form.submit();
				return Promise.all(tried);
			})(%q)`, s.url)
			for _, o := range outcomes {
				if o.Came != "nothing" {
					t.Errorf("%s: %s came", o.What, o.Came)
				}
			}
			if len(outcomes) != 11 {
				t.Errorf("%d outcomes: %v", len(outcomes), outcomes)
			}
			// Two posts by fetch that need no preflight, one that reads nothing, a beacon
			// and a form: each arrives, and is refused.
			const sent = 4
			eventually(t, "all of it has arrived", func() bool {
				return strings.Count(s.log.String(), `"route":"new"`)-before >= sent
			})
			for line := range strings.Lines(s.log.String()) {
				var entry struct {
					Route  string
					Status int
					Code   string
				}
				json.Unmarshal([]byte(line), &entry)
				if (entry.Route == "new" || entry.Route == "turn") && entry.Code != "cross_origin" && entry.Code != "method_not_allowed" {
					t.Errorf("a move came through: %s", line)
				}
			}
			if row.url != hostile.URL {
				return // frames of another site are not among those that the browser tells of this page
			}
			frames := []string{"/", "/token-bucket", "/api/health", "/nope"}
			for _, path := range frames {
				p.runs(`document.body.append(Object.assign(document.createElement("iframe"), {src: %q}))`, s.url+path)
			}
			eventually(t, "every frame is refused", func() bool {
				refused := make(map[string]bool) // that of the form's answer, too
				tree := do(p, func(ctx context.Context, tab *chromedp.Target) (page.GetFrameTreeResult, error) {
					return cdp.Call(ctx, tab, page.GetFrameTree, cdp.Empty{})
				})
				for _, frame := range tree.FrameTree.ChildFrames {
					refused[frame.Frame.UnreachableURL] = true
				}
				return !slices.ContainsFunc(frames, func(path string) bool { return !refused[s.url+path] })
			})
		})
	}
}
