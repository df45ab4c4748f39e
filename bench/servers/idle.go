package servers

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"kiribashiri/bench/measure"
)

// Idle is the face "idle, and at the start".
var Idle = measure.Face{Name: "idle", Title: "Idle, and at the start", Run: runIdle}

const builtIn = "kiribashiri, built-in engine"

func runIdle(ctx context.Context, b *measure.Bench, s *measure.Section) error {
	server, engine, err := prepare(ctx, b)
	if err != nil {
		return err
	}
	reply, err := replyFile(b.Dir, 200)
	if err != nil {
		return err
	}
	settle := 2 * time.Second
	if b.Smoke {
		settle = 0
	}
	sim := []string{engine, reply}
	contestants := []measure.Contestant{
		wake(ours, settle, func(addr string) (*child, error) {
			return launch(b.Dir, serverCore, serverEnv(sim, "KIRI_ADDR="+addr), server)
		}),
		wake(builtIn, settle, func(addr string) (*child, error) {
			return launch(b.Dir, serverCore, serverEnv(nil, "KIRI_ADDR="+addr), server)
		}),
		wake(node, settle, func(addr string) (*child, error) {
			program, env, err := nodeEnv(sim, "object", "PEER_PORT="+portOf(addr))
			if err != nil {
				return nil, err
			}
			return launch(b.Dir, serverCore, env, program, nodeScript)
		}),
	}
	rounds := b.RoundsOr(15)
	b.Log("idle: %d rounds", rounds)
	got, err := measure.Interleave(ctx, rounds, contestants)
	if err != nil {
		return err
	}

	s.Say("From the moment the program is started until the answer 200 to `GET /api/health` is there, which needs an engine that has answered; and what "+
		"the server's process holds %v later, its engine not counted: all that is resident, and of that what is not a page of its binary. Medians of %d rounds (quartiles).", settle, rounds)
	var rows [][]string
	for _, c := range contestants {
		rows = append(rows, []string{c.Name, got.Of(c.Name, "start").Format("%.1f"), got.Of(c.Name, "resident").Format("%.1f"), got.Of(c.Name, "anonymous").Format("%.1f")})
	}
	s.Table([]string{"", "first 200 after, ms", "resident, MB", "of it its own"}, rows)
	s.Promise(
		measure.AtMost("idle: at most 15 MB resident without the engine", "%.1f MB", got.Of(ours, "resident"), 15, ""),
		measure.AtMost("first 200 within 50 ms of the start", "%.1f ms", got.Of(ours, "start"), 50, ""),
		measure.AtMost("first 200 within 150 ms of the start, built-in engine included", "%.1f ms", got.Of(builtIn, "start"), 150, ""),
	)
	return nil
}

// wake is a contestant that is started and left alone.
func wake(name string, settle time.Duration, launch func(addr string) (*child, error)) measure.Contestant {
	return measure.Contestant{Name: name, Run: func(ctx context.Context) (measure.Sample, error) {
		addr, err := freeAddr()
		if err != nil {
			return nil, err
		}
		began := time.Now()
		c, err := launch(addr)
		if err != nil {
			return nil, err
		}
		defer c.stop()
		if err := awaitHealth(ctx, addr); err != nil {
			return nil, err
		}
		up := time.Since(began)
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		held, err := c.memory()
		return measure.Sample{
			"start":     float64(up) / float64(time.Millisecond),
			"resident":  float64(held.resident) / 1e6,
			"anonymous": float64(held.anonymous) / 1e6,
		}, err
	}}
}

// awaitHealth asks for the health until it is good.
func awaitHealth(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if healthy(ctx, addr) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no health at %s", addr)
		case <-time.After(200 * time.Microsecond):
		}
	}
}

func healthy(ctx context.Context, addr string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	if _, err := fmt.Fprintf(conn, "GET /api/health HTTP/1.1\r\nHost: %s\r\n\r\n", addr); err != nil {
		return false
	}
	head := make([]byte, len("HTTP/1.1 200"))
	if _, err := conn.Read(head); err != nil {
		return false
	}
	return strings.HasSuffix(string(head), " 200")
}
