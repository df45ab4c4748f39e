package advsim

import "testing"

// What players write, and what it comes to: the label of an act, a place in
// angle brackets, or one of the senses in square brackets.
func TestUnderstood(t *testing.T) {
	e := newEngine(shiranari())
	for _, group := range []struct {
		at    string
		want  string
		texts []string
	}{
		// Ways.
		{hill, "<harbor>", []string{"港まで歩く"}},
		{busStop, "<harbor>", []string{
			"海へ行く", "海を見に行く", "坂を下る",
			"港", "港へ", "港へ行く", "港に行く", "港まで歩く", "港に行きたい", "港へ行ってみよう", "港に向かいます", "みなとへいく", "ミナトヘイク",
			"ﾐﾅﾄﾍｲｸ", "港　へ　行く！", "港へ行ってください", "港の方へ歩いていきます", "とりあえず港に行ってみる", "私は港へ行く",
			"港へ行かなければならない", "港に行かないと", "岸壁へ行く", "船長のところへ行く", "坂を下りて港へ行こう",
		}},
		{busStop, "<diner>", []string{"食堂に入る", "食堂しおさいへ行く", "店に入りたい", "おかみのところに行く", "しょくどうへ"}},
		{busStop, "<hill>", []string{"灯台へ行く", "丘に登る", "灯台の丘まで歩く", "とうだいにいきます", "丘へ上がる"}},
		{harbor, "<hut>", []string{"番屋へランタンを取りに行く", "番屋に入る", "小屋へ行く", "ばんやへ"}},
		{harbor, "<breakwater>", []string{"防波堤を歩く", "堤防へ行く", "防波堤に出る"}},
		{breakwater, "<bell>", []string{"防波堤の先へ進む", "先端まで歩く", "先へ進む", "進む", "鐘のところへ行く", "鐘楼へ向かう"}},
		{hut, "<harbor>", []string{"港に戻りたい", "港へ帰る", "港へもどる"}},
		{hut, "[back]", []string{"戻る", "外へ出る", "もどりたい", "番屋を出る", "引き返す", "番屋から出ます", "帰る"}},

		// Looking.
		{harbor, "[look]", []string{
			"見る", "あたりを見回す", "まわり", "周りを見てください", "あたりを見たい", "みる", "辺りを調べる", "様子を見る", "ここはどこ？",
			"港を見る", "景色を眺める", "見回す",
		}},
		{harbor, "海を見る", []string{"海を眺める", "沖を見たい", "うみをみる", "流氷を見る", "流氷が見たい"}},
		{hill, "沖を眺める", []string{"海を見る", "沖の灯を見る", "流氷を探す", "沖をみわたす"}},
		{bell, "鐘を見る", []string{"鐘を調べる", "鐘をよく見る"}},

		// Talking.
		{harbor, "霧の話を聞く", []string{
			"船長に霧の話を聞く", "船長に霧について聞く", "霧について", "霧のこと", "霧について教えて", "霧のことを教えてください", "きりのはなしをきく",
			"霧について質問する", "船長さん、霧の話を聞かせてください", "霧って何？", "霧とは？", "センチョウニキリノハナシヲキク", "霧はどうして出るのか尋ねる",
			"霧の話をしてくれませんか", "船長から霧の話を聞く", "すみません、霧の話を聞かせてもらえませんか", "霧の話",
		}},
		{harbor, "船長に話しかける", []string{
			"話しかける", "船長と話す", "船長に声をかける", "せんちょうにはなしかける", "船長に挨拶する", "こんばんは", "船長、こんばんは",
			"船長に話しかけてみたいです", "船の話を聞く", "ときわ丸について聞く", "何をすればいいか船長に聞く", "話を聞く",
		}},
		{harbor, "鐘が凍っていたと話す", []string{"鐘の話を聞く", "鐘のことを伝える", "鐘が凍っていたことを船長に報告する", "木槌について聞く"}},
		{harbor, "沖の灯のことを話す", []string{"船長に沖の灯のことを伝える", "灯のことを話す", "沖の光について報告する", "灯台の沖の灯を知らせる"}},
		{harbor, "流氷の話を聞く", []string{"流氷について聞く", "船長に氷のことを尋ねる"}},
		{diner, "おかみに話しかける", []string{"女将と話す", "おかみさんに話しかける", "お上さんに声をかける"}},
		{diner, "鐘の話を聞く", []string{"鐘について聞く", "おかみに鐘のことを聞く", "木槌のことを聞く", "灯台の話を聞きたい"}},

		// Things.
		{diner, "マッチを分けてもらう", []string{
			"マッチをください", "マッチをもらう", "おかみからマッチを借りる", "まっちをもらえませんか", "マッチが欲しい", "火を借りる", "ﾏｯﾁを分けて下さい",
			"おかみにマッチを貸してと話す",
		}},
		{hut, "ランタンを借りる", []string{"ランプを拾って", "ランタンを取る", "ランタンを持っていく", "らんたんをとる", "ランタンを手に取ります", "棚のランタンを取る", "灯りを借りたい"}},
		{hill, "木槌を取る", []string{"木槌を拾う", "きづちを持つ", "ハンマーを手に入れる", "木槌を借りていこう"}},
		{diner, "ランタンに火をつける", []string{
			"ランタンを使う", "ランプを点ける", "ランタンを灯す", "マッチを使う", "マッチでランタンに火をつける", "火をつける", "マッチを擦る",
			"らんたんにひをつける", "ランタンをつけてください", "灯りをともす", "ランタンを点けなきゃ",
		}},
		{bell, "鐘の綱を引く", []string{"綱を引く", "ロープを引っ張る", "ひもをひく"}},
		{bell, "鐘を打つ", []string{"鐘を鳴らす", "木槌で鐘を叩く", "かねをならす", "木槌を使う", "木槌を使って鐘を打つ"}},
		{bell, "三つ打って、ひと息おく", []string{"鐘を三回打つ", "三つ打つ", "3回鳴らす", "３回たたく", "木槌で鐘を三度叩く", "三つ打ってひと息"}},
		{bell, "休まず打ちつづける", []string{"鐘を何度も打つ", "続けて打つ"}},
		{bell, "一つだけ打つ", []string{"鐘を一回打つ", "一度だけ鳴らす"}},
		{busStop, "最終バスに乗る", []string{"バスに乗る", "最終バスで帰る", "バスに乗りたい", "帰る"}},
		{busStop, "時刻表を見る", []string{"時刻表を調べる"}},
		{diner, "何か食べる", []string{"食事をする", "ご飯を食べたい", "たら汁を注文する"}},

		// Asking.
		{harbor, "[help]", []string{"ヘルプ", "どうすればいい", "何ができる？", "なにをすればいいですか", "わからない", "ヒントをください", "HELP", "次はどこへ行けばいい？"}},
		{harbor, "[carried]", []string{"持ち物", "持ち物を見る", "荷物を確認する", "何を持っている？"}},
	} {
		for _, text := range group.texts {
			if got := means(e, group.at, text); got != group.want {
				t.Errorf("at %s, 「%s」 is %s, want %s", group.at, text, got, group.want)
			}
		}
	}
}

