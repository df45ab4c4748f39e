package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// The scripts of the built-in story, each to one of its endings.
func TestScriptsOfTheStory(t *testing.T) {
	scripts, err := filepath.Glob("../../internal/advsim/testdata/walks/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("there is no script: %v", err)
	}
	server := startServer(t, quick...)
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			play(t, "", "-url", server, "-script", script).ends(t, exitOK, "expectations met")
		})
	}
}

// echoServer replies with what was said, and offers a door and a window.
func echoServer(t *testing.T) string {
	return toldServer(t, func(w http.ResponseWriter, r *http.Request) {
		m := readMove(t, r)
		w.Header().Set("RateLimit-Policy", `"ip";q=1000;w=1`)
		fmt.Fprintf(w, `{"ok":true,"text":"%s:%s\nsecond line","state":{"n":1},"place":"hall",
			"choices":[{"label":"the window","kind":"look","input":"win"}],"places":[{"label":"the door","kind":"move"}]}`, m.Kind, inputOf(m.Input))
	})
}

func TestScript(t *testing.T) {
	server := echoServer(t)
	for _, row := range []struct {
		name, script string
		status       int
		says         []string
	}{
		{"all met", "# comment\n\n  expect: new:\nthe door\nexpect: move:\nexpect: second line\nthe window\nexpect: look:win\nhello #1\nexpect: say:hello #1\n", exitOK, []string{"4 moves, 5 expectations met"}},
		{"the place and the offers are part of a reply", "expect: hall\nexpect: the door\nexpect: the window\n", exitOK, nil},
		{"nothing", "", exitOK, []string{"1 moves, 0 expectations met"}},
		{"one line off", "# one\none\nexpect: say:one\ntwo\n\nexpect: say:one\nthree\n", exitFailed,
			[]string{`script.txt:6: "say:one" is not in the reply to line 4, "two"; the reply was:`, "say:two", "  2 the door"}},
		{"the beginning", "expect: old\n", exitFailed, []string{`script.txt:1: "old" is not in the reply to the beginning of the game`}},
		{"across lines", "expect: new: second\n", exitFailed, []string{"script.txt:1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "script.txt")
			write(t, script, row.script)
			play(t, "", "-url", server, "-script", script).ends(t, row.status, row.says...)
		})
	}
}

func TestScriptThatCannotBeRead(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.txt")
	for _, row := range []struct{ name, text, says string }{
		{"not UTF-8", "港へ\n\xff\n", ":2: not UTF-8"},
		{"too long", strings.Repeat("港へ\n", maxScript/7+1), "longer than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			write(t, script, row.text)
			play(t, "", "-url", "http://127.0.0.1:1", "-script", script).ends(t, exitMistaken, row.says)
		})
	}
}

// A move that the engine rejects ends the script at its line.
func TestScriptWithAMoveThatIsRejected(t *testing.T) {
	server := toldServer(t, func(w http.ResponseWriter, r *http.Request) {
		if readMove(t, r).Kind != kindNew {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"ok":false,"code":"bad_state","error":"no such place"}`)
			return
		}
		fmt.Fprint(w, `{"ok":true,"text":"","state":1}`)
	})
	script := filepath.Join(t.TempDir(), "script.txt")
	write(t, script, "\nhello\n")
	play(t, "", "-url", server, "-script", script).ends(t, exitFailed, `script.txt:2: 422 bad_state: no such place`)
}
