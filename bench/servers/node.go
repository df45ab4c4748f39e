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
func startNode(ctx context.Context, b *measure.Bench, core int, engine []string, reply string, more ...string) (*child, error) {
	program, env, err := nodeEnv(engine, reply, more...)
	if err != nil {
		return nil, err
	}
	return start(ctx, b.Dir, core, env, program, nodeScript)
}

const nodeScript = "peers/server.mjs"

// nodeEnv returns Node's program and the peer's environment.
func nodeEnv(engine []string, reply string, more ...string) (program string, env []string, err error) {
	program, err = exec.LookPath("node")
	if err != nil {
		return "", nil, fmt.Errorf("the peer needs Node: %w", err)
	}
	sim, err := json.Marshal(engine)
	return program, append([]string{
		"NODE_ENV=production",
		"PEER_SIM=" + string(sim),
		"PEER_REPLY=" + reply,
		"PEER_PER_IP_PER_SEC=1000000",
	}, more...), err
}
