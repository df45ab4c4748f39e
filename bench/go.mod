module kiribashiri/bench

go 1.26.0

replace kiribashiri => ..

require golang.org/x/sys v0.50.0
