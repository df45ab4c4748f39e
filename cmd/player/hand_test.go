package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A countingServer has a story of numbers: each move adds one. It has two offers,
// rejects a state that is not its own, and remembers what it was asked.
type countingServer struct {
	url string

	mu    sync.Mutex
	asked []string
}

func startCounting(t *testing.T) *countingServer {
	s := &countingServer{}
	s.url = toldServer(t, func(w http.ResponseWriter, r *http.Request) {
		m := readMove(t, r)
		s.mu.Lock()
		s.asked = append(s.asked, fmt.Sprintf("%s %s %s", m.Kind, inputOf(m.Input), string(m.State)))
		s.mu.Unlock()
		w.Header().Set("RateLimit-Policy", `"ip";q=1000;w=1`)
		var n int
		if m.State != nil && json.Unmarshal(m.State, &n) != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"ok":false,"code":"bad_state","error":"別の物語です。"}`)
			return
		}
		fmt.Fprintf(w, `{"ok":true,"text":"数は%d","state":%d,"place":"部屋","choices":[{"label":"増やす","kind":"say","input":"more"}],
			"places":[{"label":"庭へ","kind":"move","input":"garden"}],"end":%t}`, n, n+1, n == 9)
	})
	return s
}

func (s *countingServer) wasAsked(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strings.Join(s.asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the server was asked\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestByHand(t *testing.T) {
	s := startCounting(t)
	got := play(t, "1\n２\n庭へ\n霧の話を聞く\n\n/undo\n ／ｈｅｌｐ \n/undo\n2\n/quit\n1\n", "-url", s.url)
	got.ends(t, exitOK, handHelp)
	s.wasAsked(t, "new  ", "say more 1", "move garden 2", "move garden 3", "say 霧の話を聞く 4", "move garden 3")
	want := "【部屋】\n数は0\n  1 増やす\n  2 庭へ\n> 1\n【部屋】\n数は1\n"
	if !strings.HasPrefix(got.stdout, want) {
		t.Errorf("stdout:\n%s\nwant it to begin with\n%s", got.stdout, want)
	}
}

// A pipe that ends is a player who leaves.
func TestPipeEnds(t *testing.T) {
	s := startCounting(t)
	play(t, "1\n1", "-url", s.url).ends(t, exitOK, "数は2")
}

func TestEndOfTheStory(t *testing.T) {
	s := startCounting(t)
	got := play(t, strings.Repeat("1\n", 9)+"/undo\n", "-url", s.url)
	got.ends(t, exitOK, "（物語はここまでです。/undo で一手戻り、/quit で終わります）")
	if n := strings.Count(got.stdout, "物語はここまで"); n != 1 {
		t.Errorf("the story ends %d times", n)
	}
}

// What a pipe cannot have done ends the program, since nobody is there to see it.
func TestPipedMistakes(t *testing.T) {
	for line, says := range map[string]string{
		"3": "その番号の選択肢はありません。", "0": "その番号の選択肢はありません。",
		"/undo": "これより前には戻れません。",
		"/save": "ファイルの名前を続けて書いてください：/save FILE", "/load ": "/load FILE",
		"/quit now": "/quit に続けて何かを書くことはできません。",
		"/dance":    "/dance という指示はありません。",
	} {
		t.Run(line, func(t *testing.T) {
			s := startCounting(t)
			play(t, line+"\n1\n", "-url", s.url).ends(t, exitFailed, says)
			s.wasAsked(t, "new  ")
		})
	}
	s := startCounting(t)
	play(t, strings.Repeat("霧", maxPiped)+"\n", "-url", s.url).ends(t, exitFailed, "a line is longer than 65536 bytes")
}

func TestSaveAndLoad(t *testing.T) {
	s := startCounting(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "記録ｶﾅ１ my save.json") // no letter of it changes
	play(t, "1\n1\n/save "+file+"\n", "-url", s.url).ends(t, exitOK, file+" に記録しました。")
	var saved struct {
		Format string
		State  int
		Reply  struct{ Text string }
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil || saved.Format != saveFormat || saved.State != 3 || saved.Reply.Text != "数は2" {
		t.Errorf("%v: %s", err, text)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%v is left behind", left)
	}

	// The engine is asked whether it takes the state; then the game goes on from there.
	s.asked = nil
	got := play(t, "/load "+file+"\n1\n/undo\n/undo\n", "-url", s.url)
	got.ends(t, exitOK, "数は2", "数は3")
	s.wasAsked(t, "new  ", "look  3", "say more 3")
	if !strings.HasSuffix(got.stdout, "> /undo\n【部屋】\n数は0\n  1 増やす\n  2 庭へ\n") {
		t.Errorf("two steps back is not the beginning: %s", got.stdout)
	}

	// Any object with a state will do.
	write(t, file, `{"format":2,"saved":1,"turns":[{"echo":"","text":"x"}],"state":7}`)
	s.asked = nil
	play(t, "/load "+file+"\n1\n", "-url", s.url).ends(t, exitOK, "数は7", "数は8")
	s.wasAsked(t, "new  ", "look  7", "say more 8")
}

// A file that is no save, or one of another story, changes neither the game nor
// the file.
func TestLoadRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "save.json")
	for _, row := range []struct{ name, text, says string }{
		{"of another story", `{"format":"` + saveFormat + `","state":{"story":"other"},"reply":{"text":"x","state":1}}`, "この記録では遊べません。別の物語です。\n" + file + " はそのまま残してあります。"},
		{"no object", `[1]`, "記録として読めませんでした"},
		{"no JSON", `state`, "記録として読めませんでした"},
		{"no state", `{"format":1}`, `no "state" in it`},
		{"state of null", `{"state":null}`, `no "state" in it`},
		{"too long", `{"state":1}` + strings.Repeat(" ", maxSave), "longer than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := startCounting(t)
			write(t, file, row.text)
			h := &hand{sender: sender{client: newClient(mustURL(t, s.url), 1), pace: newPace(), tries: 1}}
			var out strings.Builder
			h.out = &out
			lines := []string{"1", "/load " + file, "1"}
			err := h.play(t.Context(), func() (string, error) {
				if len(lines) == 0 {
					return "", errQuit
				}
				line := lines[0]
				lines = lines[1:]
				return line, nil
			})
			if err != nil || !strings.Contains(out.String(), row.says) || !strings.HasSuffix(out.String(), "数は2\n  1 増やす\n  2 庭へ\n") {
				t.Errorf("%v: %s", err, out.String())
			}
			if text, _ := os.ReadFile(file); string(text) != row.text {
				t.Error("the file has changed")
			}
		})
	}
	s := startCounting(t)
	play(t, "/load "+file+".none\n", "-url", s.url).ends(t, exitFailed, "記録として読めませんでした", ".none")
}

// A save takes the place of the one before in one step: whoever has that open goes
// on reading it whole.
func TestSaveIsAllOrNothing(t *testing.T) {
	s := startCounting(t)
	file := filepath.Join(t.TempDir(), "save.json")
	write(t, file, "before")
	old, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	play(t, "/save "+file+"\n", "-url", s.url).ends(t, exitOK)
	if text, err := io.ReadAll(old); err != nil || string(text) != "before" {
		t.Errorf("the file before is now %q, %v", text, err)
	}
	if text, _ := os.ReadFile(file); !json.Valid(text) {
		t.Errorf("the save is %q", text)
	}
}

// A save that cannot be written leaves the one that is there.
func TestSaveThatFails(t *testing.T) {
	s := startCounting(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	play(t, "/save "+filepath.Join(dir, "taken")+"\n", "-url", s.url).ends(t, exitFailed, "記録を書けませんでした")
	play(t, "/save "+filepath.Join(dir, "none", "x")+"\n", "-url", s.url).ends(t, exitFailed, "記録を書けませんでした")
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%v is left behind", left)
	}
}

// The real engine refuses a state of another story in its own words.
func TestLoadFromAnotherStory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "save.json")
	text := `{"state":{"v":1,"story":"00000000","place":"bus_stop","turn":0,"flags":[],"ending":""}}`
	write(t, file, text)
	play(t, "/load "+file+"\n", "-url", startServer(t, quick...)).ends(t, exitFailed, "この記録では遊べません。", "そのまま残してあります。")
	if kept, _ := os.ReadFile(file); string(kept) != text {
		t.Error("the file has changed")
	}
}

// On a terminal a move that is not accepted changes nothing, and says why.
func TestNotices(t *testing.T) {
	for _, row := range []struct {
		status int
		body   string
		says   string
	}{
		{502, `{"code":"engine_failed"}`, "物語の途中でつまずきました。もう一度送れます。"},
		{503, `{"code":"engine_down"}`, "いま物語を動かせません。少し待つと、もう一度送れます。"},
		{504, `{"code":"engine_timeout"}`, "返事が届きませんでした。もう一度送れます。"},
		{422, `{"code":"poison_move"}`, "この手は、いまは受け付けられません。別の手なら進めます。"},
		{422, `{"error":"だめです。"}`, "この手は受け付けられませんでした。だめです。"},
		{400, `{"code":"bad_request","error":"too long"}`, "このままでは受け取れませんでした（400 bad_request: too long）。"},
		{200, `nonsense`, "つながりませんでした。もう一度送れます。"},
	} {
		n := 0
		c := clientOver(func(*http.Request) (*http.Response, error) {
			if n++; n == 2 {
				return response(row.status, row.body), nil
			}
			return response(200, goodReply), nil
		})
		var out strings.Builder
		h := &hand{sender: sender{client: c, pace: newPace(), tries: 1}, out: &out}
		lines := []string{"a", "/quit"}
		err := h.play(t.Context(), func() (string, error) {
			line := lines[0]
			lines = lines[1:]
			return line, nil
		})
		if err != nil || !strings.HasSuffix(out.String(), row.says+"\n") || len(h.past) != 0 {
			t.Errorf("%d %s: %v: %s", row.status, row.body, err, out.String())
		}
	}
}

func TestUndoIsBounded(t *testing.T) {
	h := &hand{out: new(strings.Builder)}
	for range 3 * maxUndo {
		h.goTo(reply{})
	}
	if len(h.past) != maxUndo {
		t.Errorf("%d moves can be taken back", len(h.past))
	}
}

// Nothing that a server sends moves the cursor, or turns the text round.
func TestPrintable(t *testing.T) {
	var out strings.Builder
	reply{Text: "a\x1b[2Jb\r\nc\u202ed　「霧」", Place: "p\n", Choices: []offer{{Label: "x\x07"}}}.print(&out)
	if want := "【p�】\na�[2Jb\nc�d　「霧」\n  1 x�\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
