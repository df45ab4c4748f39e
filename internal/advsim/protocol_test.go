package advsim

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// serve runs the engine on input and returns what it wrote, by line.
func serve(t testing.TB, input string) []string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := Main([]string{"serve"}, strings.NewReader(input), &stdout, &stderr); status != exitOK {
		t.Fatalf("exit status %d, stderr %q", status, stderr.String())
	}
	if stdout.Len() == 0 {
		return nil
	}
	if !strings.HasSuffix(stdout.String(), "\n") {
		t.Fatalf("the last line has no end: %q", stdout.String())
	}
	return strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
}

func TestProtocol(t *testing.T) {
	for _, tc := range []struct {
		name string
		line string
		id   string
		code string // empty for ok
	}{
		{"ping", `{"id":0,"kind":"ping"}`, `0`, ""},
		{"ping with another id", `{"id":9007199254740993,"kind":"ping"}`, `9007199254740993`, ""},
		{"new", `{"id":1,"kind":"new"}`, `1`, ""},
		{"new with state", `{"id":1,"kind":"new","input":"x","state":[1,2]}`, `1`, ""},
		{"new with nulls", `{"id":1,"kind":"new","input":null,"state":null}`, `1`, ""},
		{"CRLF", `{"id":2,"kind":"new"}` + "\r", `2`, ""},
		{"spaces", " \t{ \"id\" : 3 , \"kind\" : \"new\" } ", `3`, ""},
		{"a field of a newer server", `{"id":4,"kind":"new","locale":"ja"}`, `4`, ""},
		{"id a string", `{"id":"a\u0041","kind":"new"}`, `"a\u0041"`, ""},
		{"id null", `{"id":null,"kind":"ping"}`, `null`, ""},
		{"id a fraction", `{"id":1.50e3,"kind":"ping"}`, `1.50e3`, ""},
		{"id negative", `{"id":-1,"kind":"ping"}`, `-1`, ""},
		{"no id", `{"kind":"ping"}`, `0`, ""},
		{"id an object", `{"id":{"a":1},"kind":"ping"}`, `0`, "bad_line"},
		{"id an array", `{"id":[1],"kind":"ping"}`, `0`, "bad_line"},
		{"id too long", `{"id":"` + strings.Repeat("x", maxID) + `","kind":"ping"}`, `0`, "bad_line"},
		{"unknown kind", `{"id":5,"kind":"dance"}`, `5`, "bad_kind"},
		{"kind in capitals", `{"id":5,"kind":"NEW"}`, `5`, "bad_kind"},
		{"no kind", `{"id":5}`, `5`, "bad_kind"},
		{"kind a number", `{"id":5,"kind":1}`, `5`, "bad_kind"},
		{"input a number", `{"id":5,"kind":"say","input":1}`, `5`, "bad_input"},
		{"input an object", `{"id":5,"kind":"say","input":{}}`, `5`, "bad_input"},
		{"no state", `{"id":6,"kind":"look"}`, `6`, "bad_state"},
		{"state null", `{"id":6,"kind":"say","input":"x","state":null}`, `6`, "bad_state"},
		{"blank line", ``, `0`, "bad_line"},
		{"only CR", "\r", `0`, "bad_line"},
		{"not JSON", `hello`, `0`, "bad_line"},
		{"cut short", `{"id":7,"kind":"new"`, `7`, "bad_line"},
		{"cut short before the id", `{"kind":"new"`, `0`, "bad_line"},
		{"array", `[{"id":7,"kind":"new"}]`, `0`, "bad_line"},
		{"number", `7`, `0`, "bad_line"},
		{"two values", `{"id":7,"kind":"new"}{"id":8,"kind":"new"}`, `7`, "bad_line"},
		{"a name twice", `{"id":7,"kind":"new","kind":"ping"}`, `7`, "bad_line"},
		{"a name twice in the state", `{"id":7,"kind":"look","state":{"v":1,"v":1}}`, `7`, "bad_line"},
		{"invalid UTF-8", "{\"id\":7,\"kind\":\"say\",\"input\":\"\xff\"}", `7`, "bad_line"},
		{"lone surrogate", `{"id":7,"kind":"say","input":"\ud800"}`, `7`, "bad_line"},
		{"NUL", "{\"id\":7,\"kind\":\"new\"}\x00", `7`, "bad_line"},
		{"deep", `{"id":7,"kind":"look","state":` + strings.Repeat("[", 100_000), `7`, "bad_line"},
		{"too long", `{"id":7,"kind":"new","input":"` + strings.Repeat("x", maxLine) + `"}`, `0`, "too_long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// A good line behind it must still be answered.
			lines := serve(t, tc.line+"\n"+`{"id":99,"kind":"ping"}`+"\n")
			if len(lines) != 2 || lines[1] != `{"id":99,"ok":true}` {
				t.Fatalf("got %d lines: %q", len(lines), lines)
			}
			var a answer
			if err := json.Unmarshal([]byte(lines[0]), &a); err != nil {
				t.Fatal(err)
			}
			if string(a.ID) != tc.id {
				t.Errorf("id %s, want %s", a.ID, tc.id)
			}
			if *a.OK != (tc.code == "") || a.Code != tc.code {
				t.Errorf("got %s, want code %q", lines[0], tc.code)
			}
			if !*a.OK && a.Error == "" {
				t.Errorf("no word of what is wrong: %s", lines[0])
			}
		})
	}
}

