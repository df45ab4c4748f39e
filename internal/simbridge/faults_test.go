package simbridge

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kiribashiri/internal/limits"
)

// What one broken move costs: itself, and nothing else.
func TestOneBrokenMoveFailsAlone(t *testing.T) {
	for _, row := range []struct {
		order string
		want  error
		cause string
	}{
		{"hang", ErrEngineTimeout, "timeout"},
		{"sleep 4s", ErrEngineTimeout, "timeout"}, // late: its reply has nowhere to go
		{"crash", ErrEngineFailed, "exit"},
		{"crash-in-reply", ErrEngineFailed, "exit"},
		{"crash-before-newline", ErrEngineFailed, "exit"},
		{"close-stdout", ErrEngineFailed, "exit"},
		{"print loading…", ErrEngineFailed, "protocol"},
		{"print ", ErrEngineFailed, "protocol"}, // a blank line
		{"print null", ErrEngineFailed, "protocol"},
		{"print [1]", ErrEngineFailed, "protocol"},
		{`print {"id":1,"ok":true} {}`, ErrEngineFailed, "protocol"},
		{`print {"id":999,"ok":true}`, ErrEngineFailed, "protocol"},
		{`print {"ok":true}`, ErrEngineFailed, "protocol"}, // it has echoed ids before
		{`print {"id":1,"ok":1}`, ErrEngineFailed, "protocol"},
		{`print {"id":"1","ok":true}`, ErrEngineFailed, "protocol"},
		{`print {"id":1,"id":1}`, ErrEngineFailed, "protocol"},
		{"print {\"id\":1,\"text\":\"\\ud800\"}", ErrEngineFailed, "protocol"},
		{"invalid-utf8", ErrEngineFailed, "protocol"},
		{"endless", ErrEngineFailed, "protocol"},
		{"exactly 1048577", ErrEngineFailed, "protocol"}, // a byte more than a reply may have
	} {
		t.Run(row.order, func(t *testing.T) {
			t.Parallel()
			s := onStage(t, "", shortReply)
			s.failed(say(row.order), row.want)
			if got := s.played(say("next")); got != "next" {
				t.Errorf("the next move got %q", got)
			}
			if got := s.Status().Starts[row.cause]; got != 1 {
				t.Errorf("starts %v, want one because of %s", s.Status().Starts, row.cause)
			}
		})
	}
}

func TestGoodRepliesOfEveryShape(t *testing.T) {
	s := onStage(t, "", nil)
	for i, line := range []string{
		`{"id":%d}`,
		`{"ok":true,"id":%d}`,
		` { "id" : %d , "text" : "広い 空" } `,
		`{"id":%d,"state":{"a":1,"a":2}}`, // doubled below the top is the engine's affair
		"{\"id\":%d,\"text\":\"a\u2028b\"}",
		`{"id":%d,"text":"\u0000\n"}` + "\r",
		`{"id":%d,"n":` + strings.Repeat("9", 60_000) + `}`,
	} {
		line := fmt.Sprintf(line, i+1)
		reply, err := s.Play(t.Context(), say("print "+line))
		if err != nil {
			t.Fatalf("%s: %v", clip(line, 80), err)
		}
		if got := string(reply.Line); got != strings.TrimSuffix(line, "\r") {
			t.Errorf("the line came as %q, want %q", clip(got, 80), clip(line, 80))
		}
	}
}

func TestLongAndSplitReplies(t *testing.T) {
	s := onStage(t, "", nil)
	for _, length := range []int{64 << 10, 64<<10 + 1, 1 << 20} {
		reply, err := s.Play(t.Context(), say(fmt.Sprintf("exactly %d", length)))
		if err != nil || len(reply.Line) != length {
			t.Errorf("a reply of %d bytes came as %d, %v", length, len(reply.Line), err)
		}
	}
	if got := s.played(say("split")); got != "霧" {
		t.Errorf("a character that came in two parts became %q", got)
	}
}

// A second line to one move must not reach the player of the next.
func TestTwoReplies(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"", "no ids"} {
		t.Run("start "+start, func(t *testing.T) {
			s := onStage(t, start, nil)
			if got := s.played(say(`also {"ok":true,"text":"stray"}`)); got == "stray" {
				t.Fatal("the second line came first")
			}
			time.Sleep(500 * time.Millisecond) // it comes while nobody asks
			if got := s.played(say("next")); got != "next" {
				t.Errorf("the next player got %q", got)
			}
			if got := s.Status().Starts["protocol"]; got != 1 {
				t.Errorf("%d engines replaced, want 1", got)
			}
		})
	}
}

