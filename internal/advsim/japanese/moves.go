package japanese

import (
	"cmp"
	"slices"
)

// maxClauses bounds how many things said at once are compared with anything.
const maxClauses = 6

// moves compares the sentence with the acts and the ways.
func (h *hearing) moves() Meaning {
	last := len(h.clauses) - 1
	// Reasons, 「寒いので」, and what is only told, 「疲れた。」, ask for nothing.
	clauses := slices.DeleteFunc(slices.Clone(h.clauses[:last]), func(c clause) bool {
		return c.link == since || c.stopped && h.moodOf(&c) == remarking
	})
	clauses = append(clauses, h.clauses[last])
	n := len(clauses)
	if n == 1 {
		return h.meant(clauses)
	}
	if n > maxClauses {
		return Meaning{Sense: TooMuch}
	}
	if act, ok := h.joint(clauses); ok {
		return Meaning{Sense: Do, Act: act}
	}
	main, before := &clauses[n-1], &clauses[n-2]
	switch {
	case slices.ContainsFunc(clauses[:n-1], func(c clause) bool { return c.sign&negated != 0 || c.deed == quits }):
		return Meaning{}
	case before.link == inOrderTo && goesSomewhere(main.deed):
		if n > 2 {
			return Meaning{Sense: TooMuch}
		}
		return h.purpose(before, main)
	case before.deed == rides && goesSomewhere(main.deed) && len(main.nouns) == 0:
		before.link = unlinked // 「バスに乗って帰る」
		clauses = clauses[:n-1]
	}
	if h.meanSeveral(clauses) {
		return Meaning{Sense: TooMuch}
	}
	return h.meant(clauses)
}

// joint returns the act that has a phrase for all of the clauses:
// 「三つ打って、ひと息おく」.
func (h *hearing) joint(clauses []clause) (act int, ok bool) {
	u := h.toPhrase(clauses, h.at)
	u.inMood(h.mood())
	h.compareAround(&u)
	best := h.best(&u, h.possible)
	if !best.sure() {
		return 0, false
	}
	for _, e := range h.acts[best.act].says {
		covers := func(d deed) bool {
			return slices.ContainsFunc(e.deeds, func(other deed) bool { return akin(d, other) })
		}
		if len(e.deeds) == len(u.deeds) && !slices.ContainsFunc(u.deeds, func(d deed) bool { return !covers(d) }) {
			return best.act, true
		}
	}
	return 0, false
}

// meanSeveral reports whether clauses ask for different things by themselves.
func (h *hearing) meanSeveral(clauses []clause) bool {
	var first Meaning
	last := len(clauses) - 1
	for i := range clauses {
		c := &clauses[i]
		if c.deed == noDeed || i < last && c.isMannerOf(&clauses[last]) {
			continue
		}
		m := h.meant(clauses[i : i+1])
		switch m.Sense {
		case Do, Go, GoBack, Elsewhere:
			if first.Sense == Unclear {
				first = m
			} else if first.Sense != m.Sense || first.Act != m.Act || first.Place != m.Place {
				return true
			}
		}
	}
	return false
}

// isMannerOf reports whether a clause only says how the main one is done:
// 「歩いて行く」「ランタンを持って行く」「声をかけて聞く」.
func (c *clause) isMannerOf(main *clause) bool {
	switch {
	case goesSomewhere(main.deed):
		return goesSomewhere(c.deed) || c.deed == takes
	case c.deed == greets:
		return slices.Contains(speech, main.deed)
	case c.deed == looks || c.deed == goes:
		return len(c.nouns) == 0
	}
	return (c.deed == main.deed || accompanies(c.deed)) && (len(c.nouns) == 0 || len(main.nouns) == 0)
}

// purpose makes out 「…を見に行く」: a way, or the act itself if it can be done
// here.
func (h *hearing) purpose(goal, going *clause) Meaning {
	nouns := slices.Concat(goal.nouns, going.nouns)
	for _, m := range nouns {
		if n := &h.nouns[m.noun]; n.Kind == Place && n.ID != h.at && m.particle != wo && m.aimedAt() {
			return Meaning{Sense: Go, Place: n.ID}
		}
	}
	if !goesSomewhere(goal.deed) {
		here := *goal
		here.link = unlinked
		if m := h.meant([]clause{here}); m.Sense == Do {
			return m
		}
	}
	return h.way(&clause{deed: going.deed, nouns: nouns, runs: slices.Concat(goal.runs, going.runs)})
}

