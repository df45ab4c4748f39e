package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/peterh/liner"
)

// maxPiped bounds one line of a pipe, in bytes.
const maxPiped = 64 << 10

// playByHand plays the lines that somebody writes: on a terminal with line editing
// and a history, otherwise as they come.
func playByHand(ctx context.Context, server *url.URL, stdin io.Reader, stdout io.Writer) error {
	h := hand{sender: sender{client: newClient(server, 1), pace: newPace(), tries: 1}, out: stdout}
	if !isTerminal(stdin) || !isTerminal(stdout) {
		h.tries, h.strict = maxTries, true
		return h.play(ctx, pipedLines(stdin, stdout))
	}
	terminal := liner.NewLiner()
	defer terminal.Close()
	terminal.SetCtrlCAborts(true)
	terminal.SetMultiLineMode(true) // the other mode counts letters where it should count columns
	if err := h.play(ctx, typedLines(terminal)); ctx.Err() == nil {
		return err
	}
	return nil // Ctrl-C is a way to leave, at any moment
}

func typedLines(terminal *liner.State) func() (string, error) {
	return func() (string, error) {
		line, err := terminal.Prompt("> ")
		if errors.Is(err, liner.ErrPromptAborted) {
			return "", errQuit
		}
		if strings.TrimSpace(line) != "" {
			terminal.AppendHistory(line)
		}
		return line, err
	}
}

// pipedLines shows on out what it has read, so that out reads like a game.
func pipedLines(in io.Reader, out io.Writer) func() (string, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxPiped)
	return func() (string, error) {
		if !lines.Scan() {
			switch err := lines.Err(); {
			case errors.Is(err, bufio.ErrTooLong):
				return "", fmt.Errorf("a line is longer than %d bytes", maxPiped)
			case err != nil:
				return "", err
			}
			return "", io.EOF
		}
		fmt.Fprintf(out, "> %s\n", printable(lines.Text()))
		return lines.Text(), nil
	}
}
