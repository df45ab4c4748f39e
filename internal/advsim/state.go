package advsim

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// stateVersion is the version of savedState's shape. What happens in the story
	// is the fingerprint's affair.
	stateVersion = 1

	// maxTurn is where the count of turns stands still; the story goes on. It only
	// has to be more than anybody plays.
	maxTurn = 9999
)

// A state is where one player stands in the story.
type state struct {
	place  string // id of the place
	turn   int    // moves played, up to maxTurn
	flags  flags
	ending string // id of the ending; empty while the story goes on
}

// A savedState is a state as the browser carries it.
type savedState struct {
	Version int      `json:"v"`
	Story   string   `json:"story"` // the story's fingerprint
	Place   string   `json:"place"`
	Turn    int      `json:"turn"`
	Flags   []string `json:"flags"` // in the story's order
	Ending  string   `json:"ending"`
}

// A badState is why a state cannot be played: the text is for the player, the
// reason for whoever is asked for help.
type badState struct{ text, reason string }

const (
	cannotGoOn = "この続きからは遊べません。お手数ですが、はじめからやり直してください。"
	storyIsNew = "物語が新しくなったため、この続きからは遊べません。お手数ですが、はじめからやり直してください。"
)

func (e *engine) save(s state) savedState {
	saved := savedState{
		Version: stateVersion, Story: e.story.fingerprint,
		Place: s.place, Turn: s.turn, Ending: s.ending,
	}
	for bit, name := range e.story.flags {
		if s.flags&(1<<bit) != 0 {
			saved.Flags = append(saved.Flags, name)
		}
	}
	return saved
}

// decodeState reads a state as a browser sent it and accepts only what this
// story can have brought about.
func (e *engine) decodeState(raw jsontext.Value) (state, *badState) {
	var saved savedState
	if len(raw) == 0 || raw.Kind() == 'n' {
		return state{}, &badState{cannotGoOn, "state is missing"}
	}
	if err := json.Unmarshal(raw, &saved, json.RejectUnknownMembers(true)); err != nil {
		return state{}, &badState{cannotGoOn, "state has another shape"}
	}
	if saved.Version != stateVersion || saved.Story != e.story.fingerprint {
		return state{}, &badState{storyIsNew, "state is of another story or version"}
	}
	s := state{place: saved.Place, turn: saved.Turn, ending: saved.Ending}
	last := -1
	for _, name := range saved.Flags {
		bit := slices.Index(e.story.flags, name)
		if bit <= last {
			return state{}, &badState{cannotGoOn, "state has an unknown flag, or flags in disorder"}
		}
		last = bit
		s.flags |= 1 << bit
	}
	if err := e.check(s); err != nil {
		return state{}, &badState{cannotGoOn, err.Error()}
	}
	return s, nil
}

// check reports why a state cannot have come out of this story.
func (e *engine) check(s state) error {
	here := e.story.placeIndex(s.place)
	switch {
	case here < 0:
		return errors.New("state has an unknown place")
	case !e.world.open(s.flags)[here]:
		return errors.New("state is at a place it cannot have reached")
	case s.turn < e.fewestTurns(s) || s.turn > maxTurn:
		return errors.New("state has an impossible number of turns")
	case s.ending != "" && !e.world.canHaveEnded(s.ending, here, s.flags):
		return errors.New("state has an ending it cannot have reached")
	case s.ending == "" && !e.world.canHaveHappened(s.flags):
		return errors.New("state has flags that do not go together")
	}
	return nil
}

// fewestTurns is a lower bound: every flag took a turn of its own, so did the
// ending, and so did leaving the first place.
func (e *engine) fewestTurns(s state) int {
	turns := s.flags.count()
	if s.place != e.story.start {
		turns++
	}
	if s.ending != "" {
		turns++
	}
	return turns
}