// meant compares clauses, taken together, with the acts and the ways.
func (h *hearing) meant(clauses []clause) Meaning {
	main := &clauses[len(clauses)-1]
	u := h.toPhrase(clauses, h.at)
	u.inMood(h.moodOf(main))
	switch {
	case len(u.deeds) > 0:
	case h.call && len(u.nouns) == 1 && h.nouns[u.nouns[0]].Kind == Person:
		u.deeds = []deed{greets} // 「すみません、船長」
	}
	h.compareAround(&u)

	best := h.best(&u, h.possible)
	switch {
	case best.sure():
		return Meaning{Sense: Do, Act: best.act}
	case best.fit >= sure:
		return Meaning{Maybe: []Meaning{{Sense: Do, Act: best.act}, {Sense: Do, Act: best.secondAct}}}
	case u.mood != wishing, goesSomewhere(main.deed) && !onTheWay(clauses):
		return Meaning{}
	}

	way := main
	if len(clauses) > 1 && !goesSomewhere(main.deed) {
		way = &clause{deed: main.deed, runs: u.runs}
		for i := range clauses {
			way.nouns = append(way.nouns, clauses[i].nouns...)
		}
	}
	if m := h.way(way); m.Sense != Unclear {
		return m
	}
	looking := akin(main.deed, looks)
	if len(u.nouns)+len(u.loose) > 0 {
		other := h.best(&u, func(act int) bool { return !h.possible(act) })
		// What can be looked at in several places is in sight here too.
		if other.fit >= sure && !(looking && other.secondFit >= sure) {
			return Meaning{Sense: Elsewhere, Act: other.act}
		}
	}
	if looking && !slices.ContainsFunc(u.runs, run.isArgument) {
		// Whatever there is to see here, the place's description tells of it.
		return Meaning{Sense: Look}
	}
	return Meaning{}
}

// onTheWay reports whether what is done before going only belongs to it.
func onTheWay(clauses []clause) bool {
	last := len(clauses) - 1
	main := &clauses[last]
	return !slices.ContainsFunc(clauses[:last], func(c clause) bool {
		return !c.isMannerOf(main) || c.deed == takes && len(main.nouns) == 0
	})
}

// way makes out where a clause leads.
func (h *hearing) way(c *clause) Meaning {
	isStrange := func(got run) bool { return got.particle != noParticle && got.particle != to && got.particle != no }
	switch {
	case c.deed != noDeed && !goesSomewhere(c.deed),
		c.deed == noDeed && (c.about || c.asks || h.mark || len(c.runs) > 0),
		slices.ContainsFunc(c.runs, isStrange):
		return Meaning{}
	}
	goal, people, others := "", 0, 0
	for _, m := range c.nouns {
		place, kind := h.placeOf(m.noun), h.nouns[m.noun].Kind
		switch {
		case m.particle == kara, m.particle == wo && c.deed == leaves && place == h.at, m.particle == de && kind == Thing:
			continue // where from, and by what
		case c.deed == noDeed && !m.isGoal(kind):
			return Meaning{}
		case kind == Person:
			people++
		default:
			others++
		}
		if place != "" && goal != "" && place != goal {
			return Meaning{}
		}
		goal = cmp.Or(place, goal)
	}
	switch {
	case people > 1, people == 1 && others > 0:
		return Meaning{}
	case goal != "":
		return Meaning{Sense: Go, Place: goal}
	case others > 0, len(c.runs) > 0:
		return Meaning{}
	case c.deed == leaves, c.outside:
		return Meaning{Sense: GoBack}
	case goesSomewhere(c.deed):
		return Meaning{Sense: GoOn}
	}
	return Meaning{}
}

// isGoal reports whether what is named without a verb is where to go: a place,
// 「港」 or 「港へ」, or where somebody is, 「船長のところへ」.
func (m mention) isGoal(kind Kind) bool {
	switch kind {
	case Place:
		return m.particle == noParticle || m.particle != wo && m.aimedAt()
	case Person:
		return m.particle == he
	}
	return false
}

func goesSomewhere(d deed) bool { return d == goes || d == leaves }
