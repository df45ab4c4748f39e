package advsim

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// maxStateBytes is promised of every state: browsers keep them.
const maxStateBytes = 2 << 10

// The story that is played has none of the mistakes that check finds: every
// place, telling, paragraph and ending can be reached, and there is no dead end.
func TestStoryIsSound(t *testing.T) {
	e := whole(t)
	for _, m := range check(e.story, shiranariFolder) {
		t.Error(m)
	}
}

func TestLargestState(t *testing.T) {
	for _, e := range []*engine{lamp(t), whole(t)} {
		largest := largestState(e.story)
		if largest > maxStateBytes {
			t.Errorf("a state may have %d bytes", largest)
		}
		for _, steps := range []string{"", "to and fro", strings.Repeat("through all of the evening", 100)} {
			raw, err := json.Marshal(e.save(astray(e, []byte(steps))))
			if err != nil || len(raw) > largest {
				t.Errorf("a state has %d bytes, more than %d: %v", len(raw), largest, err)
			}
		}
	}
}

// A walk is a way through the story as a file in testdata/walks: a line is what
// a player types or the label of something offered, a line that begins with
// "expect:" must be found in the reply to the move above it, and empty lines and
// those that begin with # are passed over.
func walk(t *testing.T, e *engine, script string) answer {
	t.Helper()
	a := send(t, e, `{"id":1,"kind":"new"}`)
	n := 0
	for line := range strings.Lines(script) {
		n++
		line = strings.TrimSpace(line)
		if want, ok := strings.CutPrefix(line, "expect:"); ok {
			if want = strings.TrimSpace(want); !strings.Contains(a.Text, want) {
				t.Fatalf("line %d: %q is not in the reply %q", n, want, a.Text)
			}
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if a.End {
			t.Fatalf("line %d: the story ended before %q", n, line)
		}
		move := offer{Kind: "say", Input: line}
		for _, o := range append(a.Choices, a.Places...) {
			if o.Label == line {
				move = o
			}
		}
		a = play(t, e, a.State, move.Kind, move.Input)
	}
	return a
}

// There is a walk to each ending, under its id, and others besides.
func TestWalks(t *testing.T) {
	e := whole(t)
	files, err := filepath.Glob("testdata/walks/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := walk(t, e, string(script))
			s, bad := e.decodeState(a.State)
			if bad != nil {
				t.Fatal(bad)
			}
			if id := strings.TrimSuffix(filepath.Base(file), ".txt"); e.story.ending(id) != nil {
				ends[id] = true
				if s.ending != id {
					t.Errorf("leads to the ending %q", s.ending)
				}
			}
		})
	}
	for _, end := range e.story.endings {
		if !ends[end.id] {
			t.Errorf("no walk leads to the ending %q", end.id)
		}
	}
}

// Not to ride is an act in the bus, whoever puts it in other words than the
// examples; to ride, or to refuse something else, is not that.
func TestNotRiding(t *testing.T) {
	e := whole(t)
	raw := at(t, e, "bus", "heard_fog", "driver_heard", "has_onigiri", "gave_onigiri", "heard_light", "knows_driver")
	for input, want := range map[string]bool{
		"僕は乗りません": true, "今夜はバスに乗りません": true, "最終に乗らない": true, "乗るのをやめておく": true, "今夜は乗らないことにする": true,
		"乗る": false, "バスに乗ります": false, "帰ります": false, "バスを出してください": false, "バスに乗ると言う": false,
		"やめる": false, "行かない": false, "切符を見せない": false,
	} {
		s, bad := e.decodeState(play(t, e, raw, "say", input).State)
		if bad != nil {
			t.Fatal(bad)
		}
		if s.flags.cover(e.story.bits("driver_comes")) != want {
			t.Errorf("「%s」 brings the driver along: %v, want %v", input, !want, want)
		}
	}
}

// Every ending says which it is.
func TestEveryEndingIsNamed(t *testing.T) {
	e := whole(t)
	for i := range e.story.acts {
		a := &e.story.acts[i]
		for _, told := range a.tellings {
			if strings.Contains(told.text, "終わり「") {
				t.Errorf("%s:%d: the engine names the ending, the text need not", told.file, told.line)
			}
		}
	}
}

// A story is told apart by its files' content.
func TestFingerprint(t *testing.T) {
	one, _ := load(os.DirFS("testdata/lamp"), "a")
	same, _ := load(os.DirFS("testdata/lamp"), "b")
	if one.fingerprint != same.fingerprint || len(one.fingerprint) != 2*fingerprintBytes {
		t.Errorf("%q and %q", one.fingerprint, same.fingerprint)
	}
	if other := whole(t).story; other.fingerprint == one.fingerprint {
		t.Errorf("two stories have the fingerprint %q", other.fingerprint)
	}
}

// What is embedded is what stands in the folder.
func TestEmbeddedStory(t *testing.T) {
	names, err := fs.Glob(shiranari(), "*")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(shiranariFolder)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(entries) {
		t.Errorf("%d files are embedded, but the folder holds %d", len(names), len(entries))
	}
}

func BenchmarkMove(b *testing.B) {
	e := whole(b)
	e.reader()
	raw, err := json.Marshal(e.save(astray(e, []byte("a way through the evening with many things to do"))))
	if err != nil {
		b.Fatal(err)
	}
	for _, move := range []struct{ name, kind, input string }{
		{"look", "look", ""},
		{"label", "say", e.story.acts[0].label},
		{"words", "say", "船長さん、すみませんが霧の話を聞かせてください"},
		{"strange", "say", strings.Repeat("ねこ", 100)},
	} {
		line := []byte(moveLine(7, move.kind, move.input, raw))
		b.Run(move.name, func(b *testing.B) {
			for b.Loop() {
				e.answer(line)
			}
		})
	}
}

// What an engine does before its first move.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, _ := load(shiranari(), shiranariFolder)
		newEngine(s)
	}
}

func BenchmarkCheck(b *testing.B) {
	s, _ := load(shiranari(), shiranariFolder)
	for b.Loop() {
		check(s, shiranariFolder)
	}
}
