// Package advsim is the built-in engine: a short adventure in Japanese that is
// played one JSON line at a time.
//
// It owns the story, the reading of what players type, and the shape of the
// state that browsers carry between moves. It keeps nothing itself, so the same
// state and the same input always bring the same reply.
//
// The one thing that can go wrong is the state: it comes back through
// strangers' hands. Whatever arrives there, and on the line as a whole, is
// answered with one reply line; nothing on stdin ends the engine but its end.
package advsim

import (
	"fmt"
	"io"
	"os"
)

// Exit statuses.
const (
	exitOK    = 0
	exitBroke = 1 // a pipe broke, or the story has mistakes
	exitUsage = 2
)

const usage = `usage: adv-sim serve
       adv-sim play
       adv-sim check [DIR]

  serve   answers moves: one JSON line a move on stdin, one JSON line a reply on
          stdout, until stdin ends
  play    plays here in the terminal, until the input ends
  check   looks for mistakes in the story; with DIR, in the one whose .yaml files
          are in that folder
`

// Main runs the engine with the arguments after the program's name and returns
// its exit status: 0 when all went well, 1 when a pipe broke or the story has
// mistakes, 2 for arguments that it does not know.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	wrong := func(format string, args ...any) int {
		fmt.Fprintf(stderr, "adv-sim: %s\n%s", fmt.Sprintf(format, args...), usage)
		return exitUsage
	}
	if len(args) == 0 {
		return wrong("what to do is missing")
	}
	command, rest := args[0], args[1:]
	var run func(e *engine, r io.Reader, w io.Writer) error
	switch command {
	case "serve":
		run = (*engine).serve
	case "play":
		run = (*engine).playInTerminal
	case "check":
		if len(rest) > 1 {
			return wrong("check takes one folder, but was given %q as well", rest[1])
		}
		if len(rest) == 1 {
			return checkFolder(os.DirFS(rest[0]), rest[0], stdout, stderr)
		}
		return checkFolder(shiranari(), shiranariFolder, stdout, stderr)
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	default:
		return wrong("unknown command %q", command)
	}
	if len(rest) > 0 {
		return wrong("%s takes no arguments, but was given %q", command, rest[0])
	}
	s, mistakes := load(shiranari(), shiranariFolder)
	if len(mistakes) > 0 {
		fmt.Fprintf(stderr, "adv-sim: the story has mistakes, the first in %v\n", mistakes[0])
		return exitBroke
	}
	if err := run(newEngine(s), stdin, stdout); err != nil {
		fmt.Fprintf(stderr, "adv-sim: %v\n", err)
		return exitBroke
	}
	return exitOK
}
