module kiribashiri/bench

go 1.26.0

replace kiribashiri => ..

require (
	github.com/sethvargo/go-limiter v0.7.1
	golang.org/x/sys v0.50.0
	golang.org/x/time v0.16.0
	kiribashiri v0.0.0-00010101000000-000000000000
)