// What must not be taken for an act or a way.
func TestNotTakenForAMove(t *testing.T) {
	e := newEngine(shiranari())
	for at, texts := range map[string][]string{
		busStop: {
			"港へ行かない", "港には行きたくない", "港へ行くな", "港はどこですか", "港に行ったらどうなる", "昨日港へ行った", "船長が港へ行く", "バスに乗らない",
			"猫が港へ行く", "港へ行ったことがある", "バスは何時", "海", "ねこ", "あああああ", "1234", "バスが来る", "もし港へ行くなら",
		},
		harbor: {
			"船長に話しかけない", "霧が晴れた", "霧の話はやめよう", "船長の家族の昔の写真", "霧が出てきた", "船長を殴る", "海に飛びこむ", "船を盗んで逃げる",
			"霧の話を聞いたことがある", "船長は霧の話を聞くだろう", "船長はどこ", "船長に明日の天気を聞く", "猫が船長に霧の話を聞く",
		},
		bell: {
			"鐘を打たない", "鐘を壊す", "三つ打つのはやめる", "三つ数える", "鐘を三つ打つべきか", "鐘を打つと言った船長", "誰かが鐘を三回打つ",
			"三つ", "鐘を三回打ちたくない", "鐘を打つな",
		},
		hut:   {"ランタンを取らない", "ランタンを壊す", "ランタンを取ったらどうなる", "船長がランタンを取る"},
		diner: {"マッチはいらない", "おかみを怒らせる", "ランタンに火をつけない", "店に火をつける", "おかみに火をつける"},
	} {
		for _, text := range texts {
			switch e.understand(at, text).sense {
			case doAct, goPlace, goBack:
				t.Errorf("at %s, 「%s」 is taken for %s", at, text, means(e, at, text))
			}
		}
	}
}

