package api

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"kiribashiri/internal/limits"
	"kiribashiri/internal/simbridge"
)

// A gauntlet is a server whose engine's side is looked at by another parser than the
// server's own.
type gauntlet struct {
	*house
	kinds []string
}

func newGauntlet() *gauntlet {
	g := &gauntlet{}
	g.house = newHouse(&testing.T{}, func(cfg *Config) {
		cfg.Limits.PerIPPerSec, cfg.Limits.PerIPBurst = 1e9, 1e9
		g.kinds = cfg.Kinds
	})
	return g
}

// runs sends a body as a move. Whatever it is, either the engine gets one line, in
// which stands what was sent and nothing else, or the client gets an error of the
// contract; and which of the two is what the contract says. It returns the line.
func (g *gauntlet) runs(t *testing.T, body string) (line []byte, status int) {
	t.Helper()
	g.player.moves = g.player.moves[:0]
	g.log.Reset()
	answer := g.ask("POST", "/api/turn", body, asJSON)
	if len(body) > int(limits.Default().BodyBytes) {
		said(t, answer, http.StatusRequestEntityTooLarge, "too_large")
		return nil, answer.StatusCode
	}
	sent, wrong := g.lawful(body)
	switch {
	case wrong != "":
		said(t, answer, http.StatusBadRequest, "bad_request")
	case answer.StatusCode != http.StatusOK:
		t.Errorf("%.300q is refused: %d %s", body, answer.StatusCode, bodyOf(t, answer))
	}
	if answer.StatusCode != http.StatusOK {
		if len(g.player.moves) > 0 {
			t.Errorf("%.300q is refused, and played all the same", body)
		}
		return nil, answer.StatusCode
	}
	if len(g.player.moves) != 1 {
		t.Fatalf("%.300q is played %d times", body, len(g.player.moves))
	}
	line, err := g.player.moves[0].Line(17)
	if err != nil {
		t.Fatalf("%.300q: %v", body, err)
	}
	text, ended := strings.CutSuffix(string(line), "\n")
	if !ended || strings.ContainsFunc(text, func(c rune) bool { return c < 0x20 && c != '\t' }) {
		t.Fatalf("%.300q becomes more than one line: %.300q", body, line)
	}
	got, wrong := strict(text)
	if wrong != "" {
		t.Fatalf("%.300q becomes a line that is not strict, %s: %.300q", body, wrong, line)
	}
	want := value{kind: '{', members: map[string]value{"id": {kind: '0', text: "17"}, "kind": sent.members["kind"]}}
	if input := sent.members["input"]; input.kind == '"' {
		want.members["input"] = input
	}
	if state, there := sent.members["state"]; there {
		want.members["state"] = state
	}
	if !same(got, want) {
		t.Fatalf("%.300q becomes %.300q", body, line)
	}
	if !strings.HasPrefix(text, `{"id":17,"kind":`) {
		t.Fatalf("the id does not stand first: %.300q", line)
	}
	return line, answer.StatusCode
}

// lawful is the contract's section on a move, once more: what a body says, or what
// is wrong with it.
func (g *gauntlet) lawful(body string) (v value, wrong string) {
	v, wrong = strict(body)
	if wrong != "" {
		return v, wrong
	}
	if v.kind != '{' || v.depth > 64 {
		return v, "no object, or too deep"
	}
	for name := range v.members {
		if !slices.Contains([]string{"kind", "input", "state", "browserId"}, name) {
			return v, "another field"
		}
	}
	if kind := v.members["kind"]; kind.kind != '"' || !slices.Contains(g.kinds, kind.text) {
		return v, "no kind"
	}
	for name, most := range map[string]int{"input": 200, "browserId": 64} {
		field, there := v.members[name]
		switch {
		case !there || field.kind == 'n':
		case field.kind != '"' || utf8.RuneCountInString(field.text) > most:
			return v, name
		case name == "input" && strings.ContainsFunc(field.text, func(c rune) bool { return c < ' ' || c == 0x7f }):
			return v, "a control character"
		}
	}
	return v, ""
}

