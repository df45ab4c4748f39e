package main

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// What was written before comes back into the box by the arrow keys.
var lineRows = []browserRow{
	{"up and down, and the draft is back", testRecall},
	{"a recalled line that is changed becomes the draft", testRecalledChanged},
	{"an input method has the arrows and Escape to itself", testComposingKeys},
}

// box is what the box holds, with a bar where the caret is.
func (p *player) box() string {
	p.t.Helper()
	return js[string](p, `(({value, selectionStart: at}) => value.slice(0, at) + "|" + value.slice(at))(at("#box"))`)
}

func testRecall(t *testing.T, p *player) {
	p.begins(p.site)
	p.says("港へ行く")
	p.chooses("番屋へ") // is no line
	p.says("あたりを見る")
	p.site.refuses()
	p.types("送れない")
	p.enters()
	p.told("（少し待ってからもう一度）") // nor is this one
	p.clears()
	p.types("書きかけ")
	for _, row := range []struct {
		code int64
		want string
	}{
		{down, "書きかけ|"},
		{up, "あたりを見る|"}, {up, "港へ行く|"}, {up, "|港へ行く"}, // there is nothing older, so the key is the browser's
		{down, "あたりを見る|"}, {down, "書きかけ|"}, {down, "書きかけ|"},
	} {
		p.key(row.code, false)
		if got := p.box(); got != row.want {
			t.Errorf("after key %d the box holds %q, want %q", row.code, got, row.want)
		}
	}
	for name, modifier := range map[string]chromedp.Modifier{"Shift": chromedp.ModifierShift, "Alt": chromedp.ModifierAlt, "Ctrl": chromedp.ModifierCtrl} {
		call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "ArrowUp", Code: "ArrowUp", WindowsVirtualKeyCode: up, Modifiers: int64(modifier)})
		if got := p.shown().Box; got != "書きかけ" {
			t.Errorf("%s and Up bring %q", name, got)
		}
	}
	p.visits(p.site)
	p.key(up, false)
	if got := p.box(); got != "あたりを見る|" {
		t.Errorf("after a reload Up brings %q", got)
	}
}

func testRecalledChanged(t *testing.T, p *player) {
	p.begins(p.site)
	p.says("港へ行く")
	p.says("番屋へ行く")
	p.types("書きかけ")
	p.key(up, false)
	p.key(up, false)
	p.types("か")
	for _, row := range []struct {
		code int64
		want string
	}{{down, "港へ行くか|"}, {up, "番屋へ行く|"}, {down, "港へ行くか|"}} {
		p.key(row.code, false)
		if got := p.box(); got != row.want {
			t.Errorf("after key %d the box holds %q, want %q", row.code, got, row.want)
		}
	}
	p.key(up, false)
	p.plays(p.enters) // as it is
	p.key(up, false)
	p.key(up, false)
	if got := p.box(); got != "番屋へ行く|" {
		t.Errorf("after a recalled line was sent, two times Up bring %q", got)
	}
}

func testComposingKeys(t *testing.T, p *player) {
	const processed = 229
	p.begins(p.site)
	p.says("港へ行く")
	p.runs(`at("#box").focus()`)
	p.composes("にほんご")
	for _, row := range []struct {
		name string
		code int64
	}{{"ArrowUp", up}, {"ArrowUp", processed}, {"ArrowDown", down}, {"ArrowDown", processed}, {"Escape", '\x1b'}, {"Escape", processed}} {
		p.keyNamed(row.name, row.code, false)
		if got := p.shown().Box; got != "にほんご" {
			t.Errorf("%s of code %d: the box holds %q", row.name, row.code, got)
		}
	}
	// Safari ends the composition before it tells of the key.
	p.types("日本語")
	p.settles()
	p.keyNamed("ArrowUp", processed, false)
	if got := p.shown().Box; got != "日本語" {
		t.Errorf("after the composition: the box holds %q", got)
	}

	p.opensDialog("records")
	p.runs(`at("#name").focus()`)
	p.composes("なまえ")
	for _, code := range []int64{'\x1b', processed} {
		p.keyNamed("Escape", code, false)
		p.settles()
		if !js[bool](p, `at("#records").open`) {
			t.Errorf("Escape of code %d closes the dialog", code)
		}
	}
	call(p, input.InsertText, input.InsertTextParams{Text: "名前"})
	p.settles()
	p.keyNamed("Escape", processed, false)
	p.settles()
	if !js[bool](p, `at("#records").open && at("#name").value === "名前"`) {
		t.Error("the Escape that ended a composition closes the dialog")
	}
	p.key('\x1b', false)
	eventually(t, "a plain Escape closes it", func() bool { return !js[bool](p, `at("#records").open`) })
}
