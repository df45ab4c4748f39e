//go:build !linux

package main

import "os"

// There is no systemd.
func listening(*os.File) bool { return true }
