package conform

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary plays the engine: where this variable is set it is a puppet,
// and its value says what is wrong with it.
const puppetVariable = "KIRI_TEST_PUPPET"

func TestMain(m *testing.M) {
	if wrong, ok := os.LookupEnv(puppetVariable); ok {
		puppet(wrong)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// A puppetState is the good puppet's whole game.
type puppetState struct {
	N    int
	Name string
}

// puppet is a good engine but for one thing.
func puppet(wrong string) {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	slow := make(chan string, 100)
	say := func(format string, args ...any) {
		if wrong == "loses the last reply" {
			slow <- fmt.Sprintf(format, args...)
			return
		}
		fmt.Fprintf(out, format, args...)
		if wrong == "buffers" {
			return
		}
		if out.Flush() != nil && wrong == "stays when nobody reads" {
			hang()
		}
	}
	switch wrong {
	case "exits":
		fmt.Fprintln(os.Stderr, "no data file")
		os.Exit(3)
	case "silent":
		hang()
	case "banner":
		say("Welcome\n\nversion 7\n")
	case "greeting":
		say("{\"ready\":true}\n")
	case "endless banner":
		for {
			say("loading\n")
		}
	case "endless line":
		for {
			say("loading, ")
		}
	case "JSON banner":
		say("{\"engine\":\"puppet\"}\n")
	case "JSON banner, no ids":
		say("{\"engine\":\"puppet\"}\n")
	case "stays when nobody reads":
		signal.Ignore(syscall.SIGPIPE)
	case "loses the last reply":
		go func() {
			for text := range slow {
				time.Sleep(20 * time.Millisecond)
				fmt.Print(text)
			}
		}()
	case "ignores SIGTERM":
		signal.Ignore(syscall.SIGTERM)
	case "daemon":
		child := exec.Command("sleep", "3")
		child.Stdout = os.Stdout
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			panic(err)
		}
	case "late noise":
		go func() {
			time.Sleep(500 * time.Millisecond)
			fmt.Println("autosave")
		}()
	}
	counter, pid, moves := 0, os.Getpid(), 0
	var memory puppetState
	for {
		line, err := readPuppetLine(in, wrong)
		if err != nil {
			switch wrong {
			case "ignores the end", "ignores SIGTERM":
				hang()
			case "a last word":
				say("bye\n")
			}
			out.Flush()
			return
		}
		counter++
		var move struct {
			ID    uint64
			Kind  string
			Input *string
			State json.RawMessage
		}
		if err := json.Unmarshal(line, &move); err != nil {
			fmt.Fprintln(os.Stderr, "fatal:", err)
			os.Exit(4)
		}
		if move.Kind != "ping" {
			moves++
		}
		id := fmt.Sprintf(`"id":%d,`, move.ID)
		switch wrong {
		case "no ids", "JSON banner, no ids":
			id = ""
		case "ids only at pings":
			if move.Kind != "ping" {
				id = ""
			}
		case "one id for all":
			id = `"id":0,`
		case "id a string":
			id = fmt.Sprintf(`"id":"%d",`, move.ID)
		}
		reply := func(s puppetState, text string) {
			state, _ := json.Marshal(s)
			offers := `"choices":[{"label":"待つ","kind":"say","input":"待つ"}],"places":[],"place":"港","end":false`
			switch wrong {
			case "large number in the state":
				state = []byte(`{"N":1,"Seed":12345678901234567890}`)
			case "state too large":
				state = []byte(`{"N":1,"Name":"` + strings.Repeat("霧", 30_000) + `"}`)
			case "state too deep":
				state = []byte(`{"N":1,"Log":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "}")
			case "a name twice in the state":
				state = []byte(`{"N":1,"N":2}`)
			case "no state":
				state = []byte("null")
			case "offers of another kind":
				offers = `"choices":[{"label":"踊る","kind":"dance","input":"x"}]`
			case "offers without a label":
				offers = `"places":[{"kind":"move","input":"x"}]`
			case "a place that is no string":
				offers = `"place":7`
			case "an end that is no boolean":
				offers = `"end":"no"`
			case "it ends soon":
				offers = fmt.Sprintf(`"end":%v,"choices":[{"label":"待つ","kind":"say"}]`, s.N > 3)
			}
			quoted, _ := json.Marshal(text)
			switch wrong {
			case "no text":
				quoted = []byte("null")
			case "mangles text":
				quoted, _ = json.Marshal(text + "\uFFFD")
			}
			good := fmt.Sprintf(`{%s"ok":true,"text":%s,"state":%s,%s}`, id, quoted, state, offers)
			switch {
			case wrong == "CRLF":
				say("%s\r\n", good)
			case wrong == "no newline":
				say("%s", good)
			case wrong == "BOM":
				say("\ufeff%s\n", good)
			case wrong == "each line twice", wrong == "moves twice" && move.Kind != "ping", wrong == "a move twice" && moves == 4,
				wrong == "large states twice" && len(line) > 1<<15:
				say("%s\n%s\n", good, good)
			case wrong == "moves twice, later" && move.Kind != "ping":
				say("%s\n", good)
				time.Sleep(20 * time.Millisecond)
				say("%s\n", good)
			case wrong == "an empty line after each":
				say("%s\n\n", good)
			case wrong == "an empty line before each":
				say("\n%s\n", good)
			case wrong == "noise before" && move.Kind != "ping":
				say("DEBUG %s\n%s\n", move.Kind, good)
			case wrong == "noise after" && move.Kind != "ping":
				say("%s\nDEBUG %s\n", good, move.Kind)
			case wrong == "printed for people":
				say("{\n  \"id\": %d\n}\n", move.ID)
			case wrong == "no JSON" && move.Kind != "ping":
				say("Traceback (most recent call last):\n")
			case wrong == "an array" && move.Kind != "ping":
				say("[%s]\n", good)
			case wrong == "invalid UTF-8" && move.Kind != "ping":
				say("{%s\"text\":\"\xff\",\"state\":1}\n", id)
			case wrong == "a name twice":
				say("{%s\"ok\":true,\"text\":\"a\",\"text\":\"b\",\"state\":1}\n", id)
			case wrong == "ok a string":
				say("{%s\"ok\":\"yes\",\"state\":1}\n", id)
			case wrong == "too long" && move.Kind != "ping":
				say("{%s\"text\":\"%s\",\"state\":1}\n", id, strings.Repeat("x", 2<<20))
			default:
				say("%s\n", good)
			}
		}
		refuse := func(text string) { say("{%s\"ok\":false,\"error\":%q}\n", id, text) }

		if move.Kind == "ping" {
			if wrong == "no pong" && counter > 1 {
				continue
			}
			reply(puppetState{}, "pong")
			continue
		}
		text := "波の音。"
		switch wrong {
		case "hangs at a move":
			hang()
		case "crashes at a move":
			if moves == 3 {
				fmt.Fprintln(os.Stderr, "assertion failed: fog")
				os.Exit(7)
			}
		case "crashes after a move":
			if moves == 3 {
				reply(puppetState{N: 1}, text)
				os.Exit(7)
			}
		case "refuses to begin":
			refuse("まだ")
			continue
		case "echoes":
			say("%s", line)
			continue
		case "chance":
			text = fmt.Sprint(pid)
		case "counts":
			text = fmt.Sprint(moves)
		case "hangs in a burst":
			if in.Buffered() > 0 {
				hang()
			}
		}
		if move.Kind == "new" {
			memory = puppetState{N: 1}
			reply(puppetState{N: 1, Name: "霧"}, "始まり。")
			continue
		}
		if move.Kind != "look" && move.Kind != "move" && move.Kind != "say" {
			if wrong == "crashes at an unknown kind" {
				os.Exit(9)
			}
			if wrong == "silent at an unknown kind" {
				continue
			}
			refuse("わからない")
			continue
		}
		var s puppetState
		switch err := json.Unmarshal(move.State, &s); {
		case wrong == "refuses all":
			refuse("だめ")
			continue
		case err != nil && wrong == "crashes at a foreign state", s.N == 0 && wrong == "crashes at a member of a state":
			panic("index out of range")
		case err != nil || s.N < 1 || s.N > 1000:
			refuse("この続きは読めない")
			continue
		}
		switch wrong {
		case "own memory": // without a look at the state
			memory.N++
			s.N = memory.N
		case "reads only plain JSON":
			if strings.Contains(string(move.State), `\u`) {
				refuse("この続きは読めない")
				continue
			}
		case "crashes at an emoji":
			if move.Input != nil && strings.ContainsRune(*move.Input, '😀') {
				os.Exit(5)
			}
		}
		s.N++
		reply(s, fmt.Sprintf("%s %d", text, s.N))
	}
}

func hang() {
	for { // unlike an empty select, no deadlock that the runtime would see
		time.Sleep(time.Hour)
	}
}

// readPuppetLine reads as an engine does, or as one should not.
func readPuppetLine(in *bufio.Reader, wrong string) ([]byte, error) {
	switch wrong {
	case "reads chunks":
		chunk := make([]byte, 1<<20)
		n, err := os.Stdin.Read(chunk)
		line, _, _ := strings.Cut(string(chunk[:n]), "\n")
		return []byte(line), err
	case "short lines only":
		line, more, err := in.ReadLine() // at most 4 KiB
		if more {
			return append(line, '"'), err
		}
		return line, err
	case "splits at U+2028":
		line, err := in.ReadString('\n')
		if before, _, found := strings.Cut(line, "\u2028"); found {
			line = before
		}
		return []byte(line), err
	}
	return in.ReadBytes('\n')
}
