// Package web holds the files of the site's pages, as they are written: there is
// no build step. Package static serves them. The calculator's page, which is made
// anew for each question, is package calculator's; here are its style and script.
//
// The pages name the others under /assets/HASH/; HASH stands for the hash of the
// whole tree, which is known only when the server starts.
package web

import "embed"

// Files is the game page. index.html answers "/"; everything else is an asset.
//
//go:embed *.html *.css *.js *.svg *.png *.webmanifest
var Files embed.FS
