package advsim

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestStates(t *testing.T) {
	e := newEngine(shiranari())
	for _, tc := range []struct {
		name  string
		state string // FP stands for the story's fingerprint
		why   string // part of the reason; empty if accepted
	}{
		{"the first", `{"v":1,"story":"FP","place":"bus_stop","turn":0,"flags":[],"ending":""}`, ""},
		{"in another order", `{"ending":"","flags":[],"turn":0,"place":"bus_stop","story":"FP","v":1}`, ""},
		{"with things", `{"v":1,"story":"FP","place":"bell","turn":12,"flags":["heard_fog","has_lantern","has_matches","lit"],"ending":""}`, ""},
		{"ended", `{"v":1,"story":"FP","place":"bus_stop","turn":4,"flags":["heard_fog"],"ending":"bus"}`, ""},
		{"many turns", `{"v":1,"story":"FP","place":"bus_stop","turn":9999,"flags":[],"ending":""}`, ""},

		{"empty object", `{}`, "another story"},
		{"array", `[]`, "another shape"},
		{"string", `"bus_stop"`, "another shape"},
		{"number", `1`, "another shape"},
		{"true", `true`, "another shape"},
		{"unknown field", `{"v":1,"story":"FP","place":"bus_stop","turn":0,"flags":[],"ending":"","gold":9}`, "another shape"},
		{"field in capitals", `{"V":1,"story":"FP","place":"bus_stop","turn":0,"flags":[],"ending":""}`, "another shape"},
		{"turn a fraction", `{"v":1,"story":"FP","place":"bus_stop","turn":0.5,"flags":[],"ending":""}`, "another shape"},
		{"turn a string", `{"v":1,"story":"FP","place":"bus_stop","turn":"0","flags":[],"ending":""}`, "another shape"},
		{"turn beyond numbers", `{"v":1,"story":"FP","place":"bus_stop","turn":1e999,"flags":[],"ending":""}`, "another shape"},
		{"flags an object", `{"v":1,"story":"FP","place":"bus_stop","turn":0,"flags":{},"ending":""}`, "another shape"},
		{"a flag that is a number", `{"v":1,"story":"FP","place":"bus_stop","turn":9,"flags":[1],"ending":""}`, "another shape"},

		{"another version", `{"v":2,"story":"FP","place":"bus_stop","turn":0,"flags":[],"ending":""}`, "another story or version"},
		{"another story", `{"v":1,"story":"00000000","place":"bus_stop","turn":0,"flags":[],"ending":""}`, "another story or version"},
		{"unknown place", `{"v":1,"story":"FP","place":"moon","turn":1,"flags":[],"ending":""}`, "unknown place"},
		{"no place", `{"v":1,"story":"FP","turn":1,"flags":[],"ending":""}`, "unknown place"},
		{"place by name", `{"v":1,"story":"FP","place":"港","turn":1,"flags":[],"ending":""}`, "unknown place"},
		{"unknown flag", `{"v":1,"story":"FP","place":"harbor","turn":9,"flags":["rich"],"ending":""}`, "unknown flag"},
		{"flag twice", `{"v":1,"story":"FP","place":"harbor","turn":9,"flags":["heard_fog","heard_fog"],"ending":""}`, "disorder"},
		{"flags in disorder", `{"v":1,"story":"FP","place":"harbor","turn":9,"flags":["has_lantern","heard_fog"],"ending":""}`, "disorder"},
		{"lantern without leave", `{"v":1,"story":"FP","place":"harbor","turn":9,"flags":["has_lantern"],"ending":""}`, "do not go together"},
		{"light without lantern", `{"v":1,"story":"FP","place":"harbor","turn":9,"flags":["heard_fog","has_matches","lit"],"ending":""}`, "do not go together"},
		{"told of what was not seen", `{"v":1,"story":"FP","place":"harbor","turn":9,"flags":["heard_fog","told_light"],"ending":""}`, "do not go together"},
		{"tried the bell in the dark", `{"v":1,"story":"FP","place":"harbor","turn":9,"flags":["heard_fog","has_lantern","has_matches","tried_bell"],"ending":""}`, "do not go together"},
		{"at the bell in the dark", `{"v":1,"story":"FP","place":"bell","turn":9,"flags":["heard_fog"],"ending":""}`, "cannot have reached"},
		{"unknown ending", `{"v":1,"story":"FP","place":"bus_stop","turn":9,"flags":["heard_fog"],"ending":"rich"}`, "ending it cannot"},
		{"ended elsewhere", `{"v":1,"story":"FP","place":"harbor","turn":9,"flags":["heard_fog"],"ending":"bus"}`, "ending it cannot"},
		{"left too early", `{"v":1,"story":"FP","place":"bus_stop","turn":9,"flags":[],"ending":"bus"}`, "ending it cannot"},
		{"rang without mallet", `{"v":1,"story":"FP","place":"bell","turn":12,"flags":["heard_fog","has_lantern","has_matches","lit"],"ending":"bell"}`, "ending it cannot"},
		{"negative turn", `{"v":1,"story":"FP","place":"bus_stop","turn":-1,"flags":[],"ending":""}`, "number of turns"},
		{"too many turns", `{"v":1,"story":"FP","place":"bus_stop","turn":10000,"flags":[],"ending":""}`, "number of turns"},
		{"too few turns", `{"v":1,"story":"FP","place":"harbor","turn":1,"flags":["heard_fog"],"ending":""}`, "number of turns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := send(t, e, moveLine(3, "look", "", jsontext.Value(strings.ReplaceAll(tc.state, "FP", e.fingerprint))))
			if *a.OK != (tc.why == "") {
				t.Fatalf("ok %v, %s", *a.OK, a.Error)
			}
			if *a.OK {
				return
			}
			if a.Code != "bad_state" || !strings.Contains(a.Reason, tc.why) || !strings.Contains(a.Error, "はじめから") {
				t.Errorf("code %s, error %q, reason %q, want one with %q", a.Code, a.Error, a.Reason, tc.why)
			}
		})
	}
}

// Any state is either rejected as such or played.
func FuzzState(f *testing.F) {
	e := newEngine(shiranari())
	for _, s := range []state{
		{place: busStop},
		{place: harbor, turn: 9, flags: heardFog | hasLantern},
		{place: bell, turn: 30, flags: heardFog | hasLantern | hasMatches | lit | hasMallet, ending: "bell"},
	} {
		raw, err := json.Marshal(e.save(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(raw))
	}
	f.Add([]byte(`[[[[]]]]`))
	f.Add([]byte(`{"v":1,"story":null,"place":null,"turn":null,"flags":null,"ending":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !jsontext.Value(raw).IsValid() || strings.ContainsAny(string(raw), "\n") {
			return
		}
		for _, kind := range []string{"look", "move", "say"} {
			a := send(t, e, moveLine(1, kind, "霧の話を聞く", raw))
			if !*a.OK {
				if a.Code != "bad_state" {
					t.Errorf("state %s is rejected with %s", raw, a.Code)
				}
				continue
			}
			again := send(t, e, moveLine(2, "look", "", a.State))
			if !*again.OK {
				t.Errorf("after %s from %s the engine rejects its own state %s", kind, raw, a.State)
			}
		}
	})
}
