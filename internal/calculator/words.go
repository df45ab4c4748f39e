package calculator

import "strings"

// What the page says with numbers in it. Everything else that it says stands in
// its template.

// words are the fields' names for people, in the contract's order.
var words = [...]viewField{
	{Label: "容量", Unit: "個", Hint: "バケットに入る数"},
	{Label: "補充", Unit: "個/秒", Hint: "1秒に増える数"},
	{Label: "今の残り", Unit: "個", Hint: "補充する前の数"},
	{Label: "経過", Unit: "秒", Hint: "前の補充からの時間"},
	{Label: "要求数", Unit: "個", Hint: "使いたい数"},
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
	Show     func(float64) string
}

func newResult(a Answer) *result {
	n := number
	r := &result{Answer: a, Wait: waitText(a.WaitSeconds), Never: !a.CanSatisfy, Show: number}
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