// keys returns the members of an object with n names.
func keys(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, `,"%x":0`, i)
	}
	return s.String()[1:]
}

// hostile are bodies that are made to hurt, and the status that each gets. What is
// wrong in detail, in words, is TestRefusals'.
var hostile = []struct {
	name, body string
	status     int
}{
	// Size and depth.
	{"64 KiB of one string in the state", `{"kind":"look","state":"` + strings.Repeat("x", 65536-26) + `"}`, 200},
	{"64 KiB of one string in the input", `{"kind":"say","input":"` + strings.Repeat("x", 65536-25) + `"}`, 400},
	{"64 KiB of one string in the browser's name", `{"kind":"say","browserId":"` + strings.Repeat("x", 65536-29) + `"}`, 400},
	{"64 KiB of one string as the kind", `{"kind":"` + strings.Repeat("x", 65536-11) + `"}`, 400},
	{"64 KiB of one name", `{"kind":"look","` + strings.Repeat("x", 65536-20) + `":1}`, 400},
	{"64 KiB of one name in the state", `{"kind":"look","state":{"` + strings.Repeat("x", 65536-30) + `":1}}`, 200},
	{"64 KiB of escapes", `{"kind":"look","state":"` + strings.Repeat(`\u0001`, 10_900) + `"}`, 200},
	{"64 KiB of quotes in the state", `{"kind":"look","state":"` + strings.Repeat(`\"`, 32_000) + `"}`, 200},
	{"a million keys", `{"kind":"look","state":{` + keys(1_000_000) + `}}`, 413},
	{"as many keys as fit", `{"kind":"look","state":{` + keys(7000) + `}}`, 200},
	{"as many keys as fit, at the top", `{"kind":"look",` + keys(7000) + `}`, 400},
	{"the last of many keys twice", `{"kind":"look","state":{` + keys(7000) + `,"0":1}}`, 400},
	{"63 levels", `{"kind":"look","state":` + strings.Repeat(`[`, 63) + strings.Repeat(`]`, 63) + `}`, 200},
	{"64 levels in the state", `{"kind":"look","state":` + strings.Repeat(`[`, 64) + strings.Repeat(`]`, 64) + `}`, 400},
	{"32000 levels of arrays", `{"kind":"look","state":` + strings.Repeat(`[`, 32_000) + strings.Repeat(`]`, 32_000) + `}`, 400},
	{"10000 levels of objects", `{"kind":"look","state":` + strings.Repeat(`{"":`, 10_000) + "0" + strings.Repeat(`}`, 10_000) + `}`, 400},
	{"65000 levels that do not end", `{"kind":"look","state":` + strings.Repeat(`[`, 65_000), 400},
	{"levels behind a mistake", `{"kind":"look","state":"` + "\\x" + `"` + strings.Repeat(`[`, 60_000), 400},
	{"levels that are in a string", `{"kind":"look","state":"` + strings.Repeat(`[{`, 30_000) + `"}`, 200},
	{"many short arrays", `{"kind":"look","state":[` + strings.Repeat(`[],`, 21_000) + `[]]}`, 200},

	// Names.
	{"a name in capitals", `{"KIND":"look"}`, 400},
	{"a name in capitals beside the right one", `{"kind":"look","Kind":"say"}`, 400},
	{"a name of a Kelvin sign", `{"` + "\u212a" + `ind":"look"}`, 400},
	{"a name with a NUL behind it", `{"kind":"look","state\u0000":{}}`, 400},
	{"an empty name", `{"kind":"look","":{}}`, 400},
	{"an id of one's own", `{"id":99,"kind":"look"}`, 400},
	{"a name twice", `{"kind":"look","state":1,"state":2}`, 400},
	{"a name twice, once escaped", `{"kind":"look","state":1,"\u0073tate":2}`, 400},
	{"a name twice in the state, once escaped", `{"kind":"look","state":{"é":1,"\u00e9":2}}`, 400},
	{"names that differ in capitals in the state", `{"kind":"look","state":{"a":1,"A":2}}`, 200},
	{"names that are the same to the eye", `{"kind":"look","state":{"é":1,"` + "e\u0301" + `":2}}`, 200},
	{"names of other languages' objects", `{"kind":"look","state":{"__proto__":{"a":1},"constructor":{"prototype":{}},"__class__":"os.system","$ref":"#","<<":"*a"}}`, 200},

	// Strings.
	{"half a pair in the input", `{"kind":"say","input":"\ud83d"}`, 400},
	{"half a pair in the state", `{"kind":"look","state":"\ud83d"}`, 400},
	{"half a pair in a name", `{"kind":"look","state":{"\udc00":1}}`, 400},
	{"half a pair as the kind", `{"kind":"\ud800"}`, 400},
	{"half a pair as the browser's name", `{"kind":"look","browserId":"\ud800"}`, 400},
	{"a pair the wrong way round", `{"kind":"look","state":"\udf2b\ud83c"}`, 400},
	{"a whole pair", `{"kind":"say","input":"\ud83c\udf2b","state":"\ud83c\udf2b"}`, 200},
	{"half a pair in UTF-8", "{\"kind\":\"look\",\"state\":\"\xed\xa0\x80\"}", 400},
	{"a pair in two times UTF-8", "{\"kind\":\"look\",\"state\":\"\xed\xa0\xbc\xed\xbc\xab\"}", 400},
	{"a slash that is too long in UTF-8", "{\"kind\":\"look\",\"state\":\"\xc0\xaf\"}", 400},
	{"beyond Unicode", "{\"kind\":\"look\",\"state\":\"\xf4\x90\x80\x80\"}", 400},
	{"Latin-1", "{\"kind\":\"look\",\"state\":\"\xe9\"}", 400},
	{"UTF-16", "{\x00\"\x00k\x00i\x00n\x00d\x00\"\x00:\x00\"\x00l\x00o\x00o\x00k\x00\"\x00}\x00", 400},
	{"a byte order mark", "\ufeff" + `{"kind":"look"}`, 400},
	{"non-characters", `{"kind":"say","input":"` + "\ufffe\uffff\U0010ffff" + `","state":"` + "\ufffe\uffff\U0010ffff" + `"}`, 200},
	{"the sign for what is lost", `{"kind":"say","input":"` + "\ufffd" + `"}`, 200},
	{"line separators", `{"kind":"say","input":"` + "a\u2028b\u2029c\u0085d" + `","state":["` + "\u2028\u2029\u0085" + `"]}`, 200},
	{"right-to-left marks", `{"kind":"say","input":"` + "\u202eevil\u202c\u200f\u2066" + `","browserId":"` + "\u202e" + `"}`, 200},
	{"NUL, escaped, in the input", `{"kind":"say","input":"a\u0000b"}`, 400},
	{"NUL, escaped, in the state", `{"kind":"look","state":{"\u0000":"\u0000"}}`, 200},
	{"NUL in the state", "{\"kind\":\"look\",\"state\":\"\x00\"}", 400},
	{"NUL between tokens", "{\"kind\":\x00\"look\"}", 400},
	{"NUL behind the object", "{\"kind\":\"look\"}\x00", 400},
	{"a line break in a string", "{\"kind\":\"look\",\"state\":\"a\nb\"}", 400},
	{"line breaks between tokens", "{\r\n\"kind\":\n\"look\",\"state\":\r\n[\n1\r,\n\"\\n\"]\r}\r\n", 200},
	{"another line", "{\"kind\":\"look\"}\n{\"id\":18,\"kind\":\"look\"}\n", 400},
	{"another line in a string", `{"kind":"say","input":"\"}\\n{\"id\":18,\"kind\":\"ping\"}","state":"\"}\n{\"id\":18,\"kind\":\"ping\"}"}`, 200},
	{"other blanks", "{\"kind\":\"look\",\f\"state\":1}", 400},
	{"blanks of Unicode", "{\"kind\":\"look\",\u00a0\"state\":1}", 400},

	// Numbers. What no double holds is JSON, and the engine's to refuse.
	{"60000 digits", `{"kind":"look","state":` + strings.Repeat("9", 60_000) + `}`, 200},
	{"60000 digits behind the point", `{"kind":"look","state":0.` + strings.Repeat("3", 60_000) + `}`, 200},
	{"60000 digits of an exponent", `{"kind":"look","state":1e` + strings.Repeat("9", 60_000) + `}`, 200},
	{"beyond the largest double", `{"kind":"look","state":[1e400,-1e400,1e-400]}`, 200},
	{"minus zero", `{"kind":"look","state":[-0,-0.0,-0e-0]}`, 200},
	{"beyond 64 bits", `{"kind":"look","state":[18446744073709551616,-9223372036854775809]}`, 200},
	{"what JavaScript would round", `{"kind":"look","state":9007199254740993}`, 200},
	{"a leading zero", `{"kind":"look","state":01}`, 400},
	{"a plus", `{"kind":"look","state":+1}`, 400},
	{"no digit before the point", `{"kind":"look","state":.5}`, 400},
	{"no digit behind the point", `{"kind":"look","state":5.}`, 400},
	{"a hexadecimal number", `{"kind":"look","state":0x10}`, 400},
	{"no number", `{"kind":"look","state":NaN}`, 400},
	{"infinity", `{"kind":"look","state":-Infinity}`, 400},

	// What other parsers take.
	{"a comma too many", `{"kind":"look","state":[1,],}`, 400},
	{"a comment", `{"kind":"look"/* */}`, 400},
	{"a comment behind", "{\"kind\":\"look\"}//", 400},
	{"single quotes", `{'kind':'look'}`, 400},
	{"a name without quotes", `{kind:"look"}`, 400},
	{"an escape of another language", `{"kind":"look","state":"\x41"}`, 400},
	{"an escape in capitals", `{"kind":"look","state":"\U0041"}`, 400},
	{"a word in capitals", `{"kind":"look","state":True}`, 400},
	{"a form", `kind=look`, 400},
	{"XML", `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`, 400},
}

