package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"kiribashiri/bench/measure"
)

// startNode starts the peer with an engine. reply is "line" or "object": whether it
// hands on the engine's line or writes it anew.
func startNode(ctx context.Context, b *measure.Bench, name string, engine []string, reply string) (*child, error) {
	program, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("the peer needs Node: %w", err)
	}
	script, err := filepath.Abs("peers/server.mjs")
	if err != nil {
		return nil, err
	}
	sim, err := json.Marshal(engine)
	if err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"NODE_ENV=production",
		"PEER_SIM=" + string(sim),
		"PEER_REPLY=" + reply,
		"PEER_PER_IP_PER_SEC=1000000",
	}
	c, err := start(b.Dir, name, serverCore, env, program, script)
	if err != nil {
		return nil, err
	}
	if err := c.await(ctx); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}