// What is not done is answered according to why.
func TestWhyNot(t *testing.T) {
	e := newEngine(shiranari())
	for text, want := range map[string]sense{
		"":            nothingSaid,
		"！？":          nothingSaid,
		"番屋へ行かない":     refusedToAct,
		"番屋へ行ったらどうなる": onlySupposed,
		"ランタンを借りる":    elsewhere,
		"船長に木槌を見せて番屋の話を聞く": tooMuch,
		"歩いていく": goUnsaid,
		"あいうえお": notUnderstood,
	} {
		if got := e.understand(harbor, text).sense; got != want {
			t.Errorf("「%s」 is %d, want %d", text, got, want)
		}
	}
}

// Every button typed is the button pressed.
func TestLabelsAreUnderstood(t *testing.T) {
	e := newEngine(shiranari())
	for _, a := range e.story.acts {
		for _, p := range e.story.places {
			if got := means(e, p.id, a.label); a.isAt(p.id) && got != a.label {
				t.Errorf("at %s, 「%s」 is %s", p.id, a.label, got)
			}
		}
	}
	for _, p := range e.story.places {
		for _, text := range []string{p.id, p.name, p.button, p.name + "へ行く"} {
			if got, ok := e.understandPlace(busStop, text); !ok || got != p.id {
				t.Errorf("the way to 「%s」 leads to %q, want %s", text, got, p.id)
			}
		}
	}
	for _, text := range []string{"", "どこか", "港ではない", "港はどこ", "東京", "船長", "港と番屋"} {
		if got, ok := e.understandPlace(busStop, text); ok {
			t.Errorf("the way to 「%s」 leads to %s", text, got)
		}
	}
}

// Wordings are the same move: the same reply to the letter.
func TestWordingsBringTheSameReply(t *testing.T) {
	e := newEngine(shiranari())
	raw := at(t, e, harbor, 0)
	want := play(t, e, raw, "say", "霧の話を聞く")
	for _, text := range []string{"船長に霧の話を聞く", "キリノコトヲオシエテ", "霧について教えてください。"} {
		got := play(t, e, raw, "say", text)
		if got.Text != want.Text || string(got.State) != string(want.State) {
			t.Errorf("「%s」 is answered by %q, want %q", text, got.Text, want.Text)
		}
	}
}

// means names a meaning in one word.
func means(e *engine, at, text string) string {
	m := e.understand(at, text)
	switch m.sense {
	case doAct:
		return m.act.label
	case goPlace:
		return "<" + m.place + ">"
	case goBack:
		return "[back]"
	case lookAround:
		return "[look]"
	case askHelp:
		return "[help]"
	case askCarried:
		return "[carried]"
	}
	return "[nothing]"
}
