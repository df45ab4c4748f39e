// Command adv-sim is the built-in engine as a program of its own: `adv-sim
// serve` answers moves, one JSON line each, `adv-sim play` plays in a terminal,
// and `adv-sim check` looks for mistakes in the story.
package main

import (
	"os"

	"kiribashiri/internal/advsim"
)

func main() {
	os.Exit(advsim.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
