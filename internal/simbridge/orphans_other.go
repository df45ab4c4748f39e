//go:build !linux

package simbridge

import "context"

// Only Linux has containers in which the server is process 1.
type reaper struct{}

func newReaper() *reaper { return new(reaper) }

func (*reaper) started(start func() (pid int, err error)) error {
	_, err := start()
	return err
}

func (*reaper) ended(int)                   {}
func (*reaper) reapOrphans(context.Context) {}
