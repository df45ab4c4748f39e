package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// A game is played with sealed states, through a change of keys, and nobody else's
// state is played.
func TestSealedGame(t *testing.T) {
	keys := writeKeys(t, 1)
	if err := os.Chmod(keys, 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, "KIRI_PER_IP_PER_SEC=1000", "KIRI_PER_IP_BURST=1000", "KIRI_STATE_KEY_FILE="+keys)
	var state string
	plays := func(kind, input string) answer {
		body, path := fmt.Sprintf(`{"kind":%q,"input":%q,"state":%q}`, kind, input, state), "/api/turn"
		if kind == "new" {
			body, path = "", "/api/new"
		}
		a := s.post(path, "192.0.2.1", body)
		var reply struct{ State string }
		if a.status == 200 {
			if err := json.Unmarshal([]byte(a.body), &reply); err != nil || !strings.HasPrefix(reply.State, "k1.") {
				t.Fatalf("%s: %v, want a sealed state", a.body, err)
			}
			state = reply.State
		}
		return a
	}
	played := func(kind, input, place string) {
		t.Helper()
		if a := plays(kind, input); a.status != 200 || !strings.Contains(a.body, `"place":"`+place+`"`) {
			t.Fatalf("%s: %d %s, want to be at %s", input, a.status, a.body, place)
		}
	}
	played("new", "", "バス停")
	played("move", "harbor", "港")
	eventually(t, "the log warns of a file that all can read", func() bool {
		return strings.Contains(s.log.String(), "every user of this machine can read the keys")
	})

	rotate := func(keys string) {
		s.dies()
		s.cmd.Env = append(s.cmd.Env, "KIRI_STATE_KEY_FILE="+keys)
		s.restarts()
		s.well()
	}
	rotate(writeKeys(t, 2, 1)) // the second seals no longer, and still opens
	played("move", "hut", "番屋")
	rotate(writeKeys(t, 2))
	played("move", "harbor", "港")
	rotate(writeKeys(t, 3))
	if a := plays("move", "hut"); a.status != 400 || !strings.Contains(a.body, `"code":"bad_state"`) {
		t.Errorf("under a foreign key: %d %s", a.status, a.body)
	}
	if a := s.post("/api/turn", "192.0.2.1", `{"kind":"look","state":{"v":1,"place":"harbor"}}`); a.status != 400 || !strings.Contains(a.body, `"code":"bad_state"`) {
		t.Errorf("a state in the open: %d %s", a.status, a.body)
	}
	if log := s.log.String(); strings.Contains(log, "AQEBAQEB") || strings.Contains(log, "AgICAgIC") {
		t.Error("a key stands in the log")
	}
}
