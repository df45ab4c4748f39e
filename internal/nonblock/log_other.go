//go:build !linux || race

package nonblock

import (
	"io"
	"os"
)

// Log returns f.
func Log(f *os.File) io.Writer { return f }
