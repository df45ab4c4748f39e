package simbridge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary plays the engine: where this variable is set it is a puppet,
// and its value says how it starts.
const puppetVariable = "KIRI_TEST_PUPPET"

func TestMain(m *testing.M) {
	if start, ok := os.LookupEnv(puppetVariable); ok {
		puppet(start)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// puppet is an engine that does what the input of a move tells it to.
func puppet(start string) {
	out := bufio.NewWriter(os.Stdout)
	say := func(format string, args ...any) {
		fmt.Fprintf(out, format, args...)
		out.Flush()
	}
	echoes := true
	switch start {
	case "exits":
		fmt.Fprintln(os.Stderr, "no data file")
		os.Exit(3)
	case "silent":
		select {}
	case "no ids":
		echoes = false
	case "banner":
		say("Welcome to the engine\n\nversion 7\n")
	case "greeting":
		say("{\"ready\":true}\n")
	case "chatter":
		for range 200 {
			say("loading\n")
		}
	case "spins":
		for {
		}
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var move struct {
			ID    uint64
			Kind  string
			Input string
		}
		if err := json.Unmarshal(line, &move); err != nil {
			say("{\"id\":0,\"ok\":false,\"error\":%q}\n", "not JSON: "+string(line))
			continue
		}
		reply := func(text string) {
			id := fmt.Sprintf(`"id":%d,`, move.ID)
			if !echoes {
				id = ""
			}
			quoted, _ := json.Marshal(text)
			say("{%s\"ok\":true,\"text\":%s}\n", id, quoted)
		}
		order, rest, _ := strings.Cut(move.Input, " ")
		switch order {
		case "sleep":
			d, _ := time.ParseDuration(rest)
			if d == 0 {
				panic("how long? " + rest)
			}
			time.Sleep(d)
			reply(move.Input)
		case "hang":
			select {}
		case "crash":
			fmt.Fprintln(os.Stderr, "assertion failed: fog")
			os.Exit(7)
		case "crash-in-reply":
			say("{\"id\":%d,\"ok\":true,\"text\":\"half a", move.ID)
			os.Exit(7)
		case "crash-before-newline":
			say("{\"id\":%d,\"ok\":true}", move.ID)
			os.Exit(7)
		case "crash-after":
			reply(move.Input)
			os.Exit(7)
		case "print": // anything at all, as the only answer
			say("%s\n", rest)
		case "also": // a good reply, and then something more
			reply(move.Input)
			say("%s\n", rest)
		case "long":
			reply(strings.Repeat("x", 1<<20))
		case "endless":
			for {
				say("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
			}
		case "close-stdout":
			os.Stdout.Close()
			select {}
		case "stop-reading":
			reply(move.Input)
			select {}
		case "noise":
			for range 10_000 {
				fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 2000))
			}
			reply(move.Input)
		case "orphan": // a child of its own that holds every pipe
			child := exec.Command("sleep", "3600")
			child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
			if rest == "escaped" {
				child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			}
			if err := child.Start(); err != nil {
				reply(err.Error())
				continue
			}
			reply(fmt.Sprint(child.Process.Pid))
		case "exit":
			os.Exit(7)
		case "echo-line":
			reply(string(line))
		case "pid":
			reply(fmt.Sprint(os.Getpid()))
		case "reject":
			say("{\"id\":%d,\"ok\":false,\"error\":\"not here\"}\n", move.ID)
		default:
			reply(move.Input)
		}
	}
}
