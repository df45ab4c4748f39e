package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// What the reader keeps: slots, files, the story as a text.
var recordRows = []browserRow{
	{"what is written to a file comes back from it", testFile},
	{"a file that is no record changes nothing", testOtherFile},
	{"slots are filled, written over, opened and emptied", testSlots},
	{"the story as a text", testTranscript},
}

func testFile(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	p.says("船長に霧の話を聞く")
	p.types("書きかけ")
	before := p.shown()
	p.opensDialog("records")
	name, _ := p.downloads(func() { p.clicks(`at("#export")`, 1) })
	do(p, chromedp.Navigate(p.site.url+"/token-bucket")) // what the page last saved is gone, too
	p.runs(`localStorage.clear()`)
	p.visits(p.site)
	p.opensDialog("records") // from the first page
	p.imports(name)
	before.Box = p.shown().Box // what was not sent when the file was written
	eventually(t, "the game is there", func() bool { return js[bool](p, `!at("#dock").hidden && !at("dialog[open]")`) })
	if got := p.shown(); got != before {
		t.Errorf("after the import: %+v\nwant %+v", got, before)
	}
	p.tellsStatus("記録を開きました。")
	p.undoes()
	if got := p.shown().Place; got != "港" {
		t.Errorf("one move earlier the place is %q", got)
	}
	p.visits(p.site)
	p.chooses("番屋へ")

	replaced := p.shown()
	for _, answer := range []string{"no", "yes"} {
		p.opensDialog("records")
		p.imports(name)
		p.asks("この記録を開きますか？", "いまの物語（2手目まで）と入れ替わります。次の一手までは、元に戻せます。", answer)
		if got := p.shown(); answer == "no" && got != replaced {
			t.Errorf("after no: %+v\nwant %+v", got, replaced)
		}
		p.escapes()
	}
	eventually(t, "the game is there", func() bool { return p.shown().Story == before.Story })
	p.visits(p.site)
	p.clicks(button("元に戻す"), 1)
	if got := p.shown(); got != replaced {
		t.Errorf("taken back: %+v\nwant %+v", got, replaced)
	}
}

func testOtherFile(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	before := p.shown()
	p.opensDialog("records")
	for name, content := range map[string]string{
		"picture.json": "\x89PNG\r\n",
		"list.json":    `[1,2]`,
		"future.json":  js[string](p, `JSON.stringify({...saved(), format: 2})`),
		"empty.json":   js[string](p, `JSON.stringify({...saved(), turns: []})`),
		"huge.json":    js[string](p, `JSON.stringify(saved())`) + strings.Repeat(" ", 6_000_001),
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		p.imports(file)
		p.tellsRecords("「" + name + "」は、この物語の記録として読めませんでした。")
		if got := p.shown(); got != before || js[bool](p, `at("#ask").open`) {
			t.Errorf("after %s: %+v\nwant %+v", name, got, before)
		}
	}
}

func testSlots(t *testing.T, p *player) {
	p.begins(p.site)
	p.chooses("港へ")
	atHarbor := p.shown()
	p.keepsInSlot(`灯り<b>と霧`)
	p.tellsRecords(`「灯り<b>と霧」を残しました。`)
	slot := func() string {
		return js[string](p, `at("#slots li").innerText.replace(/\d{4}.*/, "").replace(/\s+/g, " ")`)
	}
	if got, want := slot(), `1：灯り<b>と霧 港、1手目、 `; !strings.HasPrefix(got, want) {
		t.Errorf("the slot shows %q, want %q", got, want)
	}
	p.escapes()
	p.chooses("番屋へ")

	p.opensDialog("records")
	for _, row := range []struct{ answer, want string }{{"no", "1：灯り<b>と霧 港"}, {"yes", "1：番屋 番屋"}} {
		p.clicks(`at("#slots li button")`, 1)
		p.asks("上書きしますか？", "「灯り<b>と霧」は、いまの物語に置きかわります。元には戻せません。", row.answer)
		eventually(t, "the slot shows "+row.want, func() bool { return strings.HasPrefix(slot(), row.want) })
	}
	p.escapes()
	p.chooses("港へ")
	if got := p.shown(); got == atHarbor {
		t.Fatal("nothing has changed")
	}

	p.opensDialog("records")
	before := p.shown()
	for _, answer := range []string{"no", "yes"} {
		p.clicks(`at("#slots li button:nth-child(2)")`, 1)
		p.asks("この記録を開きますか？", "いまの物語（3手目まで）と入れ替わります。次の一手までは、元に戻せます。", answer)
		if got := p.shown(); answer == "no" && got != before {
			t.Errorf("after no: %+v\nwant %+v", got, before)
		}
	}
	eventually(t, "the record is open", func() bool { return p.shown().Place == "番屋" })
	p.visits(p.site)
	p.clicks(button("元に戻す"), 1)
	if got := p.shown(); got.Story != before.Story || got.Place != before.Place {
		t.Errorf("taken back: %+v\nwant %+v", got, before)
	}

	p.opensDialog("records")
	for _, row := range []struct{ answer, want string }{{"no", "1：番屋 番屋"}, {"yes", "1：空き"}} {
		p.clicks(`at("#slots li button:nth-child(3)")`, 1)
		p.asks("記録を消しますか？", "「番屋」を消します。元には戻せません。", row.answer)
		eventually(t, "the slot shows "+row.want, func() bool { return strings.HasPrefix(slot(), row.want) })
	}
	if js[bool](p, `Object.keys(localStorage).some((key) => key.includes("slot"))`) {
		t.Error("an emptied slot is still kept")
	}
}

