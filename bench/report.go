package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"kiribashiri/bench/measure"
)

// resultsFile is where a full run leaves its report.
const resultsFile = "RESULTS.md"

// A report is what came of all faces.
type report struct {
	command  string
	began    time.Time
	load     string // of the machine, before
	goals    []measure.Goal
	sections strings.Builder
}

func newReport(args []string) *report {
	return &report{
		command: strings.Join(append([]string{"go run ."}, args...), " "),
		began:   time.Now(),
		load:    loadAverage(),
	}
}

func (r *report) add(title string, s *measure.Section) {
	r.goals = append(r.goals, s.Goals...)
	r.sections.WriteString(s.Markdown(title))
}

// markdown returns the whole report.
func (r *report) markdown(ctx context.Context) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# What was measured\n\n")
	fmt.Fprintf(&out, "Written by `cd bench && %s`; [README.md](README.md) says how it measures. Figures are medians over rounds with the quartiles in "+
		"brackets. Ratios are taken inside a round, where all that is compared runs in random order within seconds: they hold on a noisy machine, "+
		"where absolute figures do not.\n\n", r.command)
	reached := 0
	for _, g := range r.goals {
		if g.Reached {
			reached++
		}
	}
	fmt.Fprintf(&out, "**%d of %d goals are reached.**\n\n", reached, len(r.goals))

	fmt.Fprintf(&out, "| | |\n| --- | --- |\n")
	for _, row := range [][2]string{
		{"date", r.began.UTC().Format("2006-01-02 15:04") + " UTC, for " + time.Since(r.began).Round(time.Minute).String()},
		{"commit", said(ctx, "git", "describe", "--always", "--dirty")},
		{"machine", fmt.Sprintf("%s, %d cores, Linux %s", processor(), runtime.NumCPU(), said(ctx, "uname", "-r"))},
		{"load average before and after", r.load + "; " + loadAverage()},
		{"versions", strings.Join(slices.Concat([]string{
			runtime.Version(),
			"Node " + said(ctx, "node", "--version"),
			"Caddy 2.11.9 with caddy-ratelimit 0.1.0",
			said(ctx, "nginx", "-v"),
			said(ctx, "cc", "--version"),
		}, peerModules()), ", ")},
	} {
		fmt.Fprintf(&out, "| %s | %s |\n", row[0], row[1])
	}
	out.WriteString("\n")
	out.WriteString(r.sections.String())
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// said is the first line that a program says, or why it says nothing.
func said(ctx context.Context, program string, args ...string) string {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return program + ": not there"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

func loadAverage() string {
	raw, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(raw))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

func processor() string {
	raw, _ := os.ReadFile("/proc/cpuinfo")
	_, after, _ := strings.Cut(string(raw), "model name")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "\t :"))
}

// peerModules are the versions of what ours is measured against in this process.
func peerModules() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var versions []string
	for _, m := range info.Deps {
		for _, peer := range peerPaths {
			if m.Path == peer {
				versions = append(versions, m.Path+" "+m.Version)
			}
		}
	}
	return versions
}

var peerPaths = [...]string{"golang.org/x/time", "github.com/sethvargo/go-limiter"}
