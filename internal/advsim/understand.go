package advsim

import (
	"cmp"
	"slices"
)

// A meaning is what a player's words come to: an act, a way to go, or one of
// the things that can be asked for anywhere.
type meaning struct {
	sense sense
	act   *act   // of doAct
	place string // of goPlace: id of the place
}

type sense int

const (
	notUnderstood sense = iota
	nothingSaid
	refusedToAct // 「行かない」
	onlySupposed // 「行ったらどうなる」
	tooMuch      // several things at once
	elsewhere    // something that is done at another place
	doAct
	goPlace
	goBack
	goUnsaid // to go, but not where
	lookAround
	askHelp
	askCarried
)

// understand makes out what the player means who says text at a place. In
// doubt it means nothing: a move that was not wanted is worse than a question.
func (e *engine) understand(at, text string) meaning {
	text = fold(text)
	if text == "" {
		return meaning{sense: nothingSaid}
	}
	for i := range e.story.acts {
		if a := &e.story.acts[i]; a.isAt(at) && fold(a.label) == text {
			return meaning{sense: doAct, act: a}
		}
	}

	u := e.dictionary.parse(text)
	switch {
	case u.help && !(u.verb == talk && u.namesSomebody()):
		return meaning{sense: askHelp}
	case u.negated:
		return meaning{sense: refusedToAct}
	case u.supposed:
		return meaning{sense: onlySupposed}
	case u.strange || u.others:
		return meaning{sense: notUnderstood}
	case u.carried:
		return meaning{sense: askCarried}
	}
	switch {
	case u.question && u.names(around.id) && len(u.nouns) == 1:
		return meaning{sense: lookAround} // 「ここはどこ？」
	case u.verb == bare && (u.about || u.question) && len(u.nouns) > 0:
		u.verb = talk // 「霧について」「霧って何？」
	case u.question && u.verb != talk:
		return meaning{sense: notUnderstood}
	}

	if a := e.bestAct(u, func(a act) bool { return a.isAt(at) }); a != nil {
		return meaning{sense: doAct, act: a}
	}
	if m := e.understandWay(at, u); m.sense != notUnderstood {
		return m
	}
	switch {
	case u.verb == bare && u.names(around.id) && len(u.nouns) == 1:
		return meaning{sense: lookAround}
	case len(u.nouns) > 0 && e.bestAct(u, func(act) bool { return true }) != nil:
		return meaning{sense: elsewhere}
	case u.verb == look:
		// Whatever there is to see here, the place's description tells of it.
		return meaning{sense: lookAround}
	case u.verbs != u.verb && u.verb != bare:
		return meaning{sense: tooMuch}
	}
	return meaning{sense: notUnderstood}
}

// bestAct returns the act that accounts for every noun and names the most of
// them, among those that may be meant; the first of several.
func (e *engine) bestAct(u utterance, may func(act) bool) *act {
	var best *act
	bestNamed := -1
	for i := range e.story.acts {
		a := &e.story.acts[i]
		if !may(*a) {
			continue
		}
		for _, s := range a.says {
			if named := len(s.about); named > bestNamed && s.fits(u, a.to) {
				best, bestNamed = a, named
			}
		}
	}
	return best
}

// fits reports whether u says s to somebody, who may be named or not.
func (s saying) fits(u utterance, to string) bool {
	if s.verbs&u.verb == 0 {
		return false
	}
	for _, want := range s.about {
		if !u.names(want) {
			return false
		}
	}
	for _, n := range u.nouns {
		if n.id != to && !slices.Contains(s.about, n.id) && !slices.Contains(s.also, n.id) {
			return false
		}
	}
	return true
}

// understandWay makes out where to go.
func (e *engine) understandWay(at string, u utterance) meaning {
	switch {
	case u.verb == leave && u.only(at):
		if e.place(at).back == "" {
			return meaning{sense: goUnsaid}
		}
		return meaning{sense: goBack}
	case u.verb == bare && len(u.nouns) == 1 && u.nouns[0].id == u.nouns[0].at:
		return meaning{sense: goPlace, place: u.nouns[0].at}
	case u.verb != goTo && u.verb != leave:
		return meaning{sense: notUnderstood}
	}
	// Things may be named along with the way, 「ランタンを持って防波堤へ行く」, but
	// only one place, and people only as the place where they are.
	to := ""
	for _, n := range u.nouns {
		if n.at != "" && to != "" && n.at != to || n.lives && len(u.nouns) > 1 {
			return meaning{sense: notUnderstood}
		}
		to = cmp.Or(n.at, to)
	}
	switch {
	case to != "":
		return meaning{sense: goPlace, place: to}
	case len(u.nouns) == 0:
		return e.understandOnward(at)
	}
	return meaning{sense: notUnderstood}
}

// understandOnward makes out where 「先へ進む」 leads: to the only way that does
// not lead back.
func (e *engine) understandOnward(at string) meaning {
	onward := meaning{sense: goUnsaid}
	here := e.place(at)
	for _, way := range here.ways {
		switch {
		case way == here.back:
		case onward.sense == goPlace:
			return meaning{sense: goUnsaid}
		default:
			onward = meaning{sense: goPlace, place: way}
		}
	}
	return onward
}

// understandPlace makes out the place that a move of kind "move" names: by its
// id, as offered, or in the player's words.
func (e *engine) understandPlace(at, input string) (id string, ok bool) {
	if e.place(input) != nil {
		return input, true
	}
	u := e.dictionary.parse(fold(input))
	if u.strange || u.negated || u.supposed || u.others || u.question {
		return "", false
	}
	m := e.understandWay(at, u)
	return m.place, m.sense == goPlace
}

func (u *utterance) namesSomebody() bool {
	return slices.ContainsFunc(u.nouns, func(n *noun) bool { return n.lives })
}
