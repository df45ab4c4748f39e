package simbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

// Many clients, engines that do everything wrong at random. Whatever happens: a
// reply bears its own move's mark, no move is played twice, what was refused was
// not played, and nothing is left over.
func TestStorm(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts processes and files in /proc, which only Linux has")
	}
	const moves, clients = 2000, 34 // more clients than slots
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	played := filepath.Join(t.TempDir(), "played")
	lim := limits.Default()
	lim.SimEngines = 4
	lim.SimReply = time.Second
	lim.BackoffMin, lim.BackoffMax = time.Millisecond, 20*time.Millisecond
	log := new(logBuffer)
	b := New(Config{
		Command: []string{self},
		Env:     append(os.Environ(), puppetVariable+"=storm", playedVariable+"="+played, "GORACE=atexit_sleep_ms=0"),
		Limits:  lim,
		Log:     slog.New(slog.NewTextHandler(log, nil)),
	})
	filesBefore, goroutinesBefore := openFiles(t), runtime.NumGoroutine()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()

	var mu sync.Mutex
	outcomes := map[string]string{} // of each move, by its mark
	counts := map[string]int{}
	next := 0
	var playing sync.WaitGroup
	for range clients {
		playing.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= moves {
					return
				}
				mark := fmt.Sprintf("mark-%d", n)
				outcome := "none"
				func() {
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if rand.IntN(20) == 0 { // a client that leaves
						time.AfterFunc(rand.N(60*time.Millisecond), cancel)
					}
					reply, err := b.Play(ctx, Move{Kind: "say", Input: &mark})
					outcome = outcomeOf(t, mark, reply, err)
				}()
				mu.Lock()
				outcomes[mark] = outcome
				counts[outcome]++
				mu.Unlock()
				if outcome == "down" || outcome == "full" {
					time.Sleep(rand.N(200 * time.Millisecond))
				}
			}
		})
	}
	playing.Wait()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	t.Logf("outcomes %v, starts %v", counts, b.Status().Starts)

	if counts["played"] < moves/3 {
		t.Errorf("only %d of %d moves were played", counts["played"], moves)
	}
	text, err := os.ReadFile(played)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for mark := range strings.FieldsSeq(string(text)) {
		times[mark]++
	}
	for mark, outcome := range outcomes {
		switch n := times[mark]; {
		case n > 1:
			t.Errorf("%s was played %d times", mark, n)
		case n == 0 && outcome == "played":
			t.Errorf("%s has a reply and was never played", mark)
		case n > 0 && (outcome == "down" || outcome == "full"):
			t.Errorf("%s was refused (%s) and played all the same", mark, outcome)
		}
	}
	if waiting := b.Status().Waiting; waiting != 0 {
		t.Errorf("%d slots are still taken", waiting)
	}
	if left := children(t); len(left) != 0 {
		t.Errorf("processes left over: %v", left)
	}
	eventually(t, "as many files as before", func() bool { return openFiles(t) <= filesBefore })
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutinesBefore })
}

func outcomeOf(t *testing.T, mark string, reply Reply, err error) string {
	switch {
	case err == nil:
		if got := text(t, reply); got != mark {
			t.Errorf("%s got the reply of %s", mark, got)
		}
		return "played"
	case errors.Is(err, context.Canceled):
		return "left"
	case errors.Is(err, ErrEngineDown):
		return "down"
	case errors.Is(err, ErrQueueFull):
		return "full"
	case errors.Is(err, ErrEngineFailed):
		return "failed"
	case errors.Is(err, ErrEngineTimeout):
		return "timeout"
	}
	t.Errorf("%s: %v, which is none of the contract's", mark, err)
	return "wrong"
}

func openFiles(t *testing.T) int {
	t.Helper()
	// Go's own poller opens files of its own at the first pipe.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children returns the processes that this one has started and that still live.
func children(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended meanwhile
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); fields[1] == fmt.Sprint(os.Getpid()) && fields[0] != "Z" {
			all = append(all, stat)
		}
	}
	return all
}
