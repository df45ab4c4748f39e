package advsim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// fingerprintBytes is how much of the story's hash a state carries. It tells
// versions of one story apart; it is no defence against forgery.
const fingerprintBytes = 4

// An engine plays one story. It is never changed once made.
type engine struct {
	story       story
	fingerprint string
	dictionary  dictionary
}

func newEngine(s story) *engine {
	// The story is plain data without pointers or maps, so it prints the same
	// in every process.
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", s))
	return &engine{
		story:       s,
		fingerprint: hex.EncodeToString(sum[:fingerprintBytes]),
		dictionary:  newDictionary(s.nouns),
	}
}

// place returns the place of that id, nil if there is none.
func (e *engine) place(id string) *place {
	for i := range e.story.places {
		if e.story.places[i].id == id {
			return &e.story.places[i]
		}
	}
	return nil
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
	if utf8.RuneCountInString(input) > maxInput {
		return outcome{s, "言葉が長すぎて、霧に溶けてしまった。短く言いなおしてみよう。"}
	}
	switch kind {
	case "look":
		return e.look(s)
	case "move":
		if to, ok := e.understandPlace(s.place, input); ok {
			return e.walk(s, to)
		}
		return outcome{s, "それがどこなのか、わからない。" + e.possible(s)}
	}

	m := e.understand(s.place, input)
	switch m.sense {
	case doAct:
		return e.do(s, m.act)
	case goPlace:
		return e.walk(s, m.place)
	case goBack:
		return e.walk(s, e.place(s.place).back)
	case goUnsaid:
		return outcome{s, "どこへ行こうか。" + e.possible(s)}
	case lookAround:
		return e.look(s)
	case askHelp:
		return outcome{s, e.help(s)}
	case askCarried:
		return outcome{s, e.carried(s)}
	case nothingSaid:
		return outcome{s, "しばらく、氷の軋む音に耳を澄ました。" + e.possible(s)}
	case refusedToAct:
		return outcome{s, "では、やめておこう。" + e.possible(s)}
	case onlySupposed:
		return outcome{s, "考えてみるだけでは、何も起こらない。" + e.possible(s)}
	case tooMuch:
		return outcome{s, "一度にいろいろは難しい。ひとつずつ試してみよう。" + e.possible(s)}
	case elsewhere:
		return outcome{s, "それは、ここではできそうにない。" + e.possible(s)}
	}
	return outcome{s, e.puzzled(s, input) + e.possible(s)}
}

func (e *engine) look(s state) outcome {
	return outcome{s, told(e.place(s.place).text, s.flags)}
}

// walk goes to a place, through others if need be, as far as the way is open.
func (e *engine) walk(s state, to string) outcome {
	if to == s.place {
		return outcome{s, "ここがその" + e.place(to).name + "だ。\n" + e.look(s).text}
	}
	from := s.place
	for s.place != to {
		next := e.place(e.nextStep(s.place, to))
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

// nextStep returns the first place on the shortest way between two places, open
// or not. Every place can be reached from every other.
func (e *engine) nextStep(from, to string) string {
	first := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		here := queue[0]
		for _, next := range e.place(here).ways {
			if _, seen := first[next]; seen {
				continue
			}
			if first[next] = first[here]; here == from {
				first[next] = next
			}
			if next == to {
				return first[next]
			}
			queue = append(queue, next)
		}
	}
	return from
}

// do performs an act.
func (e *engine) do(s state, a *act) outcome {
	t := a.telling(s.flags)
	text := t.text
	if more := told(t.more, s.flags); more != "" {
		text += "\n" + more
	}
	s.flags |= t.sets
	s.ending = t.ends
	return outcome{s, text}
}

// telling returns what comes of an act: the first outcome that holds.
func (a *act) telling(f flags) telling {
	for _, t := range a.tellings {
		if t.holds(f) {
			return t
		}
	}
	return telling{}
}

// choices returns the acts that are worth a button here and now.
func (e *engine) choices(s state) []offer {
	offers := []offer{}
	if s.ending != "" {
		return offers
	}
	for i := range e.story.acts {
		if a := &e.story.acts[i]; a.isAt(s.place) && a.telling(s.flags).offered {
			offers = append(offers, offer{Label: a.label, Kind: "say", Input: a.label})
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
	for _, id := range e.place(s.place).ways {
		if p := e.place(id); s.flags.cover(p.needs) {
			offers = append(offers, offer{Label: p.button, Kind: "move", Input: p.id})
		}
	}
	return offers
}

// help tells how to play and what to try next.
func (e *engine) help(s state) string {
	text := "行きたい場所や、したいことを、短い言葉で書いてください。「港へ行く」「あたりを見る」「持ち物」のように。ボタンを押すだけでも遊べます。"
	for _, h := range e.story.hints {
		if h.holds(s.flags) {
			return text + "\n" + h.text
		}
	}
	return text
}

// carried tells what the player has in hand.
func (e *engine) carried(s state) string {
	var names []string
	for _, c := range e.story.carried {
		if c.holds(s.flags) {
			names = append(names, c.text)
		}
	}
	if len(names) == 0 {
		return e.story.nothing
	}
	return "持っているもの：" + strings.Join(names, "、") + "。"
}

// possible tells what the buttons offer, for whoever does not look at them.
func (e *engine) possible(s state) string {
	text := "\n"
	if acts := e.choices(s); len(acts) > 0 {
		text += "ここでできそうなのは、" + quoted(acts) + "。"
	}
	return text + "行けるのは、" + quoted(e.places(s)) + "。"
}

func quoted(offers []offer) string {
	var b strings.Builder
	for _, o := range offers {
		b.WriteString("「" + o.Label + "」")
	}
	return b.String()
}

// puzzled admits that the words were not understood, in words that vary with
// them and with the turn, and stay the same for the same move.
func (e *engine) puzzled(s state, input string) string {
	admissions := [...]string{
		"その言葉は、うまく通じなかった。",
		"どういう意味か、うまくつかめなかった。",
		"言葉が霧にまぎれて、聞きとれなかった。",
		"何をすればいいのか、わからなかった。",
		"言いかけた言葉が、白い息になって消えた。うまく伝わらなかったようだ。",
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%d %s", s.turn, fold(input))
	return admissions[h.Sum32()%uint32(len(admissions))]
}

// told returns the passages that hold, a line each.
func told(passages []passage, f flags) string {
	var lines []string
	for _, p := range passages {
		if p.holds(f) {
			lines = append(lines, p.text)
		}
	}
	return strings.Join(lines, "\n")
}