func TestHostileContent(t *testing.T) {
	g := newGauntlet()
	for _, row := range hostile {
		t.Run(row.name, func(t *testing.T) {
			if _, status := g.runs(t, row.body); status != row.status {
				t.Errorf("status %d, want %d", status, row.status)
			}
		})
	}
}

// A body is not read so deep as it is nested before it is refused: the stack that this
// takes would stay with its connection.
func TestDepthTakesNoStack(t *testing.T) {
	const connections = 100
	for path, field := range map[string]string{"/api/turn": "state", "/api/new": "state", "/api/token-bucket": "capacity"} {
		g := newGauntlet()
		body := `{"` + field + `":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var answered, ended sync.WaitGroup
		leave := make(chan struct{})
		for range connections {
			answered.Add(1)
			ended.Go(func() {
				if answer := g.ask("POST", path, body, asJSON); answer.StatusCode != http.StatusBadRequest {
					t.Errorf("status %d", answer.StatusCode)
				}
				answered.Done()
				<-leave
			})
		}
		answered.Wait()
		runtime.ReadMemStats(&after)
		close(leave)
		ended.Wait()
		if took := int64(after.StackInuse) - int64(before.StackInuse); took > connections*64<<10 {
			t.Errorf("%s: %d times 9000 levels took %d bytes of stack", path, connections, took)
		}
	}
}

// aMove has something of everything in it.
const aMove = `{"kind":"say","input":"霧\"\\\u00e9","state":{"a":[1,-2.5e+3,null],"霧":"\n\ud83c\udf2b"},"browserId":"b-3f"}`

// spoiltMoves are aMove with each byte replaced by every other one, doubled and left out.
func spoiltMoves(try func(body string)) {
	for i := range len(aMove) {
		try(aMove[:i] + aMove[i+1:])
		try(aMove[:i] + aMove[i:i+1] + aMove[i:])
		try(aMove[:i])
		for c := range 256 {
			try(aMove[:i] + string([]byte{byte(c)}) + aMove[i+1:])
		}
	}
}

func TestEveryByteOfAMoveReplaced(t *testing.T) {
	g := newGauntlet()
	tried, passed := 0, 0
	spoiltMoves(func(body string) {
		tried++
		if _, status := g.runs(t, body); status == http.StatusOK {
			passed++
		}
	})
	if passed == 0 || passed == tried {
		t.Errorf("%d of %d pass", passed, tried)
	}
	t.Logf("%d of %d are moves all the same", passed, tried)
}

// What the server lets through is read by an engine in C++, with the JSON library that
// most of them use, and by one in Python, with its own. What they cannot use, which is
// numbers that are too large, they refuse to this one player; they answer every line,
// under its id.
func TestHostileContentReachesRealEngines(t *testing.T) {
	const folder = "../../examples/engines"
	for _, row := range []struct {
		name    string
		command func(t *testing.T) *exec.Cmd
		broken  string // what it would say on stderr of a line that is not JSON to it
	}{
		{"C++", func(t *testing.T) *exec.Cmd {
			program := filepath.Join(t.TempDir(), "lamp")
			build := exec.Command(needed(t, "g++"), "-std=c++17", "-o", program, filepath.Join(folder, "lamp.cpp"))
			if out, err := build.CombinedOutput(); err != nil {
				if os.Getenv("CI") != "true" && bytes.Contains(out, []byte("nlohmann/json.hpp: No such file")) {
					t.Skip("skipped without nlohmann/json.hpp")
				}
				t.Fatalf("%v\n%s", err, out)
			}
			return exec.Command(program)
		}, "parse_error"},
		{"Python", func(t *testing.T) *exec.Cmd {
			return exec.Command(needed(t, "python3"), filepath.Join(folder, "lamp.py"))
		}, "JSONDecodeError"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			engine := row.command(t)
			stdin, err := engine.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := engine.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var complaints bytes.Buffer
			engine.Stderr = &complaints
			if err := engine.Start(); err != nil {
				t.Fatal(err)
			}
			replies := bufio.NewReader(stdout)
			g, played := newGauntlet(), 0
			play := func(body string) {
				line, status := g.runs(t, body)
				if status != http.StatusOK {
					return
				}
				played++
				if _, err := stdin.Write(line); err != nil {
					t.Fatalf("after %.200q it takes nothing: %v", body, err)
				}
				reply, err := replies.ReadBytes('\n')
				if err != nil {
					t.Fatalf("no reply to %.200q: %v", line, err)
				}
				if a, err := simbridge.ReadAnswer(bytes.TrimSuffix(reply, []byte("\n"))); err != nil || a.ID != 17 {
					t.Errorf("%.200q is answered %.200q: %v", line, reply, err)
				}
			}
			for _, row := range hostile {
				play(row.body)
			}
			spoiltMoves(play)
			stdin.Close()
			if err := engine.Wait(); err != nil {
				t.Errorf("it ends with %v", err)
			}
			if strings.Contains(complaints.String(), row.broken) {
				t.Errorf("it cannot read every line: %.1000s", complaints.String())
			}
			t.Logf("%d lines", played)
		})
	}
}

// needed returns where a program is, skips a test that lacks it, and fails in CI.
func needed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	return path
}
