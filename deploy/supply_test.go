//go:build linux && !race

package deploy_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write THIRD_PARTY_LICENSES anew")

// A part is a module that stands in one of our programs, or Go's own library.
type part struct {
	name    string
	in      map[string]bool // programs
	license string          // by its SPDX name
	text    string          // and what else its authors want said
}

// licenses is how each licence that we accept is recognised. What fits none of them
// is not taken in without a look.
var licenses = []struct {
	name string
	says []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "endorse or promote products"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "The above copyright notice and this permission notice"}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"}},
}

// parts returns what our programs are made of, on every system that they are built for.
func parts(t *testing.T) []*part {
	t.Helper()
	all := map[string]*part{}
	add := func(name, program, dir string) {
		p := all[name]
		if p == nil {
			p = &part{name: name, in: make(map[string]bool)}
			p.text, p.license = legalText(t, dir)
			all[name] = p
		}
		p.in[program] = true
	}
	for _, program := range []string{"server", "adv-sim", "player"} {
		// Go's own modules have the same texts, which a distribution's Go may keep elsewhere.
		add("Go's standard library", program, output(t, "..", "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys"))
		for _, system := range []string{"linux", "darwin", "windows"} {
			listed := output(t, "..", "env", "GOOS="+system, "CGO_ENABLED=0", "go", "list", "-deps", "-json=Module", "./cmd/"+program)
			for in := json.NewDecoder(strings.NewReader(listed)); ; {
				var found struct {
					Module *struct {
						Path, Dir string
						Main      bool
					}
				}
				if err := in.Decode(&found); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if found.Module != nil && !found.Module.Main {
					add(found.Module.Path, program, found.Module.Dir)
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *part) int { return strings.Compare(a.name, b.name) })
}

// legalText returns a module's licence, notices and grants, and the licence's name.
func legalText(t *testing.T, dir string) (text, license string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, entry := range entries {
		if regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)(\.|$)`).MatchString(entry.Name()) {
			texts = append(texts, strings.TrimSpace(strings.ReplaceAll(readFile(t, filepath.Join(dir, entry.Name())), "\r\n", "\n")))
		}
	}
	text = strings.Join(texts, "\n\n")
	plain := strings.Join(strings.Fields(text), " ")
	var names []string
	for _, l := range licenses {
		if !slices.ContainsFunc(l.says, func(words string) bool { return !strings.Contains(plain, words) }) {
			names = append(names, l.name)
		}
	}
	if len(names) == 0 {
		t.Errorf("%s: none of the licences that we know", dir)
	}
	return text, strings.Join(names, " and ")
}

// THIRD_PARTY_LICENSES names every part of our programs with its licence, and has
// what the authors want said. It is made by `go test ./deploy -run Licenses -update`.
func TestLicenses(t *testing.T) {
	const name = "../THIRD_PARTY_LICENSES"
	var want strings.Builder
	want.WriteString("What the programs are made of besides our own code, under which licence, and in which program it stands.\n" +
		"Versions are in go.mod. Our own licence is in LICENSE.\n\n")
	var texts []string
	of := map[string][]string{}
	for _, p := range parts(t) {
		fmt.Fprintf(&want, "%-42s %-20s %s\n", p.name, p.license, strings.Join(slices.Sorted(maps.Keys(p.in)), ", "))
		if of[p.text] == nil {
			texts = append(texts, p.text)
		}
		of[p.text] = append(of[p.text], p.name)
	}
	for _, text := range texts {
		fmt.Fprintf(&want, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	if *update {
		if err := os.WriteFile(name, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if readFile(t, name) != want.String() {
		t.Errorf("%s is not what the programs are made of: a part has come or gone, or has another licence; look at it, then run this test with -update", name)
	}
}

// Nothing that a build or a check takes from elsewhere changes by itself.
// What is asked of `go list -m` is pinned by go.mod.
func TestEverythingIsPinned(t *testing.T) {
	froms := matches(t, `(?m)^FROM (\S+)`, "../Dockerfile")
	if len(froms) != 2 || froms[1] != "scratch" || !regexp.MustCompile(`:\d+\.\d+\.\d+$`).MatchString(froms[0]) {
		t.Errorf("the image is made from %q", froms)
	}
	for _, file := range []string{"../.ci/run", "../.ci/caddy", "../.ci/long", "../.ci/reproduce"} {
		for _, tool := range matches(t, `\b([a-z0-9.-]+\.[a-z]+(?:/[\w.-]+)+@\S+)`, file) {
			if !regexp.MustCompile(`@(v\d+\.\d+\.\d+|\$version|\$\(go)"?$`).MatchString(tool) {
				t.Errorf("%s: %s", file, tool)
			}
		}
	}
	for _, version := range matches(t, `(?m)^version=(.*)$`, "../.ci/caddy") {
		if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
			t.Errorf("Caddy is built as %s", version)
		}
	}
	var lock struct {
		Packages map[string]struct{ Integrity string }
	}
	if err := json.Unmarshal([]byte(readFile(t, "../web/testdata/axe/package-lock.json")), &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if name != "" && p.Integrity == "" {
			t.Errorf("npm's %s has no hash", name)
		}
	}
	if replaced := regexp.MustCompile(`(?m)^replace\b`).FindString(readFile(t, "../go.mod")); replaced != "" {
		t.Error("go.mod replaces a module")
	}
}

// Direct dependencies are few, and ARCHITECTURE.md says why each is there.
func TestDependenciesHaveReasons(t *testing.T) {
	first, _, _ := strings.Cut(readFile(t, "../go.mod"), ")")
	decisions := readFile(t, "../ARCHITECTURE.md")
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(first, -1) {
		if !strings.Contains(decisions, regexp.MustCompile(`(/v\d+$)|^github\.com/|^go\.uber\.org/`).ReplaceAllString(m[1], "")) {
			t.Errorf("ARCHITECTURE.md gives no reason for %s", m[1])
		}
	}
}
