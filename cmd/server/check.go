package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"kiribashiri/internal/conform"
)

var (
	errBroken    = errors.New("the engine breaks the protocol") // the report has said how
	errNoProgram = errors.New("the engine cannot be started")
)

// check holds an engine against the protocol's rules and reports: the one of the
// command line, or else the one that this environment configures.
func check(ctx context.Context, cfg config, engine []string, stdout, stderr io.Writer) error {
	if len(engine) == 0 {
		var err error
		if engine, err = engineArgs(cfg); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "checking: %s\n\n", strings.Join(engine, " "))
	report, err := conform.Check(ctx, conform.Config{
		Command: engine, Env: cfg.engineEnv, Kinds: cfg.Kinds, Limits: cfg.Limits, Sealed: cfg.StateKeys.box != nil, Notes: stderr,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errNoProgram, err)
	}
	if _, err := report.WriteTo(stdout); err != nil {
		return err
	}
	if !report.Holds() {
		return errBroken
	}
	return nil
}
