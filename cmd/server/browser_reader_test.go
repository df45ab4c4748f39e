package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// How the reader wants the page.
var readerRows = []browserRow{
	{"each wish is seen at once, kept, and followed by other tabs", testReaderWishes},
	{"no wish, or one that is none", testNoWish},
	{"a dark page is dark from its first frame", testDarkFromTheStart},
}

// look is how the page looks.
type look struct {
	Size, Spacing, Paper, Scheme, Light, Dark string
	Mincho                                    bool
}

func (p *player) look() look {
	p.t.Helper()
	return js[look](p, `(({fontSize, lineHeight, backgroundColor, colorScheme, fontFamily}) => ({
		size: fontSize, spacing: (parseFloat(lineHeight) / parseFloat(fontSize)).toFixed(2), paper: backgroundColor, scheme: colorScheme,
		light: document.querySelectorAll("meta[name=theme-color]")[0].content, dark: document.querySelectorAll("meta[name=theme-color]")[1].content,
		mincho: fontFamily.startsWith('"Hiragino Mincho'),
	}))({...getComputedStyle(at("body")), backgroundColor: getComputedStyle(document.documentElement).backgroundColor,
		fontSize: getComputedStyle(at(".turn p")).fontSize, lineHeight: getComputedStyle(at(".turn p")).lineHeight,
		fontFamily: getComputedStyle(at(".turn p")).fontFamily, colorScheme: at("meta[name=color-scheme]").content})`)
}

func (p *player) prefers(scheme string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

func testReaderWishes(t *testing.T, p *player) {
	const light, dark = "rgb(246, 246, 243)", "rgb(19, 24, 27)"
	p.prefers("light")
	p.begins(p.site)
	other := p.another()
	other.prefers("light")
	other.visits(p.site)
	want := p.look()
	if want.Paper != light || want.Light == want.Dark {
		t.Fatalf("at first: %+v", want)
	}
	p.opensDialog("reader")
	for _, row := range []struct {
		value  string
		wishes func()
	}{
		{"size][value=small", func() { want.Size = "16.2px" }},
		{"size][value=large", func() { want.Size = "21.6px" }},
		{"size][value=larger", func() { want.Size = "26.1px" }},
		{"size][value=normal", func() { want.Size = "18px" }},
		{"spacing][value=narrow", func() { want.Spacing = "1.61" }},
		{"spacing][value=wide", func() { want.Spacing = "2.15" }},
		{"spacing][value=normal", func() { want.Spacing = "1.85" }},
		{"face][value=mincho", func() { want.Mincho = true }},
		{"theme][value=dark", func() { want.Paper, want.Scheme, want.Light = dark, "dark", want.Dark }},
	} {
		p.clicks(`at("#reader [name=`+row.value+`]")`, 1)
		row.wishes()
		if got := p.look(); got != want {
			t.Errorf("%s: %+v\nwant %+v", row.value, got, want)
		}
		eventually(t, "the other tab follows", func() bool { return other.look() == want })
	}
	p.visits(p.site)
	if got := p.look(); got != want {
		t.Errorf("after a reload: %+v\nwant %+v", got, want)
	}
	p.opensDialog("reader")
	if got := js[string](p, `[...document.querySelectorAll("#reader :checked")].map((e) => e.value).join()`); got != "normal,normal,mincho,dark" {
		t.Errorf("the dialog shows %s", got)
	}
	p.prefers("dark")
	p.clicks(`at("#reader [name=theme][value=light]")`, 1)
	if got := p.look(); got.Paper != light || got.Scheme != "light" || got.Dark != got.Light {
		t.Errorf("a light page on a dark screen: %+v", got)
	}
}

func testNoWish(t *testing.T, p *player) {
	p.prefers("dark")
	p.begins(p.site)
	want := p.look()
	if want.Paper != "rgb(19, 24, 27)" || want.Scheme != "light dark" || want.Mincho {
		t.Errorf("without a wish the page is not as the screen: %+v", want)
	}
	for _, kept := range []string{`{"theme":"purple","size":7,"face":null}`, `[1]`, `{`, `"dark"`} {
		p.runs(`localStorage["kiribashiri.reader"] = %q`, kept)
		p.visits(p.site)
		if got := p.look(); got != want {
			t.Errorf("with %s kept: %+v\nwant %+v", kept, got, want)
		}
	}
}

// The styles are late, and the script that plays is later still. The page before
// is dark as well, so no frame may be light.
func testDarkFromTheStart(t *testing.T, p *player) {
	p.prefers("light")
	p.begins(p.site)
	p.runs(`shelf.keepReader({theme: "dark"})`)
	eventually(t, "the page is dark", func() bool { return isDark(p.pictured()) })
	call(p, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	frames, end := p.films()
	letStyle, _ := p.site.keeps("/style.css")
	letScript, _ := p.site.keeps("/app.js")
	waits := len(p.asked())
	call(p, page.Reload, page.ReloadParams{})
	eventually(t, "styles and script are asked for", func() bool {
		n := 0
		for _, r := range p.asked()[waits:] {
			if strings.HasSuffix(r.url, "/style.css") || strings.HasSuffix(r.url, "/app.js") {
				n++
			}
		}
		return n == 2
	})
	eventually(t, "the first script has run", func() bool { return js[bool](p, `"theme" in document.documentElement.dataset`) })
	if got := js[string](p, `[document.documentElement.dataset.theme, at("meta[name=color-scheme]").content, performance.getEntriesByType("paint").length].join()`); got != "dark,dark,0" {
		t.Errorf("before the styles: %s, want a dark page of which nothing is painted", got)
	}
	letStyle()
	eventually(t, "the styles are there", func() bool { return js[int](p, `document.styleSheets.length`) == 1 })
	if !isDark(p.pictured()) || !js[bool](p, `!!at("#loading")`) {
		t.Error("before the script plays, the page is light")
	}
	letScript()
	p.ready()
	eventually(t, "something is filmed", func() bool { return len(frames()) > 0 })
	end()
	for i, frame := range frames() {
		if !isDark(frame) {
			t.Errorf("frame %d of %d is light", i+1, len(frames()))
		}
	}
}

func (p *player) pictured() image.Image {
	p.t.Helper()
	picture, err := png.Decode(bytes.NewReader(do(p, chromedp.CaptureScreenshot())))
	if err != nil {
		p.t.Fatal(err)
	}
	return picture
}

func isDark(picture image.Image) bool {
	return color.GrayModel.Convert(picture.At(3, 3)).(color.Gray).Y < 64
}

// films writes down each frame that the tab shows from now to the end.
func (p *player) films() (frames func() []image.Image, end func()) {
	p.t.Helper()
	var mu sync.Mutex
	var all []image.Image
	ctx, cancel := context.WithCancel(p.ctx)
	var filming sync.WaitGroup
	filming.Go(func() {
		for frame, err := range chromedp.Events(ctx, page.ScreencastFrame) {
			if err != nil {
				return
			}
			chromedp.Call(ctx, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: frame.SessionID})
			picture, err := png.Decode(bytes.NewReader(frame.Data))
			if err != nil {
				p.t.Error(err)
				return
			}
			mu.Lock()
			all = append(all, picture)
			mu.Unlock()
		}
	})
	call(p, page.StartScreencast, page.StartScreencastParams{Format: "png"})
	end = sync.OnceFunc(func() { cancel(); filming.Wait() })
	p.t.Cleanup(end)
	return func() []image.Image {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}, end
}
