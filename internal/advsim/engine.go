package advsim

import (
	"sync"
	"unicode/utf8"

	"kiribashiri/internal/advsim/japanese"
)

// An engine plays one story. It is never changed once made.
type engine struct {
	story *story
	world *world

	// The reader takes longer to make than all the rest, so it is made when it is
	// first asked for.
	reader func() *japanese.Reader
}

// newEngine returns an engine for a story that load found no mistake in.
func newEngine(s *story) *engine {
	return &engine{
		story:  s,
		world:  newWorld(s),
		reader: sync.OnceValue(func() *japanese.Reader { return newReader(s) }),
	}
}

// newReader returns a reader of what players of a story write.
func newReader(s *story) *japanese.Reader {
	// Places first, then people: of a name that is given twice, the first counts.
	var nouns []japanese.Noun
	for _, p := range s.places {
		nouns = append(nouns, japanese.Noun{ID: p.id, Kind: japanese.Place, Names: append([]string{p.name}, p.names...), At: p.id})
	}
	for _, p := range s.people {
		nouns = append(nouns, japanese.Noun{ID: p.id, Kind: japanese.Person, Names: append([]string{p.name}, p.names...), At: p.at})
	}
	for _, t := range s.things {
		nouns = append(nouns, japanese.Noun{ID: t.id, Kind: japanese.Thing, Names: t.names, At: t.at})
	}
	var acts []japanese.Act
	for _, a := range s.acts {
		act := japanese.Act{Label: a.label, To: a.to}
		for _, s := range a.says {
			act.Says = append(act.Says, s.text)
		}
		for _, t := range a.tellings {
			if t.button != "" {
				act.Says = append(act.Says, t.button)
			}
		}
		acts = append(acts, act)
	}
	return japanese.New(nouns, acts)
}

// An outcome is what came of a move.
type outcome struct {
	state state
	text  string
}

func (e *engine) begin() outcome {
	return outcome{state{place: e.story.start}, e.story.opening}
}

// play makes one move: look, move or say. It is a pure function of its
// arguments, and s is a state that decodeState has accepted.
func (e *engine) play(s state, kind, input string) outcome {
	if s.ending != "" {
		return outcome{s, e.story.over}
	}
	s.turn = min(s.turn+1, maxTurn)
	switch {
	case kind == "look":
		return e.look(s)
	case utf8.RuneCountInString(input) > japanese.MaxChars:
		return outcome{s, e.tooLong(s)}
	case kind == "move":
		if e.story.place(input) != nil {
			return e.walk(s, input)
		}
		if m := e.reader().Read(input, s.place, nil); m.Sense == japanese.Go {
			return e.walk(s, m.Place)
		}
		return outcome{s, e.noSuchPlace(s)}
	}
	if to := e.pressed(s, input); to != "" {
		return e.walk(s, to)
	}
	m := e.reader().Read(input, s.place, func(act int) bool { return e.possible(s, act) })
	switch m.Sense {
	case japanese.Do:
		return e.do(s, &e.story.acts[m.Act])
	case japanese.Go:
		return e.walk(s, m.Place)
	case japanese.GoBack:
		if back := e.story.place(s.place).back; back != "" {
			return e.walk(s, back)
		}
		return outcome{s, e.whereTo(s)}
	case japanese.GoOn:
		if onward := e.onward(s); onward != "" {
			return e.walk(s, onward)
		}
		return outcome{s, e.whereTo(s)}
	case japanese.Look:
		return e.look(s)
	case japanese.Help:
		return outcome{s, e.help(s)}
	case japanese.Carried:
		return outcome{s, e.carried(s)}
	}
	return outcome{s, e.notDone(s, input, m)}
}

// pressed returns the place to which a way leads from here whose button says
// just what was typed; empty if there is none.
func (e *engine) pressed(s state, input string) string {
	for _, id := range e.story.place(s.place).ways {
		if japanese.Fold(e.story.place(id).button) == japanese.Fold(input) {
			return id
		}
	}
	return ""
}

// possible reports whether an act, by index, can be done here and now.
func (e *engine) possible(s state, act int) bool {
	a := &e.story.acts[act]
	return a.isAt(s.place) && a.telling(s.flags) != nil
}

func (e *engine) look(s state) outcome {
	return outcome{s, told(e.story.place(s.place).text, s.flags)}
}

// walk goes to a place, through others if need be, as far as the way is open.
func (e *engine) walk(s state, to string) outcome {
	if to == s.place {
		return outcome{s, "ここがその" + e.story.place(to).name + "だ。\n" + e.look(s).text}
	}
	way := e.world.way(s.place, to, s.flags)
	from := s.place
	for _, next := range way {
		if !s.flags.cover(next.needs) {
			if s.place == from {
				return outcome{s, next.closed}
			}
			return outcome{s, e.look(s).text + "\n" + next.closed}
		}
		s.place = next.id
	}
	return e.look(s)
}

// onward returns the place where going on leads: the only way from here that
// does not lead back; empty if there are several or none.
func (e *engine) onward(s state) string {
	onward := ""
	here := e.story.place(s.place)
	for _, way := range here.ways {
		switch {
		case way == here.back:
		case onward != "":
			return ""
		default:
			onward = way
		}
	}
	return onward
}

// do performs an act that is possible.
func (e *engine) do(s state, a *act) outcome {
	t := a.telling(s.flags)
	text := t.text
	if more := told(t.more, s.flags); more != "" {
		text += "\n" + more
	}
	if t.ends != "" {
		text += "\n――終わり「" + e.story.ending(t.ends).title + "」"
	}
	s.flags |= t.sets
	s.ending = t.ends
	return outcome{s, text}
}

// choices returns the acts that are worth a button here and now.
func (e *engine) choices(s state) []offer {
	offers := []offer{}
	if s.ending != "" {
		return offers
	}
	for i := range e.story.acts {
		a := &e.story.acts[i]
		if !a.isAt(s.place) {
			continue
		}
		if t := a.telling(s.flags); t != nil && t.offered {
			offers = append(offers, offer{Label: a.buttonFor(t), Kind: "say", Input: a.buttonFor(t)})
		}
	}
	return offers
}

// places returns the ways that are open from here.
func (e *engine) places(s state) []offer {
	offers := []offer{}
	if s.ending != "" {
		return offers
	}
	for _, id := range e.story.place(s.place).ways {
		if p := e.story.place(id); s.flags.cover(p.needs) {
			offers = append(offers, offer{Label: p.button, Kind: "move", Input: p.id})
		}
	}
	return offers
}
