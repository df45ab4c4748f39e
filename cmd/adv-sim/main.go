// Command adv-sim is the built-in engine as a program of its own. `adv-sim
// serve` reads one JSON line a move from stdin and writes one JSON line a
// reply to stdout until stdin ends.
package main

import (
	"os"

	"kiribashiri/internal/advsim"
)

func main() {
	os.Exit(advsim.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
