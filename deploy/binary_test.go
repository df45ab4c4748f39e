//go:build linux && !race

package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing that the server can reach calls a method by a name that is known only
// when it runs. One call like that, as in text/template, and the linker has to
// keep every exported method of every type, which is megabytes of the image.
func TestNoMethodIsCalledByName(t *testing.T) {
	build := exec.Command("go", "build", "-trimpath", "-tags", "nethttpomithttp2", "-ldflags", "-s -w -dumpdep", "-o", filepath.Join(t.TempDir(), "server"), "../cmd/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	var graph bytes.Buffer // a line for each edge: who -> whom
	build.Stderr = &graph
	if err := build.Run(); err != nil {
		t.Fatalf("%v\n%s", err, graph.Bytes())
	}
	if !bytes.Contains(graph.Bytes(), []byte("main.main -> ")) {
		t.Fatal("the linker does not say what it has kept")
	}
	reported := make(map[string]bool)
	for edge := range strings.Lines(graph.String()) {
		caller, _, byName := strings.Cut(edge, " <ReflectMethod> -> ")
		if byName && !reported[caller] {
			reported[caller] = true
			t.Errorf("%s calls methods by name", caller)
		}
	}
}
