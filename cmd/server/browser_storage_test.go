package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// What the browser keeps for us may be full, refused, or of another version.
var storageRows = []browserRow{
	{"where space is short the moves to take back go first, then the oldest turns", testShortSpace},
	{"where nothing fits the last good save stays", testNoSpace},
	{"a full storage keeps no slot, and a game anew is still taken back", testFullOtherwise},
	{"a browser that refuses storage", testNoStorage},
	{"a save of another version", testForeignSave},
	{"a save that the engine cannot read", testForeignState},
	{"a save that was sealed with another key", testForeignSeal},
}

const (
	shortened = "保存の空きが足りません。古いところを省いて残しています。書き出すと、すべて残せます。"
	notSaved  = "この端末に保存できません。書き出しておくと、続きをなくしません。"
)

// fills leaves no room in the storage.
func (p *player) fills() {
	p.t.Helper()
	p.runs(`for (let size = 1 << 22, n = localStorage.length; size >= 1;) {
		try { localStorage["filler" + n++] = "x".repeat(size); } catch { size /= 2; }
	}`)
}

func (p *player) makesRoom() {
	p.t.Helper()
	p.runs(`for (const key of Object.keys(localStorage)) if (key.startsWith("filler")) delete localStorage[key];`)
}

// warned claims what the page says of saving.
func (p *player) warned(want string) {
	p.t.Helper()
	if got := js[string](p, `at("#warning").checkVisibility() ? at("#warning-text").innerText : ""`); got != want {
		p.t.Errorf("the warning says %q, want %q", got, want)
	}
}

// exports claims that the page's record is written to a file, and returns it.
func (p *player) exports(button string) (record struct{ Turns, Undo []any }) {
	p.t.Helper()
	_, text := p.downloads(func() { p.clicks(button, 1) })
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		p.t.Errorf("the exported %q: %v", text, err)
	}
	return record
}

func testShortSpace(t *testing.T, p *player) {
	p.begins(p.site)
	for range 3 {
		p.chooses("港へ")
		p.chooses("バス停へ")
	}
	p.fills()
	p.chooses("港へ")
	p.warned("")
	if got := js[string](p, `[saved().first, saved().turns.length, saved().undo.length].join()`); got != "0,8,0" {
		t.Errorf("first, turns and undo of the save are %s, want all turns and nothing to take back", got)
	}
	p.fills()
	p.says("あたりを見る") // which leaves the buttons as they are, so that the record can only grow
	p.warned(shortened)
	p.tellsStatus(shortened)
	if got := js[[]int](p, `[saved().turns.length, saved().first, saved().undo.length]`); got[0]+got[1] != 9 || got[0] == 9 || got[0] < 1 || got[2] != 0 {
		t.Errorf("turns, first and undo of the save are %v, want the latest of 9 and nothing to take back", got)
	}
	if got := p.exports(`at("#warning [data-export]")`); len(got.Turns) != 9 || len(got.Undo) != 8 {
		t.Errorf("%d turns and %d to take back are exported, want 9 and 8", len(got.Turns), len(got.Undo))
	}
	before := p.shown()
	p.visits(p.site)
	if got := p.shown(); got.Place != "港" || got.Story == "" || !strings.HasSuffix(before.Story, got.Story) {
		t.Errorf("after a reload: %+v, want the end of %+v", got, before)
	}
	p.makesRoom()
	p.chooses("番屋へ")
	p.warned("")
}

func testNoSpace(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	saved := js[string](p, `localStorage.kiribashiri`)
	good := p.shown()
	p.fills()
	p.site.answers(200, `{"text":"`+strings.Repeat("霧", 20_000)+`","state":{},"place":"霧の中","places":[{"label":"奥へ","kind":"move","input":"a"}]}`)
	p.says("霧に入る")
	p.tellsStatus(notSaved)
	p.warned(notSaved)
	p.says("霧に入る")
	p.warned(notSaved)
	if got := js[string](p, `localStorage.kiribashiri`); got != saved {
		t.Error("the last good save has changed")
	}
	if got := p.exports(`at("#warning [data-export]")`); len(got.Turns) != 4 {
		t.Errorf("%d turns are exported, want 4", len(got.Turns))
	}
	p.undoes()
	p.undoes()
	p.warned("") // it is what is saved
	p.says("霧に入る")
	p.visits(p.site)
	if got := p.shown(); got != good {
		t.Errorf("after a reload: %+v\nwant %+v", got, good)
	}
}

func testFullOtherwise(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	before := p.shown()
	p.fills()
	p.keepsInSlot("入らない")
	p.tellsRecords("空きが足りず、残せませんでした。書き出すか、ほかの記録を消してください。")
	p.escapes()
	p.beginsAnew()
	p.clicks(button("元に戻す"), 1)
	if got := p.shown(); got.Story != before.Story || got.Place != before.Place {
		t.Errorf("taken back: %+v\nwant %+v", got, before)
	}
	p.chooses("番屋へ")
}

