package advsim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// lampFile is the story that tests are made from.
const lampFile = "testdata/lamp/lamp.yaml"

func lampText(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(lampFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lamp returns the engine of the small story.
func lamp(t testing.TB) *engine {
	t.Helper()
	s, mistakes := load(os.DirFS("testdata/lamp"), "testdata/lamp")
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return newEngine(s)
}

// lookedThrough returns all mistakes of the story in these files.
func lookedThrough(files fstest.MapFS) []mistake {
	s, mistakes := load(files, "story")
	if len(mistakes) == 0 {
		mistakes = check(s, "story")
	}
	return mistakes
}

func TestMistakes(t *testing.T) {
	type found struct {
		on   string // part of the line that the mistake names; empty if it names none
		text string // part of the mistake
	}
	for _, tc := range []struct {
		name     string
		old, new string // what of the sound story is replaced by what
		want     []found
	}{
		{"nothing", "", "", nil},

		// How it is written.
		{"not YAML", "nothing: 手には何もない。", "nothing: \"手には", []found{{"", "not YAML"}}},
		{"a colon that is one too many", "nothing: 手には何もない。", "nothing: 手: には", []found{{"nothing: 手: には", "not YAML"}}},
		{"unknown key", "nothing: 手には何もない。", "nothing: 手には何もない。\nweather: 霧", []found{{"weather", `unknown key "weather"; known here: acts, carried, `}}},
		{"unknown key of a place", "    button: 小屋へ", "    button: 小屋へ\n    buton: 小屋へ", []found{{"buton", `unknown key "buton"; known here: back, button, `}}},
		{"key twice", "    button: 小屋へ", "    button: 小屋へ\n    button: 小屋へ行く", []found{{"小屋へ行く", `"button" is there twice`}}},
		{"start twice", "nothing: ", "start: shed\nnothing: ", []found{{"start: shed", `"start" is there twice`}}},
		{"no opening", "opening: |\n  日が暮れた。塔に灯がない。\n  あなたは桟橋に立っている。\n", "", []found{{"", `"opening" is missing`}}},
		{"text missing", "        text: ひとつだけ、動かない星がある。\n", "", []found{{"unless: [saw_stars]", `"text" is missing`}}},
		{"text empty", "        text: ひとつだけ、動かない星がある。", "        text:", []found{{"        text:\n", `"text" has nothing behind it`}}},
		{"text of spaces", "        text: ひとつだけ、動かない星がある。", `        text: "  "`, []found{{`text: "  "`, "here should be a text"}}},
		{"text a list", "        text: ひとつだけ、動かない星がある。", "        text: [星]", []found{{"text: [星]", "here should be a text"}}},
		{"button of two lines", "    button: 小屋へ", "    button: |\n      小屋へ\n      行く", []found{{"button: |", "one line"}}},
		{"button too long", "    button: 小屋へ", "    button: 桟橋の向こうの古い小屋へ行く", []found{{"古い小屋へ行く", "has 14 characters; a button has room for 12"}}},
		{"a list missing", "      - 星を見る\n      - 星空を眺める\n      - 星を見上げる", "      星を見る", []found{{"      星を見る", "here should be a list"}, {"id: watch_stars", "has 0 different example phrases"}}},
		{"flag without brackets", "unless: [saw_stars]\n        offered", "unless: saw_stars\n        offered", []found{{"unless: saw_stars", "here should be a list"}}},
		{"offered maybe", "        offered: true\n        sets: saw_stars", "        offered: maybe\n        sets: saw_stars", []found{{"maybe", "true or false"}}},
		{"two flags set", "sets: saw_stars", "sets: [saw_stars, heard]", []found{{"sets: [saw", "here should be one id"}, {"- unless: [saw_stars]", "no telling sets it"}}},
		{"id of other letters", "id: watch_stars", "id: watch-stars", []found{{"watch-stars", `"watch-stars" is no id`}}},
		{"alias", "    button: 小屋へ", "    button: &b 小屋へ", []found{{"&b", "anchors"}}},
		{"place a text", "  - id: shed\n", "  - 小屋\n  - id: shed\n", []found{{"  - 小屋", "keys with values"}}},
		{"too few example phrases", "      - 星を見上げる", "      - 星を見る", []found{{"id: watch_stars", "has 2 different example phrases; it needs 3"}}},

		// What it names.
		{"place twice", "  - id: shed\n", "  - id: pier\n", []found{
			{"- id: pier\n    name: 小屋", `id "pier" is there twice: first in story/lamp.yaml, line 16`},
			{"ways: [shed, tower]", `no place "shed"`}, {"    at: shed\n\n", `no place "shed"`}, {"    at: shed\n    says:", `no place "shed"`},
		}},
		{"act twice", "id: lie_down", "id: watch_stars", []found{{"- id: watch_stars\n    label: 横", `act "watch_stars" is there twice`}}},
		{"person with the id of a thing", "  - id: lantern", "  - id: keeper", []found{{"- id: keeper\n    names: [灯籠", `id "keeper" is there twice`}}},
		{"ending twice", "  - id: sleep\n", "  - id: light\n", []found{{"- id: light\n    title: おやすみ", `ending "light" is there twice`}, {"ends: sleep", `no ending "sleep"`}}},
		{"way to nowhere", "ways: [shed, tower]", "ways: [shed, tower, moon]", []found{{"moon", `no place "moon"`}}},
		{"act at no place", "    at: tower\n    says", "    at: moon\n    says", []found{{"at: moon", `no place "moon"`}}},
		{"spoken to nobody", "    to: keeper", "    to: cat", []found{{"to: cat", `no person "cat"`}}},
		{"spoken to a thing", "    to: keeper", "    to: stars", []found{{"to: stars", `no person "stars"`}}},
		{"back not among the ways", "    back: pier\n    text:\n      - text: 番人", "    back: tower\n    text:\n      - text: 番人", []found{{"- id: shed", `back of "shed" leads to "tower"`}}},
		{"needs without closed", "    closed: 塔の中は真っ暗で、足が進まない。\n", "", []found{{"- id: tower", "both needs and closed"}}},
		{"closed without needs", "    back: pier\n    needs: [lit]\n", "    back: pier\n", []found{{"- id: tower", "both needs and closed"}}},
		{"flag never read", "          - if: [saw_stars]\n", "          - if: [saw_star]\n", []found{{"if: [saw_star]", `"saw_star" is read, but no telling sets it`}}},
		{"flag never set", "        sets: saw_stars\n", "", []found{{"- unless: [saw_stars]", `"saw_stars" is read, but no telling sets it`}}},
		{"flag set and never read", "      - offered: true\n        ends: light", "      - sets: hung\n        text: 鉤がある。\n      - offered: true\n        ends: light", []found{{"sets: hung", `"hung" is set, but nothing reads it`}}},
		{"set at the end", "        ends: light\n", "        ends: light\n        sets: saw_stars\n", []found{{"- offered: true\n        ends: light", "cannot set a flag"}}},
		{"button of nothing offered", "      - text: 星は、まだそこにある。", "      - button: 星をまた眺める\n        text: 星は、まだそこにある。", []found{{"- button: 星を", "not offered has no button"}}},

		// How it is played.
		{"way without a way back", "    ways: [shed, tower]", "    ways: [shed]", []found{{"- id: tower", `from "tower" to "pier", but none leads back`}}},
		{"way to itself", "    ways: [shed, tower]", "    ways: [shed, tower, pier]", []found{{"- id: pier", "to itself"}}},
		{"start that needs something", "    ways: [shed, tower]", "    needs: [heard]\n    closed: だめだ。\n    ways: [shed, tower]", []found{{"- id: pier", "cannot need anything"}}},
		{"place out of reach", "    ways: [shed, tower]\n", "    ways: [shed]\n", []found{{"- id: tower", "none leads back"}}},
		{"place behind a door that it has the key of", "    at: shed\n    says:\n      - ランプを手に取る", "    at: tower\n    says:\n      - ランプを手に取る", []found{
			{"- id: tower", `place "tower" cannot be reached`}, {"- id: light\n", `ending "light" cannot be reached`},
			{"- id: light_lamp", "can never be done"}, {"- if: [lit]\n        text: ランプの光", "can never come: its condition never holds here"},
			{"- if: [has_lamp]\n    text", "this line can never come"}, {"  - text: 塔へ行こう", "this hint can never come"},
		}},
		{"same label", "    label: 横になる", "    label: 星を眺める", []found{{"- id: lie_down", `same label as "watch_stars"`}, {"- id: lie_down", `taken for act "watch_stars"`}}},
		{"label of a way", "    label: 横になる", "    label: 小屋へ", []found{{"- id: lie_down", `label of the way to "shed"`}}},
		{"name twice", "names: [星, ほし]", "names: [星, ほし, 灯り]", []found{{"- id: stars", `"stars" has the name "灯り", which is already that of "lamp"`}}},
		{"name twice of one", "names: [星, ほし]", "names: [星, ほし, ホシ]", []found{{"- id: stars", `"stars" has the name "ホシ" twice`}}},
		{"example phrase of two acts", "      - 眠る\n", "      - 星を見る\n", []found{
			{"- 星を見る\n      - 星空", `「星を見る」 means act "watch_stars", but at "pier" it is taken for either act`},
			{"- 星を見る\n      - 桟橋", `「星を見る」 means act "lie_down", but at "pier" it is taken for either act`},
		}},
		{"name of a place that means something else", "    name: 小屋\n", "    name: 横になる\n", []found{{"- id: shed", `「横になる」 means the way to "shed", but at "pier" it is taken for act "lie_down"`}}},
		{"telling below one that always holds", "      - text: 「頼んだよ」", "      - text: 「頼んだよ」\n      - if: [heard]\n        text: 「頼んだよ、ほんとに」", []found{{"- if: [heard]\n        text: 「頼んだよ、", `this telling of act "ask_lamp" can never come: the one in line 110 holds whenever it does`}}},
		{"telling below several that hold", "      - text: 「頼んだよ」", "      - if: [heard]\n        text: 「頼んだよ」\n      - text: 「……」", []found{{"- text: 「……」", "can never come: one of those above it always comes instead"}}},
		{"condition against itself", "      - if: [lit]\n        text: ランプの光", "      - if: [lit]\n        unless: [lit]\n        text: ランプの光", []found{{"- if: [lit]\n        unless", "lit is both in if and in unless"}}},
		{"act that can never be done", "      - if: [heard]\n        offered: true\n        ends: sleep", "      - if: [lit]\n        unless: [heard]\n        ends: sleep", []found{{"- id: lie_down", "can never be done"}, {"- id: sleep", `ending "sleep" cannot be reached`}}},
		{"paragraph that never comes", "          - if: [saw_stars]\n", "          - if: [saw_stars]\n            unless: [lit]\n", []found{{"- if: [saw_stars]\n            unless", "paragraph"}}},
		{"hint that never comes", "  - text: 塔へ行こう。", "  - text: 塔へ行こう。\n  - if: [lit]\n    text: まだ？", []found{{"- if: [lit]\n    text: まだ", "this hint can never come: one of those above"}}},
		{"carried and never", "  - if: [has_lamp]\n    text", "  - if: [has_lamp]\n    unless: [heard]\n    text", []found{{"- if: [has_lamp]\n    unless: [heard]", "this line can never come"}}},
		{"text of a place that never comes", "      - text: 塔の上に、空の灯籠がある。", "      - text: 塔の上に、空の灯籠がある。\n      - unless: [lit]\n        text: 暗い。", []found{{"- unless: [lit]\n        text: 暗い", "this text can never come"}}},
		{"place that may tell nothing", "      - text: 番人がひとり", "      - unless: [lit]\n        text: 番人がひとり", []found{{"- id: shed", "needs a text without a condition"}}},
		{"nobody talks to a person", "things:\n", "  - id: cat\n    name: 猫\n    at: pier\nthings:\n", []found{{"- id: cat", `nobody can talk to "cat"`}}},
		{"ending that nothing brings", "        ends: sleep\n", "", []found{{"- id: sleep", "no telling ends with it"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := lampText(t)
			if !strings.Contains(text, tc.old) {
				t.Fatalf("%q is not in the story", tc.old)
			}
			text = strings.Replace(text, tc.old, tc.new, 1)
			mistakes := lookedThrough(fstest.MapFS{"lamp.yaml": {Data: []byte(text)}})
			for _, want := range tc.want {
				at := 0
				if want.on != "" {
					before, _, there := strings.Cut(text, want.on)
					if !there {
						t.Fatalf("%q is not in the changed story", want.on)
					}
					at = strings.Count(before, "\n") + 1
				}
				there := false
				for _, m := range mistakes {
					there = there || strings.Contains(m.text, want.text) && (at == 0 || m.file == "story/lamp.yaml" && m.line == at)
				}
				if !there {
					t.Errorf("no mistake in line %d with %q, but %q", at, want.text, mistakes)
				}
			}
			if len(mistakes) != len(tc.want) {
				t.Errorf("%d mistakes, want %d: %q", len(mistakes), len(tc.want), mistakes)
			}
		})
	}
}

// Every mistake is told, from every file, in the order in which they stand.
func TestAllMistakesAtOnce(t *testing.T) {
	text := lampText(t)
	mistakes := lookedThrough(fstest.MapFS{
		"lamp.yaml": {Data: []byte(strings.Replace(text, "    button: 小屋へ\n", "", 1))},
		"more.yaml": {Data: []byte("start: pier\nthings:\n  - id: lamp\n    names: [提灯]\n    at: moon\n")},
		"notes.txt": {Data: []byte("not a part of the story")},
		"zzz.yaml":  {Data: []byte("acts:\n  - id: a\n    says: []\n    wings: 2\n")},
	})
	want := []string{
		`story/lamp.yaml:25: "button" is missing`,
		`story/more.yaml:1: start is there twice: first in story/lamp.yaml, line 2`,
		`story/more.yaml:3: id "lamp" is there twice: first in story/lamp.yaml, line 50`,
		`story/more.yaml:5: there is no place "moon"`,
		`story/zzz.yaml:2: "label" is missing`,
		`story/zzz.yaml:2: "tellings" is missing`,
		`story/zzz.yaml:2: act "a" has 0 different example phrases; it needs 3`,
		`story/zzz.yaml:4: unknown key "wings"; known here: at, id, label, says, tellings, to`,
	}
	var got []string
	for _, m := range mistakes {
		got = append(got, m.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFolderWithoutStory(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"empty":    {},
		"no .yaml": {"story.yml": {Data: []byte("start: pier\n")}},
	} {
		if got := lookedThrough(files); len(got) != 1 || got[0].String() != "story: there are no .yaml files here" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTooManyFlags(t *testing.T) {
	var acts strings.Builder
	acts.WriteString("acts:\n")
	for i := range maxFlags - 3 { // the story has 4 of its own
		fmt.Fprintf(&acts, "  - id: act%[1]d\n    label: 数%[1]d\n    says: [数%[1]dを, 数%[1]dは, 数%[1]dに]\n    tellings:\n"+
			"      - unless: [flag%[1]d]\n        sets: flag%[1]d\n        text: 数\n", i)
	}
	mistakes := lookedThrough(fstest.MapFS{"lamp.yaml": {Data: []byte(lampText(t))}, "more.yaml": {Data: []byte(acts.String())}})
	if len(mistakes) != 1 || !strings.Contains(mistakes[0].text, `"flag60" is one too many: a story has 64 at most`) || mistakes[0].line == 0 {
		t.Errorf("%q", mistakes)
	}
}

// A player who has done this and not that can be left with nothing to do.
func TestDeadEnd(t *testing.T) {
	text := lampText(t)
	// Whoever lights the lamp before lying down cannot lie down any more, and the
	// tower has become too far for whoever saw the stars.
	text = strings.Replace(text, "      - if: [heard]\n        offered: true\n        ends: sleep", "      - if: [heard]\n        unless: [lit]\n        ends: sleep", 1)
	text = strings.Replace(text, "      - offered: true\n        ends: light", "      - unless: [saw_stars]\n        ends: light", 1)
	text = strings.Replace(text, "        more:\n          - if: [saw_stars]\n            text: あの星も、きっと見ている。\n", "", 1)
	mistakes := lookedThrough(fstest.MapFS{"lamp.yaml": {Data: []byte(text)}})
	if len(mistakes) != 1 || !strings.Contains(mistakes[0].text, "dead end: with the flags lit, heard, has_lamp, saw_stars") {
		t.Errorf("%q", mistakes)
	}
}

func TestCheckCommand(t *testing.T) {
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "story.yaml"), []byte("start: here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args           []string
		status         int
		stdout, stderr string // parts
	}{
		{[]string{"check"}, exitOK, "shiranari: ", ""},
		{[]string{"check", "testdata/lamp"}, exitOK, "testdata/lamp: 3 places, 1 people, 3 things, 6 acts, 2 endings, 4 flags; a state has 118 bytes at most\n", ""},
		{[]string{"check", broken}, exitBroke, "", filepath.Join(broken, "story.yaml") + `:1: there is no place "here"`},
		{[]string{"check", broken}, exitBroke, "", "mistakes found: 4;"},
		{[]string{"check", "testdata/none"}, exitBroke, "", "testdata/none: cannot be read: no such file or directory"},
		{[]string{"check", ""}, exitBroke, "", "cannot be read"},
		{[]string{"check", lampFile}, exitBroke, "", lampFile + ": cannot be read: "},
		{[]string{"check", "testdata/walks"}, exitBroke, "", "testdata/walks: there are no .yaml files here"},
	} {
		var stdout, stderr bytes.Buffer
		if status := Main(tc.args, strings.NewReader(""), &stdout, &stderr); status != tc.status {
			t.Errorf("%q: exit status %d", tc.args, status)
		}
		if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) ||
			(stdout.Len() > 0) != (tc.stdout != "") || (stderr.Len() > 0) != (tc.stderr != "") {
			t.Errorf("%q: stdout %q, stderr %q", tc.args, stdout.String(), stderr.String())
		}
	}
}
