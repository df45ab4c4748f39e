package advsim

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestStates(t *testing.T) {
	e := lamp(t)
	for _, tc := range []struct {
		name  string
		state string // FP stands for the story's fingerprint
		why   string // part of the reason; empty if accepted
	}{
		{"the first", `{"v":1,"story":"FP","place":"pier","turn":0,"flags":[],"ending":""}`, ""},
		{"in another order", `{"ending":"","flags":[],"turn":0,"place":"pier","story":"FP","v":1}`, ""},
		{"with things", `{"v":1,"story":"FP","place":"tower","turn":12,"flags":["lit","heard","has_lamp"],"ending":""}`, ""},
		{"saw the stars before it was light", `{"v":1,"story":"FP","place":"pier","turn":12,"flags":["lit","heard","has_lamp","saw_stars"],"ending":""}`, ""},
		{"ended", `{"v":1,"story":"FP","place":"pier","turn":4,"flags":["heard"],"ending":"sleep"}`, ""},
		{"ended with all", `{"v":1,"story":"FP","place":"tower","turn":12,"flags":["lit","heard","has_lamp","saw_stars"],"ending":"light"}`, ""},
		{"many turns", `{"v":1,"story":"FP","place":"pier","turn":9999,"flags":[],"ending":""}`, ""},

		{"empty object", `{}`, "another story"},
		{"array", `[]`, "another shape"},
		{"string", `"pier"`, "another shape"},
		{"number", `1`, "another shape"},
		{"true", `true`, "another shape"},
		{"unknown field", `{"v":1,"story":"FP","place":"pier","turn":0,"flags":[],"ending":"","gold":9}`, "another shape"},
		{"field in capitals", `{"V":1,"story":"FP","place":"pier","turn":0,"flags":[],"ending":""}`, "another shape"},
		{"turn a fraction", `{"v":1,"story":"FP","place":"pier","turn":0.5,"flags":[],"ending":""}`, "another shape"},
		{"turn a string", `{"v":1,"story":"FP","place":"pier","turn":"0","flags":[],"ending":""}`, "another shape"},
		{"turn beyond numbers", `{"v":1,"story":"FP","place":"pier","turn":1e999,"flags":[],"ending":""}`, "another shape"},
		{"flags an object", `{"v":1,"story":"FP","place":"pier","turn":0,"flags":{},"ending":""}`, "another shape"},
		{"a flag that is a number", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":[1],"ending":""}`, "another shape"},

		{"another version", `{"v":2,"story":"FP","place":"pier","turn":0,"flags":[],"ending":""}`, "another story or version"},
		{"another story", `{"v":1,"story":"00000000","place":"pier","turn":0,"flags":[],"ending":""}`, "another story or version"},
		{"unknown place", `{"v":1,"story":"FP","place":"moon","turn":1,"flags":[],"ending":""}`, "unknown place"},
		{"no place", `{"v":1,"story":"FP","turn":1,"flags":[],"ending":""}`, "unknown place"},
		{"place by name", `{"v":1,"story":"FP","place":"桟橋","turn":1,"flags":[],"ending":""}`, "unknown place"},
		{"unknown flag", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":["rich"],"ending":""}`, "unknown flag"},
		{"flag twice", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":["heard","heard"],"ending":""}`, "disorder"},
		{"flags in disorder", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":["heard","lit","has_lamp"],"ending":""}`, "disorder"},
		{"lamp without leave", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":["has_lamp"],"ending":""}`, "do not go together"},
		{"light without lamp", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":["lit","heard"],"ending":""}`, "do not go together"},
		{"in the tower in the dark", `{"v":1,"story":"FP","place":"tower","turn":9,"flags":["heard"],"ending":""}`, "cannot have reached"},
		{"unknown ending", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":["heard"],"ending":"rich"}`, "ending it cannot"},
		{"ended elsewhere", `{"v":1,"story":"FP","place":"shed","turn":9,"flags":["heard"],"ending":"sleep"}`, "ending it cannot"},
		{"ended too early", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":[],"ending":"sleep"}`, "ending it cannot"},
		{"ended with what cannot be", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":["heard","lit"],"ending":"sleep"}`, "disorder"},
		{"ended with flags that do not go together", `{"v":1,"story":"FP","place":"pier","turn":9,"flags":["lit","heard"],"ending":"sleep"}`, "ending it cannot"},
		{"negative turn", `{"v":1,"story":"FP","place":"pier","turn":-1,"flags":[],"ending":""}`, "number of turns"},
		{"too many turns", `{"v":1,"story":"FP","place":"pier","turn":10000,"flags":[],"ending":""}`, "number of turns"},
		{"too few turns", `{"v":1,"story":"FP","place":"shed","turn":1,"flags":["heard"],"ending":""}`, "number of turns"},
		{"too few turns for an ending", `{"v":1,"story":"FP","place":"pier","turn":1,"flags":["heard"],"ending":"sleep"}`, "number of turns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := send(t, e, moveLine(3, "look", "", jsontext.Value(strings.ReplaceAll(tc.state, "FP", e.story.fingerprint))))
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

// The states that are accepted are exactly those that can be played to, whatever
// is done.
func TestAcceptedStatesAreTheReachableOnes(t *testing.T) {
	e := lamp(t)
	key := func(s state) state { s.turn = 0; return s }
	start := e.begin().state
	reached := map[state]bool{key(start): true}
	for queue := []state{start}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if s.ending != "" {
			continue
		}
		var next []state
		for i := range e.story.acts {
			if e.possible(s, i) {
				next = append(next, e.do(s, &e.story.acts[i]).state)
			}
		}
		for _, p := range e.story.places {
			next = append(next, e.walk(s, p.id).state)
		}
		for _, n := range next {
			if !reached[key(n)] {
				reached[key(n)] = true
				queue = append(queue, n)
			}
		}
	}
	for f := range flags(1 << len(e.story.flags)) {
		for _, p := range e.story.places {
			for _, ending := range []string{"", "light", "sleep", "other"} {
				s := state{place: p.id, turn: 100, flags: f, ending: ending}
				if err := e.check(s); (err == nil) != reached[key(s)] {
					t.Errorf("%+v: reachable %v, check says %v", s, reached[key(s)], err)
				}
			}
		}
	}
}

// Of the story that is played, no state is too entangled to be seen through: a
// player's is accepted and one that is not any player's is refused, both after
// looking at a small part of what a search may.
func TestNoStateIsBeyondTheSearch(t *testing.T) {
	e := whole(t)
	r := rand.New(rand.NewPCG(7, 7))
	looked := func(want flags) (isFound bool, sets int) {
		isFound, _ = e.world.explore(search{among: want, most: mostInMove}, func(have, _ flags) verdict {
			sets++
			if have == want {
				return found
			}
			return goOn
		})
		return isFound, sets
	}
	for range 300 {
		steps := make([]byte, r.IntN(100))
		for i := range steps {
			steps[i] = byte(r.Uint32())
		}
		s := astray(e, steps)
		if isFound, sets := looked(s.flags); !isFound || sets > mostInMove/5 {
			t.Errorf("after %v: found %v after %d sets", steps, isFound, sets)
		}
		for bit := range e.story.flags {
			if _, sets := looked(s.flags ^ 1<<bit); sets > mostInMove/5 {
				t.Errorf("after %v with flag %d turned round: %d sets", steps, bit, sets)
			}
		}
	}
}
