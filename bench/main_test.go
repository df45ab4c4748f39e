package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestSmoke runs all of it, so that it does not rot; what it measures means nothing.
func TestSmoke(t *testing.T) {
	for _, program := range []string{"cc", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("skipped, since a program is missing: %v", err)
		}
	}
	before, _ := os.Stat(resultsFile)
	if err := run(t.Context(), []string{"-smoke"}); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(resultsFile); after != nil && (before == nil || !after.ModTime().Equal(before.ModTime())) {
		t.Error("figures that mean nothing were written down")
	}
}

func TestChoose(t *testing.T) {
	if all, err := choose(""); err != nil || len(all) != len(faces) {
		t.Errorf("nothing chosen is %d of %d faces, %v", len(all), len(faces), err)
	}
	for names, want := range map[string]string{
		"move":        "move",
		"idle,move":   "idle move",
		"move,nobody": "",
	} {
		var got []string
		chosen, err := choose(names)
		for _, f := range chosen {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != want || (err != nil) != (want == "") {
			t.Errorf("choose(%q) = %v, %v, want %q", names, got, err, want)
		}
	}
}
