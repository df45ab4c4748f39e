package main

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// The documents have the tables that the program prints.
func TestDocumentsHaveTheTables(t *testing.T) {
	for _, row := range []struct {
		command string
		model   func(*model)
		players []int
	}{
		{"go run ./examples/capacity", func(*model) {}, []int{100, 1000, 10_000, 100_000, 1_000_000}},
		{"go run ./examples/capacity -engine 100us -players 10000,1000000", func(m *model) { m.engine = 100 * time.Microsecond }, []int{10_000, 1_000_000}},
		{"go run ./examples/capacity -engine 100ms -players 10000,1000000", func(m *model) { m.engine = 100 * time.Millisecond }, []int{10_000, 1_000_000}},
	} {
		m := defaults
		row.model(&m)
		var out bytes.Buffer
		m.print(&out, row.players)
		want := "$ " + row.command + "\n" + out.String()
		for _, name := range []string{"SCALING.md", "SCALING.ja.md"} {
			text, err := os.ReadFile("../../docs/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not have\n%s", name, want)
			}
		}
	}
}

// With one core the model is M/D/1, of which the mean wait is known: ρ·S / 2(1 − ρ).
// The 99th percentile of a wait is more than that and less than ten times it.
func TestModelIsMD1(t *testing.T) {
	m := defaults
	m.cores, m.queue, m.own, m.engine = 1, 1<<20, 0, 10*time.Millisecond
	for _, busy := range []float64{0.3, 0.5, 0.8} {
		players := int(busy / 0.010 * m.pause.Seconds())
		r := m.play(players)
		mean := busy * 0.010 / (2 * (1 - busy))
		if r.wait < mean || r.wait > 10*mean || math.Abs(r.busy-busy) > 0.01 || r.refused > 0 {
			t.Errorf("busy %v: %+v, and the mean wait is %v", busy, r, mean)
		}
	}
}

func TestModelRefuses(t *testing.T) {
	m := defaults
	players := int(1.5 / (m.engine + m.own).Seconds() * float64(m.cores) * m.pause.Seconds()) // half more than it can
	if r := m.play(players); r.refused == 0 || m.serves(r) {
		t.Errorf("overloaded by half: %+v", r)
	}
	if r := m.play(100); !m.serves(r) {
		t.Errorf("a hundred players: %+v", r)
	}
}

func TestBusiest(t *testing.T) {
	m := defaults
	if got := m.busiest(10_000, 1); got != 10_000 {
		t.Errorf("one machine has %d of 10000 players", got)
	}
	if got := m.busiest(10_000, 4); got < 2500 || got > 2700 {
		t.Errorf("the busiest of four machines has %d of 10000 players", got)
	}
}
