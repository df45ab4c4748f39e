module kiribashiri/bench

go 1.26.0

replace kiribashiri => ..
