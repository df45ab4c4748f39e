// Command player plays through a server like any client, inside its limits: by
// hand, from a script, or many players at once, which is also the project's load
// test.
//
// It owns the states of the games that it plays, so a move whose answer was lost
// can always be sent again. The one thing that must not happen is that it asks for
// more than its share: every request goes through the pace of its address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

const usage = `usage: player [-url URL]                 play in the terminal, or the lines of a pipe
       player [-url URL] -script FILE    play a script
       player [-url URL] -players N -for D [-rate R] [-forwarded] [-seed S] [-json]
                                         many players at once

A script has one move a line: the label of a choice or a place that is offered,
or free text. "# …" is a comment; "expect: …" must be found in the reply to the
move above. Where it is not, the exit status is 1.

Many players make random moves out of what the replies offer, each no faster than
the server's limit for its address allows.
  Without -rate the loop is closed: a player's next move waits for the reply to its
last, so a slow server is asked less, and latency counts from sending a request.
  With -rate the loop is open: R moves a second are due in all, at times fixed
beforehand. Whichever player is free makes the next one, and its latency counts
from when it was due, whatever kept it waiting, the limit included (no coordinated
omission).
  Refusals (429) are waited out as Retry-After says; 502, 503, 504 and lost
connections are tried again up to 8 times. The exit status is 1 if a move was
given up, a reply was no legal continuation, or no move was accepted at all.

`

// Exit statuses.
const (
	exitOK       = 0
	exitFailed   = 1
	exitMistaken = 2 // what was asked for cannot be
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program but for the process around it; tests call it too.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := readOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "player: %v\n", err)
		return exitMistaken
	}
	switch {
	case o.script != "":
		err = playScript(ctx, newClient(o.server, 1), o.script, stdout, stderr)
		var wrong *scriptError
		if err != nil && !errors.As(err, &wrong) {
			fmt.Fprintf(stderr, "player: -script: %v\n", err)
			return exitMistaken
		}
	case o.players > 0:
		err = playCrowd(ctx, o, stdout, stderr)
	default:
		err = playByHand(ctx, o.server, stdin, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "player: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// Options are what the arguments ask for.
type options struct {
	server    *url.URL
	script    string
	players   int // 0: one, by hand or from the script
	length    time.Duration
	rate      float64
	forwarded bool
	seed      uint64
	json      bool
}

// readOptions reads the arguments. What it cannot read it reports with the flag's
// name; asked for help it prints that and returns flag.ErrHelp.
func readOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("player", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("url", "http://127.0.0.1:8787", "the server's `URL`")
	flags.StringVar(&o.script, "script", "", "play the script in `FILE`")
	flags.IntVar(&o.players, "players", 0, fmt.Sprintf("`N` players at once, at most %d", maxPlayers))
	flags.DurationVar(&o.length, "for", 0, "how long they play, such as 10m (`D`)")
	flags.Float64Var(&o.rate, "rate", 0, "open loop: `R` moves a second are due in all")
	flags.BoolVar(&o.forwarded, "forwarded", false, "give each player an address of its own by X-Forwarded-For, for a server that trusts loopback")
	flags.Uint64Var(&o.seed, "seed", uint64(rand.Uint32()), "`S` seeds the random moves")
	flags.BoolVar(&o.json, "json", false, "print the summary as JSON")
	flags.Lookup("seed").DefValue = "drawn"
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stderr, usage)
			flags.SetOutput(stderr)
			flags.PrintDefaults()
		}
		return o, err
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if flags.NArg() > 0 {
		return o, fmt.Errorf("not understood: %q", flags.Args())
	}
	if given["script"] && o.script == "" {
		return o, errors.New("-script: the file's name is missing")
	}
	if given["script"] && given["players"] {
		return o, errors.New("-script and -players do not go together")
	}
	for _, name := range []string{"for", "rate", "forwarded", "seed", "json"} {
		if given[name] && !given["players"] {
			return o, fmt.Errorf("-%s is for many players, and needs -players", name)
		}
	}
	switch {
	case given["players"] && (o.players < 1 || o.players > maxPlayers):
		return o, fmt.Errorf("-players: must be between 1 and %d, got %d", maxPlayers, o.players)
	case given["players"] && o.length <= 0:
		return o, errors.New("-players needs -for, and that a time above 0, such as -for 10m")
	case o.length > maxLength:
		return o, fmt.Errorf("-for: must be at most %v, got %v", maxLength, o.length)
	case given["rate"] && !(o.rate > 0 && o.rate <= maxRate):
		return o, fmt.Errorf("-rate: must be above 0 and at most %d, got %v", maxRate, o.rate)
	}
	var err error
	o.server, err = readURL(*address)
	return o, err
}

// maxLength is more than a load test takes.
const maxLength = 1000 * time.Hour

// maxRate is more than one machine can send. Each move that is due is counted, also
// where none is sent any more.
const maxRate = 10_000

func readURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("-url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("-url: must be like http://127.0.0.1:8787, got %q", text)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("-url: must be an address alone, without query, fragment or user, got %q", text)
	}
	return u, nil
}

// errBad is a run that found something wrong; its summary says what.
var errBad = errors.New("the run found something wrong, see above")

func playCrowd(ctx context.Context, o options, stdout, stderr io.Writer) error {
	c := crowd{
		client: newClient(o.server, o.players), players: o.players, length: o.length,
		rate: o.rate, forwarded: o.forwarded, seed: o.seed,
	}
	fmt.Fprintf(stderr, "%d players for %v, seed %d\n", o.players, o.length, o.seed)
	s := c.play(ctx, stderr, isTerminal(stderr))
	if o.json {
		if err := s.printJSON(stdout); err != nil {
			return err
		}
		fmt.Fprintln(stdout)
	} else {
		s.print(stdout)
	}
	if s.bad() {
		return errBad
	}
	return nil
}

func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