func TestReplyLooks(t *testing.T) {
	e := lamp(t)
	got := string(e.answer([]byte(`{"id":17,"kind":"new"}`)))
	want := `{"id":17,"ok":true,"text":"日が暮れた。塔に灯がない。\nあなたは桟橋に立っている。",` +
		`"state":{"v":1,"story":"` + e.story.fingerprint + `","place":"pier","turn":0,"flags":[],"ending":""},` +
		`"place":"桟橋","choices":[{"label":"星を眺める","kind":"say","input":"星を眺める"}],` +
		`"places":[{"label":"小屋へ","kind":"move","input":"shed"}],"end":false}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLines(t *testing.T) {
	ping := `{"id":1,"kind":"ping"}`
	full := ping + strings.Repeat(" ", maxLine-len(ping))
	for _, tc := range []struct {
		name  string
		input string
		want  int
	}{
		{"nothing", "", 0},
		{"no newline at the end", ping, 1},
		{"one line", ping + "\n", 1},
		{"two lines", ping + "\n" + ping + "\n", 2},
		{"blank lines", "\n\n\n", 3},
		{"no newline after the second", ping + "\n" + ping, 2},
		{"as long as may be", full + "\n", 1},
		{"too long, and the end", full + " ", 1},
		{"too long, and more", full + " \n" + ping, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := serve(t, tc.input); len(got) != tc.want {
				t.Errorf("%d answers, want %d", len(got), tc.want)
			}
		})
	}
	if got := serve(t, full)[0]; got != `{"id":1,"ok":true}` {
		t.Errorf("a line of exactly maxLine is answered by %s", got)
	}
}

// Each move is answered before the next is read: whoever waits for the answer
// before sending more is not left waiting.
func TestAnswersAtOnce(t *testing.T) {
	in, toEngine := io.Pipe()
	fromEngine, out := io.Pipe()
	left := make(chan int, 1)
	go func() { left <- Main([]string{"serve"}, in, out, io.Discard) }()

	answers := make([]byte, len(`{"id":1,"ok":true}`+"\n"))
	for range 3 {
		if _, err := io.WriteString(toEngine, `{"id":1,"kind":"ping"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(fromEngine, answers); err != nil {
			t.Fatal(err)
		}
	}
	toEngine.Close()
	if status := <-left; status != exitOK {
		t.Errorf("exit status %d at the end of stdin", status)
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string // part of what is said of them
	}{
		{nil, "what to do is missing"},
		{[]string{""}, `unknown command ""`},
		{[]string{"dance"}, `unknown command "dance"`},
		{[]string{"--data"}, `unknown command "--data"`},
		{[]string{"serve", "--data"}, `serve takes no arguments, but was given "--data"`},
		{[]string{"play", "story"}, `play takes no arguments, but was given "story"`},
		{[]string{"check", "a", "b"}, `check takes one folder, but was given "b" as well`},
	} {
		var stdout, stderr bytes.Buffer
		if status := Main(tc.args, strings.NewReader(""), &stdout, &stderr); status != exitUsage {
			t.Errorf("%q: exit status %d", tc.args, status)
		}
		if stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "adv-sim: "+tc.want+"\nusage: adv-sim serve") {
			t.Errorf("%q: stdout %q, stderr %q", tc.args, stdout.String(), stderr.String())
		}
	}
}

func TestHelp(t *testing.T) {
	for _, arg := range []string{"help", "-h", "--help"} {
		var stdout, stderr bytes.Buffer
		if status := Main([]string{arg}, strings.NewReader(""), &stdout, &stderr); status != exitOK || stdout.String() != usage || stderr.Len() > 0 {
			t.Errorf("%q: exit status %d, stdout %q, stderr %q", arg, status, stdout.String(), stderr.String())
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Read([]byte) (int, error)  { return 0, errors.New("read broke") }
func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("write broke") }

func TestBrokenPipes(t *testing.T) {
	for _, command := range []string{"serve", "play"} {
		var stderr bytes.Buffer
		if status := Main([]string{command}, brokenPipe{}, io.Discard, &stderr); status != exitBroke || !strings.Contains(stderr.String(), "read broke") {
			t.Errorf("%s, stdin broken: exit status %d, stderr %q", command, status, stderr.String())
		}
	}
	for _, command := range []string{"serve", "play", "check"} {
		var stderr bytes.Buffer
		if status := Main([]string{command}, strings.NewReader("x\n"), brokenPipe{}, &stderr); status != exitBroke || !strings.Contains(stderr.String(), "write broke") {
			t.Errorf("%s, stdout broken: exit status %d, stderr %q", command, status, stderr.String())
		}
	}
}
