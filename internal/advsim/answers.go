package advsim

import (
	"fmt"
	"hash/fnv"
	"strings"

	"kiribashiri/internal/advsim/japanese"
)

// notDone answers words that nothing came of: it says why, and then where to look
// for what is possible, so that nobody is left guessing.
func (e *engine) notDone(s state, input string, m japanese.Meaning) string {
	switch m.Sense {
	case japanese.Silence:
		return e.inOneWay(s, input, "黙ったまま、しばらく耳を澄ました。", "言葉が出てこないまま、ひと呼吸おいた。") + e.hint(s)
	case japanese.Refused:
		return e.inOneWay(s, input, "では、やめておこう。", "それは、しないでおこう。") + e.hint(s)
	case japanese.Supposed:
		return e.inOneWay(s, input, "考えてみるだけでは、何も起こらない。", "頭の中で思い描いてみた。けれど、まだ何もしていない。") + e.hint(s)
	case japanese.TooMuch:
		return e.inOneWay(s, input, "一度にいろいろは難しい。ひとつずつ試してみよう。", "やりたいことが多すぎる。まず、ひとつに決めよう。") + e.hint(s)
	case japanese.Elsewhere:
		if e.story.acts[m.Act].isAt(s.place) {
			return e.inOneWay(s, input, "いまは、それはできそうにない。", "それは、いまはかなわない。") + e.hint(s)
		}
		return e.inOneWay(s, input, "それは、ここではできそうにない。", "ここでは、それはかなわない。") + e.hint(s)
	}
	switch maybe := e.labels(s, m.Maybe); len(maybe) {
	case 1:
		return "うまく伝わらなかった。もしかして、" + maybe[0] + "ということだろうか。" + e.hint(s)
	case 2:
		return "うまく伝わらなかった。" + maybe[0] + "か、それとも" + maybe[1] + "だろうか。" + e.hint(s)
	}
	return e.inOneWay(s, input,
		"その言葉は、うまく通じなかった。",
		"どういう意味か、うまくつかめなかった。",
		"言葉が風にまぎれて、聞きとれなかった。",
		"何をすればいいのか、わからなかった。",
		"言いかけた言葉が、白い息になって消えた。うまく伝わらなかったようだ。",
	) + e.hint(s)
}

// labels returns what may have been meant as it stands on its button. What is
// not offered, and has not been before, is not named: it may tell of what the
// player cannot know yet.
func (e *engine) labels(s state, maybe []japanese.Meaning) []string {
	var labels []string
	for _, m := range maybe {
		switch m.Sense {
		case japanese.Do:
			a := &e.story.acts[m.Act]
			if t := a.telling(s.flags); a.isAt(s.place) && t != nil && (t.offered || a.wasOffered(s.flags)) {
				labels = append(labels, "「"+a.buttonFor(t)+"」")
			}
		case japanese.Go:
			if p := e.story.place(m.Place); s.flags.cover(p.needs) {
				labels = append(labels, "「"+p.button+"」")
			}
		}
	}
	return labels
}

func (e *engine) tooLong(s state) string {
	return "言葉が長すぎて、終わりまで届かなかった。短く言いなおしてみよう。" + e.hint(s)
}

func (e *engine) noSuchPlace(s state) string {
	return "それがどこなのか、わからない。" + e.hint(s)
}

func (e *engine) whereTo(s state) string {
	return "どこへ行こうか。" + e.hint(s)
}

// inOneWay chooses one of several wordings, by turn and input: it varies, and
// stays the same for the same move.
func (e *engine) inOneWay(s state, input string, wordings ...string) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d %s", s.turn, japanese.Fold(input))
	return wordings[h.Sum32()%uint32(len(wordings))]
}

// hint tells, in turn, where to look for what is possible: the buttons say what.
func (e *engine) hint(s state) string {
	ways := []string{
		"できそうなことは、ボタンに出ている。",
		"迷ったら、「ヒント」と書いてみよう。",
		"手もとのものは、「持ち物」と書けば確かめられる。",
	}
	return "\n" + ways[s.turn%len(ways)]
}

// help tells how to play and what to try next.
func (e *engine) help(s state) string {
	text := "行きたい場所や、したいことを、短い言葉で書いてください。「港へ行く」「あたりを見る」のように。「持ち物」で手もとのものを、「ヒント」で次にすることを確かめられます。ボタンを押すだけでも遊べます。"
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
