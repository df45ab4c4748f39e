package main

import (
	"bytes"
	"io"
	"runtime/debug"
	"strings"
	"testing"
)

// A build says its version and its commit, wherever they come from.
func TestVersion(t *testing.T) {
	const whole = "fe0128e4a1b2c3d4e5f60718293a4b5c6d7e8f90"
	stamped := func(version, revision, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main:     debug.Module{Version: version},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}},
		}
	}
	for _, row := range []struct {
		name, built, commit string
		info                *debug.BuildInfo
		want                string
	}{
		{"a release from a clone", "v1.0.0", "", stamped("v0.0.0-20261130-fe0128e4a1b2", whole, "false"), "v1.0.0 (fe0128e4a1b2)"},
		{"a release from a clone that was changed", "v1.0.0", "", stamped("v0.0.0-20261130-fe0128e4a1b2+dirty", whole, "true"), "v1.0.0 (fe0128e4a1b2) +dirty"},
		{"a release in a container", "v1.0.0", whole, new(debug.BuildInfo), "v1.0.0 (fe0128e4a1b2)"},
		{"a clone at a tag", "", "", stamped("v1.0.0", whole, "false"), "v1.0.0 (fe0128e4a1b2)"},
		{"a clone between tags", "", "", stamped("v0.0.0-20261130210000-fe0128e4a1b2", whole, "false"), "v0.0.0-20261130210000-fe0128e4a1b2"},
		{"a clone that was changed", "", "", stamped("v0.0.0-20261130210000-fe0128e4a1b2+dirty", whole, "true"), "v0.0.0-20261130210000-fe0128e4a1b2+dirty"},
		{"a release from an archive", "v1.0.0", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "v1.0.0"},
		{"an archive", "", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel"},
		{"a short commit", "v1.0.0", "fe01", new(debug.BuildInfo), "v1.0.0 (fe01)"},
	} {
		if got := describe(row.built, row.commit, row.info); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	var out bytes.Buffer
	if got := run(t.Context(), nil, []string{"version"}, nil, nil, &out, io.Discard); got != exitOK || strings.TrimSpace(out.String()) != version() {
		t.Errorf("`server version` says %q and ends with %d", out.String(), got)
	}
}