// A browser whose reader has it keep nothing: it throws when storage is but read.
func testNoStorage(t *testing.T, _ *player) {
	profile := t.TempDir()
	if err := os.MkdirAll(filepath.Join(profile, "Default"), 0o700); err != nil {
		t.Fatal(err)
	}
	refuses := `{"profile":{"default_content_setting_values":{"cookies":2}}}`
	if err := os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(refuses), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlayer(t, startBrowser(t, chromedp.UserDataDir(profile)))
	p.site = newSite(t, unhurried(t))
	p.visits(p.site)
	if !js[bool](p, `(() => { try { return localStorage && false; } catch { return true; } })()`) {
		t.Fatal("the browser refuses nothing")
	}
	p.chooses("はじめる")
	p.tellsStatus(notSaved)
	p.warned(notSaved)
	p.chooses("港へ")
	p.warned(notSaved)
	p.undoes()
	if got := p.exports(`at("#warning [data-export]")`); len(got.Turns) != 1 {
		t.Errorf("%d turns are exported, want 1", len(got.Turns))
	}
	p.keepsInSlot("入らない")
	p.tellsRecords("空きが足りず、残せませんでした。書き出すか、ほかの記録を消してください。")
	p.escapes()
	p.opensDialog("reader")
	p.clicks(`at("#reader [value=mincho]")`, 1)
	if got := js[string](p, `at("#reader-status").innerText + document.documentElement.dataset.face`); got != "この端末には残せません。ページを閉じるまで有効です。mincho" {
		t.Errorf("the reader's choice: %q", got)
	}
}

func testForeignSave(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	p.saves(`record.format = 2`)
	saved := js[string](p, `localStorage.kiribashiri`)
	for _, answer := range []string{"no", "yes"} {
		p.visits(p.site)
		p.told("この記録は今の版では読めません。")
		if _, text := p.downloads(func() { p.clicks(`at("#notice [data-export]")`, 1) }); text != saved {
			t.Errorf("exported: %q\nwant %q", text, saved)
		}
		if js[bool](p, `localStorage.kiribashiri !== %q`, saved) || p.posts() != 2 {
			t.Error("the save has changed, or a move was made of it")
		}
		p.clicks(`at("#begin")`, 1)
		p.asks("はじめから遊びますか？", "読めない記録は、次の一手まで残してあります。要るときは、先に書き出してください。", answer)
		p.settles()
	}
	p.told("")
	p.showsOpening()
	p.visits(p.site)
	p.clicks(button("元に戻す"), 1)
	p.ready()
	eventually(t, "it says again that it cannot be read", func() bool { return js[bool](p, `at("#notice").checkVisibility()`) })
	if got := js[string](p, `localStorage.kiribashiri`); got != saved {
		t.Errorf("taken back: %q\nwant %q", got, saved)
	}
}

func testForeignState(t *testing.T, p *player) {
	p.begins(p.site)
	p.saves(`record.state = {v: 1, story: "another", place: "moon"}`)
	p.visits(p.site)
	p.types("港へ行く")
	before := p.shown()
	p.enters()
	for _, answer := range []string{"no", "yes"} {
		p.told("この記録は今の版では読めません。")
		if got := p.shown(); got != before || !js[bool](p, `at("#notice-kept").checkVisibility()`) {
			t.Errorf("after the refusal: %+v\nwant %+v, and that it says so", got, before)
		}
		if got := p.exports(`at("#notice [data-export]")`); len(got.Turns) != 1 {
			t.Errorf("%d turns are exported, want 1", len(got.Turns))
		}
		p.clicks(`at("#notice [data-restart]")`, 1)
		p.clicks(`at("#ask [value=`+answer+`]")`, 1)
		p.settles()
	}
	eventually(t, "a new game has begun", func() bool { return js[bool](p, `saved().state.story !== "another"`) })
	p.told("")
}

// A server that has lost its key refuses the state; with the key again it goes on
// from the very same save.
func testForeignSeal(t *testing.T, p *player) {
	s := start(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000", "KIRI_STATE_KEY_FILE="+writeKeys(t, 1))
	p.begins(s)
	p.chooses("港へ")
	if got := js[string](p, `saved().state`); !strings.HasPrefix(got, "k1.") {
		t.Fatalf("the state is %q", got)
	}
	restart := func(keys string) {
		s.dies()
		s.cmd.Env = append(s.cmd.Env, "KIRI_STATE_KEY_FILE="+keys)
		s.restarts()
		s.well()
	}
	restart(writeKeys(t, 2))
	p.types("番屋へ行く")
	before := p.shown()
	for range 2 { // it is not for trying again, but may be tried
		p.enters()
		p.told("この記録は今の版では読めません。")
		if got := p.shown(); got != before || !js[bool](p, `at("#notice-kept").checkVisibility()`) {
			t.Errorf("after the refusal: %+v\nwant %+v, and that it says so", got, before)
		}
		if got := p.exports(`at("#notice [data-export]")`); len(got.Turns) != 2 {
			t.Errorf("%d turns are exported, want 2", len(got.Turns))
		}
		p.runs(`at("#box").focus()`)
	}
	restart(writeKeys(t, 3, 1))
	p.visits(s)
	p.says("番屋へ行く")
	if got := p.shown().Place; got != "番屋" {
		t.Errorf("with its key again the game is at %q", got)
	}
}
