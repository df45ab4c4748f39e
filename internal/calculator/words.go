package calculator

import (
	"strconv"
	"strings"
)

// What the page says with numbers in it, or in several places. Everything else
// that it says stands in page.templ.

// words are the fields' names for people, in the contract's order.
var words = [...]viewField{
	{Label: "容量", Unit: "個", Hint: "バケットに入る数"},
	{Label: "補充", Unit: "個/秒", Hint: "1秒に増える数"},
	{Label: "今の残り", Unit: "個", Hint: "補充する前の数"},
	{Label: "経過", Unit: "秒", Hint: "前の補充からの時間"},
	{Label: "要求数", Unit: "個", Hint: "使いたい数"},
}

// timesWords are those of the field for a burst.
var timesWords = viewField{
	Label: "時刻の並び", Unit: "秒・なくてもよい",
	Hint: "続けて要求する時刻。「0 0 0.4 1.2」や「50回 0.1秒ごと」のように。200回まで。0秒のときに「今の残り」があるとして、毎回「要求数」を使います。",
}

func (r reason) japanese() string {
	switch r {
	case fine:
		return ""
	case missing:
		return "数を入れてください。"
	case notANumber:
		return "数として読めません。「10」や「0.5」のように書いてください。"
	case tooLarge:
		return "大きすぎます。1.7×10の308乗までの数にしてください。"
	case notPositive:
		return "0より大きい数にしてください。"
	default:
		return "0以上の数にしてください。"
	}
}

func (e timesError) japanese() string {
	switch e {
	case timesFine:
		return ""
	case timesNegative:
		return "時刻は0以上の数にしてください。"
	case timesTooLarge:
		return "大きすぎる時刻があります。"
	case timesTooMany:
		return "一度に試せるのは200回までです。"
	case timesBackward:
		return "時刻は早い順に並べてください。"
	default:
		return "読めない時刻があります。「0 0 0.4 1.2」か「50回 0.1秒ごと」のように書いてください。"
	}
}

// A result is the answer to the five fields, in words.
type result struct {
	Answer
	Headline string   // what comes of it
	Reason   string   // the comparison
	Sum      []string // what is available: the rule, its numbers, its result
	WaitSum  string   // how long to wait, or ""
	Wait     string   // as shown: rounded up
	Never    bool     // it can never be allowed
	Binary   bool     // what is missing does not show in the digits of what is there
}

func newResult(a Answer) *result {
	n := number
	r := &result{Answer: a, Wait: waitText(a.WaitSeconds), Never: !a.CanSatisfy}
	r.Sum = []string{
		"min(容量, 今の残り + 経過 × 補充)",
		"min(" + a.sum() + ")",
		n(a.Available),
	}
	have, want := n(a.Available), n(a.RequestCount)
	switch {
	case a.Allowed:
		r.Headline = want + "個を使い、" + n(a.Remaining) + "個が残ります。"
		r.Reason = have + " ≥ " + want + " なので、残りは " + have + " − " + want + " = " + n(a.Remaining)
		return r
	case a.Available >= a.RequestCount:
		r.Binary = true
		r.Sum[2] = want + " − " + n(a.Deficit)
		r.Reason = "わずかに " + n(a.Deficit) + " 足りません"
	default:
		r.Reason = have + " < " + want + " なので、" + n(a.Deficit) + " 足りません"
	}
	switch {
	case a.CanSatisfy:
		r.Headline = n(a.Deficit) + "個足りません。" + r.Wait + "待てば通ります。"
		r.WaitSum = n(a.Deficit) + " ÷ " + n(a.RefillRate) + " = " + r.Wait
		if up(a.WaitSeconds) != n(a.WaitSeconds) {
			r.WaitSum = n(a.Deficit) + " ÷ " + n(a.RefillRate) + " → " + r.Wait + "（切り上げ）"
		}
	case a.RequestCount > a.Capacity:
		r.Headline = "容量の" + n(a.Capacity) + "個を超えるので、いくら待っても通りません。"
	default:
		r.Headline = "補充がないので、待っても通りません。"
	}
	return r
}

// waitText is a wait for people, or "" if there is none.
func waitText(wait float64) string {
	switch {
	case wait == 0:
		return ""
	case wait == largest:
		return up(wait) + "秒以上" // no double is long enough
	default:
		return up(wait) + "秒"
	}
}

func verdictText(allowed bool) string {
	if allowed {
		return "許可"
	}
	return "拒否"
}

func verdictSign(allowed bool) string {
	if allowed {
		return "●"
	}
	return "○"
}

// waitCell is a wait as tables have it. never is that no wait is long enough.
func waitCell(wait string, never bool) string {
	switch {
	case wait != "":
		return wait
	case never:
		return "待っても通らない"
	default:
		return "なし"
	}
}

// title is what the page is called, as far as it depends on the question.
func (v view) title() string {
	if v.Result == nil {
		return "入力の直し"
	}
	return verdictText(v.Result.Allowed)
}

// described is the drawing for those who cannot see it.
func (b *burst) described() string {
	const most = 10 // requests; the table has them all
	var text strings.Builder
	text.WriteString("横は時間、縦は残りの個数。")
	for _, r := range b.Rows[:min(len(b.Rows), most)] {
		text.WriteString(r.At + "秒に" + verdictText(r.Allowed) + "、残り" + r.Remaining + "個")
		if r.Wait != "" {
			text.WriteString("、待ち時間" + r.Wait)
		}
		text.WriteString("。")
	}
	if len(b.Rows) > most {
		text.WriteString("続きは下の表にあります。")
	}
	for _, l := range b.Graph.Lanes {
		text.WriteString(l.Name + "は" + l.Says + "。")
	}
	return text.String()
}

// compared says how a relative differs from the token bucket.
func (k *kin) compared() string {
	text := "どの判定もトークンバケットと同じです。"
	switch {
	case k.More > 0:
		text = "トークンバケットより" + strconv.Itoa(k.More) + "回多く通します。"
	case k.Fewer > 0:
		text = "トークンバケットより" + strconv.Itoa(k.Fewer) + "回少なく通します。"
	case k.Differs:
		text = "回数は同じですが、通す時刻が違います。"
	}
	if k.Slowest != "" {
		text += "ただし、いちばん長い人は" + k.Slowest + "待たされます。"
	}
	if k.Window != "" {
		text += "窓の長さは" + k.Window + "です。"
	}
	return text
}

// tally says how many of a burst pass, and when.
func tally(passed []float64, of int) string {
	const most = 8
	if len(passed) == 0 {
		return "すべて拒否"
	}
	if len(passed) == of {
		return "すべて許可"
	}
	shown := make([]string, 0, most)
	for _, at := range passed[:min(len(passed), most)] {
		shown = append(shown, up(at))
	}
	text := strings.Join(shown, "、") + "秒"
	if len(passed) > most {
		text += "…"
	}
	return text
}
