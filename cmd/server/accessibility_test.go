package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

const axe = "../../web/testdata/axe/node_modules/axe-core/axe.min.js"

// axe-core finds nothing wrong with any state of the pages, in both themes. What
// it cannot decide is looked at by people.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(axe)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skip("axe-core is not installed: npm ci --prefix web/testdata/axe")
	}
	if err != nil {
		t.Fatal(err)
	}
	browser := startBrowser(t)
	server := unhurried(t)
	for _, theme := range []string{"light", "dark"} {
		unhurried := newSite(t, server)
		t.Run(theme, func(t *testing.T) {
			p := newPlayer(t, browser)
			// High, so that nothing lies over anything else.
			do(p, chromedp.EmulateViewport(map[string]int64{"light": 390, "dark": 1280}[theme], 3000))
			call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
			})
			accessible := func(state string) {
				t.Helper()
				p.settles()
				p.runs("%s", source)
				found := js[struct {
					Rules, Passes int
					Violations    []string
				}](p, `axe.run(document, {resultTypes: ["violations"]}).then(({violations, passes}) => ({
					passes: passes.length,
					violations: violations.flatMap(({id, nodes}) => nodes.map(({target, failureSummary}) => id + " at " + target.join(" ") + ": " + failureSummary)),
				}))`)
				if found.Passes == 0 || len(found.Violations) > 0 {
					t.Errorf("%s: %d rules hold, and not: %s", state, found.Passes, strings.Join(found.Violations, "\n"))
				}
			}
			inDialog := func(id string) {
				t.Helper()
				p.clicks(`at("#menu-open")`, 1)
				p.clicks(fmt.Sprintf(`at("#menu [data-open=%s]")`, id), 1)
				accessible("the dialog " + id)
				p.runs(`at("dialog[open]").close()`)
			}

			p.visits(unhurried)
			accessible("the start")
			p.begins(unhurried)
			p.plays(func() { p.clicks(button("港へ"), 1) })
			accessible("the story")
			p.clicks(`at("#menu-open")`, 1)
			accessible("the menu")
			p.runs(`at("#menu").close()`)
			inDialog("records")
			inDialog("reader")
			inDialog("help")
			p.clicks(`at("#menu-open")`, 1)
			p.clicks(`at("#menu [data-restart]")`, 1)
			accessible("the question")
			p.clicks(`at("#ask-yes")`, 1)
			eventually(t, "the new game is there", func() bool { return js[bool](p, `at("#aside").checkVisibility()`) })
			accessible("a game set aside")

			call(p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
				MatchedNetworkConditions: []*network.Conditions{{Offline: true}},
			})
			call(p, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: true})
			p.types("港へ行く")
			p.enters()
			p.told("通信が切れているようです。つながったら、もう一度送れます。")
			accessible("offline")
			call(p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{}})
			call(p, network.OverrideNetworkState, network.OverrideNetworkStateParams{})

			p.saves(`record.tab = "another"`)
			p.runs(`dispatchEvent(new StorageEvent("storage", {key: "kiribashiri"}))`)
			accessible("two tabs")
			p.runs(`localStorage.kiribashiri = "{}"`)
			p.visits(unhurried)
			accessible("a save that cannot be read")
			p.runs(`localStorage.clear()`)

			hurried := start(t, "KIRI_PER_IP_PER_SEC=0.001", "KIRI_PER_IP_BURST=1")
			p.begins(hurried)
			p.types("港へ行く")
			p.enters()
			p.told("（少し待ってからもう一度）")
			accessible("a refused move")

			do(p, chromedp.Navigate(hurried.url+"/token-bucket?capacity=10&refill_rate=2&tokens=5&elapsed=1.5&request_count=30"))
			accessible("the calculator")
			do(p, chromedp.Navigate(hurried.url+"/token-bucket?capacity=&refill_rate=2&tokens=5&elapsed=1.5&request_count=30"))
			accessible("the calculator with a mistake")
		})
	}
}
