// Command server puts a turn-based game engine on the web: one JSON line a move
// in, one out. Without arguments it serves; it is configured by the environment
// alone, as the README says.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"kiribashiri/internal/advsim"
)

const usage = `usage: server            serve; the README lists the variables that configure it
       server health     ask the server at KIRI_ADDR; exit 0 if an engine is up, else 1
       server check      try the engine of KIRI_SIM against the protocol; exit 0 if it keeps it, else 1
       server check -- COMMAND…
                         the same with another engine, such as: server check -- python3 engine.py
       server version    say which build this is
       server adv-sim …  the built-in engine, as the server itself starts it
`

// Exit statuses.
const (
	exitOK       = 0
	exitFailed   = 1
	exitMistaken = 2 // what was asked for cannot be: arguments or configuration
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	hangups := make(chan os.Signal, 1)
	if !isTerminal(os.Stderr) { // from a terminal it means that the terminal has gone
		signal.Notify(hangups, syscall.SIGHUP)
	}
	// A move goes through four goroutines. On one thread that costs half of what it costs
	// to wake another for each, and one carries more moves than engines can play.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	os.Exit(run(ctx, hangups, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program but for the process around it; tests call it too. Each
// of the hangups has the engines replaced.
func run(ctx context.Context, hangups <-chan os.Signal, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch {
	case command == engineCommand:
		return advsim.Main(args[1:], stdin, stdout, stderr)
	case command == "version" && len(args) == 1:
		fmt.Fprintln(stdout, version())
		return exitOK
	case command == "health" && len(args) == 1, command == "" && len(args) == 0:
	case command == "check" && (len(args) == 1 || len(args) > 2 && args[1] == "--"):
	case command == "help" || command == "-h" || command == "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	default:
		fmt.Fprintf(stderr, "not understood: %q\n%s", args, usage)
		return exitMistaken
	}

	cfg, err := readConfig(environ)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitMistaken
	}
	switch command {
	case "health":
		err = health(ctx, cfg, stdout)
	case "check":
		err = check(ctx, cfg, args[min(len(args), 2):], stdout, stderr)
	default:
		err = serve(ctx, cfg, environ, hangups, stderr)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errBroken): // the report has said it
		return exitFailed
	case errors.Is(err, errMistaken), errors.Is(err, errNoProgram):
		fmt.Fprintln(stderr, err)
		return exitMistaken
	default:
		fmt.Fprintln(stderr, err)
		return exitFailed
	}
}

// built and commit are set by the linker: built in a release, commit where the
// build cannot see the repository, as in a container.
var built, commit string

// version says which build this is.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return describe(built, commit, info)
}

// describe names a build by its version and the commit it was made of, as far as
// they are known.
func describe(built, commit string, info *debug.BuildInfo) string {
	const enough = 12 // letters of a commit, to find it by
	changed := false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = cmp.Or(commit, setting.Value)
		case "vcs.modified":
			changed = setting.Value == "true"
		}
	}
	name := cmp.Or(built, info.Main.Version)
	if name == "" || name == "(devel)" {
		name = "devel"
	}
	if commit = commit[:min(len(commit), enough)]; commit != "" && !strings.Contains(name, commit) {
		name += " (" + commit + ")"
	}
	if changed && !strings.Contains(name, "+dirty") {
		name += " +dirty"
	}
	return name
}