func testTranscript(t *testing.T, p *player) {
	p.begins(p.site)
	p.says("港へ行く")
	p.site.refuses()
	p.types("船長に話す")
	p.enters()
	p.told("（少し待ってからもう一度）")
	want := js[string](p, `"霧走り\n\n" + saved().turns[0].text + "\n\n＞ 港へ行く\n\n" + saved().turns[1].text + "\n"`)
	p.opensDialog("records")
	if name, text := p.downloads(func() { p.clicks(`at("#text")`, 1) }); text != want || filepath.Ext(name) != ".txt" {
		t.Errorf("the file %s holds %q, want %q", name, text, want)
	}
	p.clicks(`at("#copy")`, 1)
	p.tellsRecords("コピーしました。")
	p.runs(`at("#records").append(document.createElement("textarea")), at("textarea").focus()`)
	call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "Paste", Commands: []string{"paste"}})
	if got := js[string](p, `at("textarea").value`); got != want {
		t.Errorf("copied: %q, want %q", got, want)
	}
	p.runs(`navigator.clipboard.writeText = () => Promise.reject(new Error("no"))`)
	p.clicks(`at("#copy")`, 1)
	p.tellsRecords("コピーできませんでした。文書で保存するほうを使ってください。")
}

// opensDialog goes through the menu where there is one.
func (p *player) opensDialog(id string) {
	p.t.Helper()
	if js[bool](p, `at("#menu-open").checkVisibility()`) {
		p.clicks(`at("#menu-open")`, 1)
		eventually(p.t, "the menu is open", func() bool { return js[bool](p, `at("#menu").open`) })
		p.clicks(`at("#menu [data-open=`+id+`]")`, 1)
	} else {
		p.clicks(`at("#start [data-open=`+id+`]")`, 1)
	}
	eventually(p.t, id+" is open", func() bool { return js[bool](p, `at("#%s").open && !at("#menu").open`, id) })
}

// asks claims what the page asks, and answers it with yes or no.
func (p *player) asks(title, text, answer string) {
	p.t.Helper()
	eventually(p.t, "the page asks", func() bool { return js[bool](p, `at("#ask").open`) })
	if got := js[string](p, `at("#ask-title").innerText + at("#ask-text").innerText`); got != title+text {
		p.t.Errorf("the page asks %q, want %q", got, title+text)
	}
	p.clicks(`at("#ask [value=`+answer+`]")`, 1)
	p.settles()
}

func (p *player) tellsRecords(want string) {
	p.t.Helper()
	eventually(p.t, "the records say "+want, func() bool { return js[string](p, `at("#records-status").innerText`) == want })
}

// keepsInSlot keeps the game in the first slot and leaves the dialog open.
func (p *player) keepsInSlot(name string) {
	p.t.Helper()
	p.opensDialog("records")
	p.runs(`at("#name").value = %q`, name)
	p.clicks(`at("#slots li button")`, 1)
	p.settles()
}

// opensSlot opens the record in the first slot.
func (p *player) opensSlot() {
	p.t.Helper()
	if !js[bool](p, `at("#records").open`) {
		p.opensDialog("records")
	}
	p.clicks(`at("#slots li button:nth-child(2)")`, 1)
	p.clicks(`at("#ask [value=yes]")`, 1)
	eventually(p.t, "the record is open", func() bool { return !js[bool](p, `!!at("dialog[open]")`) })
}

// downloads claims that what act does gives the reader one file.
func (p *player) downloads(act func()) (name, text string) {
	p.t.Helper()
	folder := p.t.TempDir()
	do(p, func(ctx context.Context, _ *chromedp.Target) (cdp.Empty, error) {
		return chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder})
	})
	act()
	eventually(p.t, "a file is there", func() bool {
		files, _ := filepath.Glob(filepath.Join(folder, "霧走り-*"))
		if len(files) != 1 || strings.HasSuffix(files[0], ".crdownload") {
			return false
		}
		content, err := os.ReadFile(files[0])
		name, text = files[0], string(content)
		return err == nil
	})
	return name, text
}

// imports chooses a file for the open records.
func (p *player) imports(file string) {
	p.t.Helper()
	call(p, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true})
	chooser := do(p, chromedp.WaitEvent(page.FileChooserOpened, nil, chromedp.Func(func(context.Context, *chromedp.Target) error {
		p.clicks(`at("#import")`, 1)
		return nil
	})))
	call(p, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{file}, BackendNodeID: chooser.BackendNodeID})
	p.settles()
}
