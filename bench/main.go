// Command bench measures the server beside what else people could pick, and
// writes what it finds into RESULTS.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"kiribashiri/bench/limiter"
	"kiribashiri/bench/measure"
	"kiribashiri/bench/servers"
	"kiribashiri/bench/stores"
)

// faces are in the order of the report; choose returns them.
var faces = []measure.Face{limiter.Face, stores.Face, servers.Answer, servers.Pipe, servers.Move, servers.Growth, servers.Idle}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "the `faces` to measure, with commas between them; RESULTS.md is then left alone")
	rounds := flags.Int("rounds", 0, "how many `rounds`, instead of each face's own number")
	smoke := flags.Bool("smoke", false, "the least that touches everything; the figures mean nothing")
	server := flags.String("server", "", "the `binary` of the server, instead of building it")
	beside := flags.String("beside", "", "another `binary` of the server, to see what a change is worth")
	profiles := flags.String("profiles", "", "a `folder` for processor profiles of the server under load")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kiribashiri-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &measure.Bench{Rounds: *rounds, Smoke: *smoke, Server: *server, Beside: *beside, Profiles: *profiles, Dir: dir, Log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}}
	r := newReport(args)
	var failed []error
	for _, f := range chosen {
		var s measure.Section
		if err := f.Run(ctx, b, &s); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil { // what the other faces have measured is not lost
			failed = append(failed, fmt.Errorf("%s: %w", f.Name, err))
			s.Say("**It could not be measured: %v.**", err)
		}
		r.add(f.Title, &s)
		fmt.Print(s.Markdown(f.Title))
	}
	if *only == "" && !*smoke {
		failed = append(failed, os.WriteFile(resultsFile, []byte(r.markdown(ctx)), 0o644))
	}
	return errors.Join(failed...)
}

// choose returns the faces with these names; all of them if there are none.
func choose(names string) ([]measure.Face, error) {
	if names == "" {
		return faces, nil
	}
	var chosen []measure.Face
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(faces, func(f measure.Face) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no face %q", name)
		}
		chosen = append(chosen, faces[i])
	}
	return chosen, nil
}
