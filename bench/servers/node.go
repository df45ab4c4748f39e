package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"kiribashiri/bench/measure"
)

// startNode starts the peer with an engine. reply is "line" or "object": whether it
// hands on the engine's line or writes it anew.
func startNode(ctx context.Context, b *measure.Bench, engine []string, reply string) (*child, error) {
	program, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("the peer needs Node: %w", err)
	}
	sim, err := json.Marshal(engine)
	if err != nil {
		return nil, err
	}
	return start(ctx, b.Dir, serverCore, []string{
		"NODE_ENV=production",
		"PEER_SIM=" + string(sim),
		"PEER_REPLY=" + reply,
		"PEER_PER_IP_PER_SEC=1000000",
	}, program, "peers/server.mjs")
}
