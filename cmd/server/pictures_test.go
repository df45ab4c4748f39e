package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"kiribashiri/web"
)

var update = flag.Bool("update", false, "make the pictures in docs/ anew")

// The README's pictures show the page and the story as they are. With -update
// they are made; otherwise the test fails once either has changed since. Letters
// look different on every machine, so it is not the pixels that are compared.
func TestPictures(t *testing.T) {
	const docs, sums = "../../docs", "../../docs/pictures.sum"
	browser := startBrowser(t)
	s := unhurried(t)
	var made strings.Builder
	for _, row := range []struct {
		name          string
		width, height int64
		scale         float64
		theme         string
	}{
		{"phone-light", 390, 844, 2, "light"},
		{"phone-dark", 390, 844, 2, "dark"},
		{"desktop-light", 1280, 800, 1, "light"},
		{"desktop-dark", 1280, 800, 1, "dark"},
	} {
		at := newSite(t, s)
		t.Run(row.name, func(t *testing.T) {
			p := newPlayer(t, browser)
			do(p, chromedp.EmulateViewport(row.width, row.height, chromedp.EmulateScale(row.scale)))
			call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: row.theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			}})
			p.begins(at)
			p.plays(func() { p.clicks(button("港へ"), 1) })
			p.types("船長に霧の話を聞く")
			p.plays(p.enters)
			p.runs(`at("#box").blur()`) // a caret blinks
			p.settles()
			fmt.Fprintf(&made, "%s  %s\n", pictureSum(t, js[string](p, `document.body.innerText`)), row.name)

			file := filepath.Join(docs, row.name+".png")
			if *update {
				if !js[bool](p, `document.fonts.check("16px 'Noto Sans CJK JP'")`) {
					t.Fatal("no Japanese font: install Noto Sans CJK JP")
				}
				if err := os.WriteFile(file, do(p, chromedp.CaptureScreenshot()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			picture, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			size, err := png.DecodeConfig(bytes.NewReader(picture))
			if err != nil || size.Width != int(float64(row.width)*row.scale) || size.Height != int(float64(row.height)*row.scale) {
				t.Errorf("%s: %d by %d, %v", file, size.Width, size.Height, err)
			}
			for _, readme := range []string{"../../README.md", "../../README.ja.md"} {
				if text, err := os.ReadFile(readme); err != nil || !bytes.Contains(text, []byte("docs/"+row.name+".png")) {
					t.Errorf("%s does not show %s", readme, file)
				}
			}
		})
	}
	if *update {
		if err := os.WriteFile(sums, []byte(made.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(sums); err != nil || string(kept) != made.String() {
		t.Errorf("the pictures in docs/ are of another page or story (%v): go test ./cmd/server -run TestPictures -update", err)
	}
}

// pictureSum stands for what a picture shows: the page's files and its text.
func pictureSum(t *testing.T, text string) string {
	t.Helper()
	sum := sha256.New()
	err := fs.WalkDir(web.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, "calculator.") {
			return err
		}
		file, err := web.Files.ReadFile(name)
		fmt.Fprintf(sum, "%s %d %s\n", name, len(file), file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(sum, text)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