// The same while others wait: "both" is one write of two lines.
func TestTwoRepliesWhileOthersWait(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"", "no ids"} {
		t.Run("start "+start, func(t *testing.T) {
			s := onStage(t, start, func(lim *limits.Limits) { lim.BackoffMax = lim.BackoffMin })
			var clients sync.WaitGroup
			for client := range 8 {
				clients.Go(func() {
					for n := range 12 {
						mark := fmt.Sprintf("%d-%d", client, n)
						order := mark
						if n%4 == 3 {
							order = "both " + mark
						}
						reply, err := s.Play(t.Context(), say(order))
						if errors.Is(err, ErrEngineFailed) {
							continue
						}
						if err != nil {
							t.Errorf("%s: %v", mark, err)
						} else if got := text(t, reply); !strings.HasSuffix(got, mark) {
							t.Errorf("%s got the reply of %q", mark, got)
						}
					}
				})
			}
			clients.Wait()
		})
	}
}

func TestEngineKilledInMidMove(t *testing.T) {
	s := onStage(t, "", nil)
	pid, _ := strconv.Atoi(s.played(say("pid")))
	time.AfterFunc(200*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGKILL) })
	s.failed(say("sleep 10s"), ErrEngineFailed)
	began := time.Now()
	s.played(say("next"))
	t.Logf("the next move was answered %v after the failure", time.Since(began))
	if !strings.Contains(s.log.String(), "signal: killed") {
		t.Error("the log does not say how the engine ended")
	}
}

func TestEngineThatExitsWhileIdle(t *testing.T) {
	s := onStage(t, "", nil)
	pid, _ := strconv.Atoi(s.played(say("pid")))
	syscall.Kill(pid, syscall.SIGKILL)
	eventually(t, "it is replaced without a move", func() bool {
		status := s.Status()
		return status.Starts["exit"] == 1 && status.Up == 1
	})
	s.played(say("next"))
}

func TestEngineThatStopsReading(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", shortReply)
	s.played(say("stop-reading"))
	input := strings.Repeat("long ", 60_000) // more than a pipe holds
	s.failed(say(input), ErrEngineTimeout)
	s.played(say("next"))
}

func TestIdleEngineIsAsked(t *testing.T) {
	t.Parallel()
	s := onStage(t, "", func(lim *limits.Limits) {
		lim.IdlePing, lim.IdlePong = 100*time.Millisecond, 3*time.Second
	})
	s.played(say("stop-reading")) // answers this, and then nothing any more
	eventually(t, "it is replaced before a player meets it", func() bool {
		return s.Status().Starts["timeout"] == 1 && s.Status().Up == 1
	})
	s.played(say("next"))
}

// An engine that writes before it has read its line, and more than a pipe holds, can
// play short moves; at a long one both sides wait for the other, until the limit.
func TestBothPipesFull(t *testing.T) {
	t.Parallel()
	s := onStage(t, "talks while it listens", shortReply)
	s.played(say("short"))
	s.failed(say(strings.Repeat("long ", 60_000)), ErrEngineTimeout)
	s.played(say("short"))
}

func TestStderrFloodDoesNotHoldTheEngine(t *testing.T) {
	s := onStage(t, "", nil)
	s.played(say("noise")) // 120 MB
	if logged := len(s.log.String()); logged > 1<<20 {
		t.Errorf("%d bytes of it are in the log, want them bounded", logged)
	}
	if !strings.Contains(s.log.String(), "noise") {
		t.Error("nothing of it is in the log")
	}
}

// A grandchild that holds the pipes open must not hold us; in the engine's group
// it goes with the engine.
func TestGrandchildHoldsThePipes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"kept", "escaped"} {
		t.Run(kind, func(t *testing.T) {
			s := onStage(t, "", nil)
			child, err := strconv.Atoi(s.played(say("orphan " + kind)))
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Kill(child, syscall.SIGKILL)
			s.failed(say("exit"), ErrEngineFailed)
			s.played(say("next"))
			if kind == "kept" {
				eventually(t, "the grandchild is gone", func() bool { return gone(child) })
			}
		})
	}
}
