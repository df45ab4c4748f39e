//go:build !unix

package main

// maxFiles returns 0: there is no such limit here.
func maxFiles() uint64 { return 0 }
