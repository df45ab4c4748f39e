package simbridge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary plays the engine: where this variable is set it is a puppet,
// and its value says how it starts.
const puppetVariable = "KIRI_TEST_PUPPET"

// playedVariable names a file in which a stormy puppet notes each move it gets.
const playedVariable = "KIRI_TEST_PLAYED"

func TestMain(m *testing.M) {
	if start, ok := os.LookupEnv(puppetVariable); ok {
		puppet(start)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// weather is what becomes of a move in a storm, at random.
func weather(order, rest string) (string, string) {
	switch rand.IntN(100) {
	case 0:
		return "crash", rest
	case 1:
		return "crash-in-reply", rest
	case 2:
		return "crash-after", rest
	case 3:
		return "hang", rest
	case 4:
		return "sleep", "1500ms" // and then answers, too late
	case 5:
		return "twice", rest
	case 6:
		return "both", rest
	case 7:
		return "close-stdout", rest
	case 8, 9:
		return "noise-and-reply", rest
	case 10, 11, 12, 13, 14:
		return "sleep", fmt.Sprintf("%dms", 1+rand.IntN(20))
	}
	return order, rest
}

// note writes down that a move was given to this engine.
func note(mark string) {
	file, err := os.OpenFile(os.Getenv(playedVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintln(file, mark)
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
	case "json banner":
		say("{\"engine\":\"puppet\"}\n")
	case "json banner, no ids":
		echoes = false
		say("{\"engine\":\"puppet\"}\n")
	case "banner":
		say("Welcome to the engine\n\nversion 7\n")
	case "greeting":
		say("{\"ready\":true}\n")
	case "chatter":
		for range 200 {
			say("loading\n")
		}
	case "spins":
		for n := 0; ; n++ {
		}
	}
	in := bufio.NewReader(os.Stdin)
	for {
		if start == "talks while it listens" {
			if _, err := in.Peek(10); err == nil {
				say(`{"pad":"%s"`, strings.Repeat("x", 300<<10))
			}
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			_, rest, _ := strings.Cut(line, `"id":`)
			id, _, _ := strings.Cut(rest, ",")
			say(",\"id\":%s}\n", id)
			continue
		}
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
		if start == "storm" && move.Kind != "ping" {
			note(move.Input)
			order, rest = weather(order, rest)
		}
		switch order {
		case "sleep":
			d, _ := time.ParseDuration(rest)
			if d == 0 {
				panic("how long? " + rest)
			}
			time.Sleep(d)
			reply(move.Input)
		case "peek", "swallow-and-crash": // is the next line there already?
			there := make(chan struct{})
			go func() {
				defer close(there)
				in.Peek(1)
			}()
			d, _ := time.ParseDuration(rest)
			select {
			case <-there:
				reply("another waits")
			case <-time.After(d):
				reply("alone")
			}
			if order != "peek" {
				os.Exit(7)
			}
			<-there
		case "hang":
			select {}
		case "crash":
			fmt.Fprintln(os.Stderr, "assertion failed: fog")
			os.Exit(7)
		case "crash-late":
			time.Sleep(300 * time.Millisecond)
			os.Exit(7)
		case "crash-in-reply":
			say("{\"id\":%d,\"ok\":true,\"text\":\"half a", move.ID)
			os.Exit(7)
		case "crash-before-newline":
			say("{\"id\":%d,\"ok\":true}", move.ID)
			os.Exit(7)
		case "crash-soon": // after its reply, and before it reads on
			reply(move.Input)
			time.Sleep(200 * time.Millisecond)
			os.Exit(7)
		case "crash-after":
			reply(move.Input)
			os.Exit(7)
		case "print": // anything at all, as the only answer
			say("%s\n", rest)
		case "also": // a good reply, and then something more
			reply(move.Input)
			say("%s\n", rest)
		case "both":
			quoted, _ := json.Marshal(move.Input)
			line := fmt.Sprintf("{\"text\":%s}\n", quoted)
			if echoes {
				line = fmt.Sprintf("{\"id\":%d,\"text\":%s}\n", move.ID, quoted)
			}
			say("%s%s", line, line)
		case "twice":
			reply(move.Input)
			reply(move.Input)
		case "noise-and-reply":
			for range 200 {
				fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 2000))
			}
			reply(move.Input)
		case "long":
			reply(strings.Repeat("x", 1<<20))
		case "exactly": // a reply line of so many bytes
			n, _ := strconv.Atoi(rest)
			head := fmt.Sprintf(`{"id":%d,"text":"`, move.ID)
			say("%s%s\"}\n", head, strings.Repeat("x", n-len(head)-len(`"}`)))
		case "invalid-utf8":
			say("{\"id\":%d,\"text\":\"\xff\"}\n", move.ID)
		case "split": // in the middle of a character
			line := fmt.Sprintf("{\"id\":%d,\"text\":\"霧\"}\n", move.ID)
			half := strings.Index(line, "霧") + 1
			say("%s", line[:half])
			time.Sleep(50 * time.Millisecond)
			say("%s", line[half:])
		case "group":
			reply(fmt.Sprint(syscall.Getpgrp() == os.Getpid()))
		case "oom":
			text, err := os.ReadFile("/proc/self/oom_score_adj")
			reply(fmt.Sprint(strings.TrimSpace(string(text)), err))
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
		case "litter": // a process that ends later, one that ends with the group, and both are nobody's
			err := exec.Command("sh", "-c", "setsid sleep 0.01 & sleep 3600 &").Run()
			reply(fmt.Sprint(err))
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
