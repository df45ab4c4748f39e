// Package web holds the files of the game page, as they are written: there is
// no build step. Package static serves them.
//
// index.html names the others under /assets/HASH/; HASH stands for the hash of
// the whole tree, which is known only when the server starts.
package web

import "embed"

// Files is the page. index.html answers "/"; everything else is an asset.
//
//go:embed *.html *.css *.js *.svg *.webmanifest
var Files embed.FS
