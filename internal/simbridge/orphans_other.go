//go:build !linux

package simbridge

import "context"

// Only Linux has containers in which the server is process 1.
type family struct{}

func newFamily() *family { return new(family) }

func (*family) born(start func() (pid int, err error)) error {
	_, err := start()
	return err
}

func (*family) buried(int)                  {}
func (*family) reapOrphans(context.Context) {}
