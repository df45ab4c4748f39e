package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"kiribashiri/bench/measure"
)

// command runs a program to its end and says what it said if it failed.
func command(ctx context.Context, dir string, env []string, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// buildServer builds the server as it is released, once for all faces, unless one
// was given.
func buildServer(ctx context.Context, b *measure.Bench) (string, error) {
	if b.Server != "" {
		return filepath.Abs(b.Server)
	}
	path := filepath.Join(b.Dir, "server")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	b.Log("building the server")
	return path, command(ctx, "..", []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-tags", "nethttpomithttp2", "-ldflags", "-s -w", "-o", path, "./cmd/server")
}

// buildEngine builds the engine that costs next to nothing.
func buildEngine(ctx context.Context, b *measure.Bench) (string, error) {
	path := filepath.Join(b.Dir, "engine")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, command(ctx, ".", nil, "cc", "-O2", "-o", path, "engine/engine.c")
}

// prepare checks the machine and builds what every face here needs.
func prepare(ctx context.Context, b *measure.Bench) (server, engine string, err error) {
	if runtime.NumCPU() < 2 {
		return "", "", errTooFewCores
	}
	if server, err = buildServer(ctx, b); err != nil {
		return "", "", err
	}
	engine, err = buildEngine(ctx, b)
	return server, engine, err
}

// startServer starts the server with an engine, and no limit on how often a client
// may move.
func startServer(ctx context.Context, b *measure.Bench, core int, server string, engine []string, more ...string) (*child, error) {
	return start(ctx, b.Dir, core, serverEnv(engine, more...), server)
}

// serverEnv is the server's environment; without an engine it takes its own.
func serverEnv(engine []string, more ...string) []string {
	return append([]string{
		"KIRI_ADDR=127.0.0.1:0",
		"KIRI_ADMIN_ADDR=127.0.0.1:0",
		"KIRI_LOG_FORMAT=json",
		"KIRI_PER_IP_PER_SEC=1000000",
		"KIRI_PER_IP_BURST=1000000",
		"KIRI_SIM=" + strings.Join(engine, " "),
	}, more...)
}
