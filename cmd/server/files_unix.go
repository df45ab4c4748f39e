//go:build unix

package main

import "syscall"

// maxFiles returns how many files this process may have open, or 0 if nobody knows.
// The Go runtime has raised its soft limit to the hard one.
func maxFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return uint64(limit.Cur)
}
