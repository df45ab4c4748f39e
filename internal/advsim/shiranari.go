package advsim

// What can have happened, in the order in which a state lists it.
const (
	heardFog    flags = 1 << iota // the captain told of the fog and asked for help
	hasLantern                    // from the hut
	hasMatches                    // from the diner
	lit                           // the lantern burns
	heardKeeper                   // the landlady told of her father, who rang the bell
	hasMallet                     // from the lighthouse
	sawLight                      // a ship's light out at sea, seen from the hill
	toldLight                     // and the captain knows of it
	triedBell                     // its tongue is frozen
)

// Places and the people in them.
const (
	busStop    = "bus_stop"
	diner      = "diner"
	harbor     = "harbor"
	hut        = "hut"
	hill       = "hill"
	breakwater = "breakwater"
	bell       = "bell"

	captain = "captain"
	okami   = "okami"
)

// shiranari returns the story of one evening in Shiranari, a harbour town that
// is on no map, as the drift ice comes in.
//
// The way through: hear of the fog from the captain, fetch the lantern from the
// hut, matches from the diner and the mallet from the lighthouse, light the
// lantern, and ring the bell the way the captain said. Or take the last bus.
func shiranari() story {
	return story{
		flags: []string{
			"heard_fog", "has_lantern", "has_matches", "lit", "heard_keeper",
			"has_mallet", "saw_light", "told_light", "tried_bell",
		},
		start: busStop,
		opening: "一月の終わり。流氷をひと目見たくて、あなたは夕方のバスで、北の小さな港町、白鳴（しらなり）に着いた。\n" +
			"日はもう落ちて、沖から霧が寄せてきている。どこか遠くで、低く軋むような音がした。\n" +
			"帰りの最終バスまで、一時間と少し。まずは海の見えるところへ行ってみよう。港は、坂を下ってすぐだ。",
		places: []place{
			{
				id: busStop, name: "バス停", button: "バス停へ",
				ways: []string{harbor, diner, hill},
				text: []passage{
					{text: "通りの端の小さなバス停。色あせた時刻表に、最終は十九時十分とある。"},
					{when{unless: heardFog}, "向かいの食堂の窓が、橙色に明るい。坂を下れば港、上れば灯台の丘だ。"},
					{when{needs: heardFog}, "霧は通りまで上がってきて、街灯も、向かいの食堂の窓も、にじんで見える。"},
				},
			},
			{
				id: diner, name: "食堂しおさい", button: "食堂へ",
				ways: []string{busStop}, back: busStop,
				text: []passage{
					{text: "ストーブの上で、やかんが鳴っている。ほかに客はいない。"},
					{when{unless: heardFog}, "カウンターの奥で、おかみが鍋の火を弱め、こちらに会釈した。"},
					{when{needs: heardFog}, "おかみは洗いものの手を止めて、窓の外の霧を見ている。"},
				},
			},
			{
				id: harbor, name: "港", button: "港へ",
				ways: []string{hut, breakwater, busStop}, back: busStop,
				text: []passage{
					{text: "岸壁に船が三隻、身を寄せ合っている。その端に、一隻分の場所が空いていた。"},
					{when{unless: heardFog}, "年配の船長が、無線機を手に、じっと沖のほうを向いている。"},
					{when{needs: heardFog}, "船長は無線機に耳を当てたまま、小さくうなずいてみせた。"},
					{text: "脇には番屋があり、その先から、防波堤が霧の中へのびている。"},
				},
			},
			{
				id: hut, name: "番屋", button: "番屋へ",
				ways: []string{harbor}, back: harbor,
				text: []passage{
					{text: "網と浮き玉が積まれた番屋。裸電球がひとつ灯り、潮と油のにおいがする。"},
					{when{unless: hasLantern}, "棚に、古いランタンが置いてある。"},
					{when{needs: hasLantern}, "ランタンのあった棚に、丸い跡が残っている。"},
				},
			},
			{
				id: hill, name: "灯台の丘", button: "灯台の丘へ",
				ways: []string{busStop}, back: busStop,
				text: []passage{
					{text: "白い灯台が、霧に向かって光を回している。人が住まなくなって、もう長いらしい。沖のほうは、ここからならいくらか見通せそうだ。"},
					{when{unless: hasMallet}, "扉の脇に、柄の長い木槌が掛かっている。"},
				},
			},
			{
				id: breakwater, name: "防波堤", button: "防波堤へ",
				ways: []string{bell, harbor}, back: harbor,
				text: []passage{
					{text: "しぶきの凍りついた防波堤が、沖へのびている。波の音に混じって、氷の軋む音が聞こえる。"},
					{when{unless: lit}, "数歩先はもう、霧と闇の見分けがつかない。灯りなしで進むのは危ない。"},
					{when{needs: lit}, "ランタンの光が、足もとを丸く照らす。これなら先まで歩いていける。"},
				},
			},
			{
				id: bell, name: "防波堤の先", button: "防波堤の先へ",
				needs:  lit,
				closed: "数歩進んだところで、足が滑った。この先は灯りがないと、海と足もとの区別もつかない。",
				ways:   []string{breakwater}, back: breakwater,
				text: []passage{
					{text: "防波堤の突端に、低い鐘楼が立っている。青銅の鐘は、薄い氷をまとって静かだ。"},
					{text: "目の前は一面の霧で、どこまでが海か、どこからが氷か、もうわからない。"},
				},
			},
		},
		nouns: []noun{
			{id: busStop, at: busStop, names: []string{"バス停", "バスてい", "停留所", "バス乗り場", "通り"}},
			{id: diner, at: diner, names: []string{"食堂しおさい", "食堂", "しょくどう", "しおさい", "店", "定食屋", "飯屋"}},
			{id: harbor, at: harbor, names: []string{"港", "みなと", "岸壁", "がんぺき", "波止場", "漁港", "坂を下り", "坂を下る", "坂をおり", "坂を降り"}},
			{id: hut, at: hut, names: []string{"番屋", "ばんや", "小屋", "漁師小屋"}},
			{id: hill, at: hill, names: []string{"灯台の丘", "灯台のある丘", "灯台", "燈台", "とうだい", "とうだいのおか", "丘", "坂を上り", "坂を上る", "坂を上が", "坂を登る", "坂を登り", "坂をのぼ"}},
			{id: breakwater, at: breakwater, names: []string{"防波堤", "ぼうはてい", "堤防"}},
			{id: bell, at: bell, names: []string{
				"防波堤の先", "防波堤の先端", "防波堤の突端", "防波堤のはし", "防波堤の端", "防波堤の奥", "ぼうはていのさき",
				"堤防の先", "突端", "先端", "鐘楼", "しょうろう",
			}},
			{id: captain, at: harbor, lives: true, names: []string{"船長", "せんちょう", "キャプテン", "おじさん", "おじいさん"}},
			{id: okami, at: diner, lives: true, names: []string{
				"おかみ", "女将", "お上さん", "店の人", "店主", "おばさん", "食堂の人", "食堂のおかみ",
			}},
			{id: "fog", names: []string{"霧", "きり", "海霧", "濃霧", "もや"}},
			{id: "ice", names: []string{"流氷", "りゅうひょう", "氷", "こおり"}},
			{id: "sea", at: harbor, names: []string{"海", "うみ", "沖", "おき", "沖のほう", "水平線", "オホーツク海", "オホーツク"}},
			{id: "ship", lives: true, names: []string{"船", "ふね", "舟", "ときわ丸", "第八ときわ丸", "戻らない船", "漁船", "兄弟"}},
			{id: "light", names: []string{"沖の灯", "沖の灯り", "沖のあかり", "沖の明かり", "沖の光", "船の灯", "船の灯り", "船のあかり", "船の明かり", "灯", "光", "ひかり"}},
			{id: "lantern", names: []string{"ランタン", "ランプ", "カンテラ", "灯り", "明かり", "あかり"}},
			{id: "matches", names: []string{"マッチ", "マッチ箱"}},
			{id: "fire", names: []string{"火"}},
			{id: "mallet", names: []string{"木槌", "きづち", "槌", "つち", "ハンマー"}},
			{id: "bell_itself", at: bell, names: []string{"鐘", "かね", "霧鐘", "ベル", "釣り鐘"}},
			{id: "rope", names: []string{"綱", "つな", "鐘の綱", "ロープ", "紐", "ひも"}},
			{id: "three", names: []string{"三つ", "みっつ", "3つ", "三回", "3回", "三度", "3度", "三つずつ", "3つずつ", "三回ずつ", "3回ずつ"}},
			{id: "breath", names: []string{"ひと息", "一息", "ひといき", "間", "一拍"}},
			{id: "once", names: []string{"一つだけ", "ひとつだけ", "一回だけ", "一度だけ", "1回だけ", "1度だけ", "一つ", "ひとつ", "一回", "1回", "一度"}},
			{id: "nonstop", names: []string{"休まず", "休みなく", "やすまず", "続けて", "つづけて", "ずっと", "何度も", "何回も", "たくさん"}},
			{id: "bus", at: busStop, lives: true, names: []string{"バス", "最終バス", "最終", "終バス"}},
			{id: "timetable", names: []string{"時刻表", "じこくひょう"}},
			{id: "radio", names: []string{"無線機", "無線", "むせん"}},
			{id: "food", names: []string{"ごはん", "ご飯", "食事", "たら汁", "汁", "料理", "夕飯", "定食"}},
		},
		acts: []act{
			// At the bus stop.
			{
				label: "最終バスに乗る", at: busStop,
				says: []saying{
					{verbs: ride | leave | goTo, about: []string{"bus"}},
					{verbs: ride | leave},
				},
				tellings: []telling{
					{
						when: when{unless: heardFog},
						text: "最終バスまでは、まだ間がある。ここまで来たのだから、先に海を見ておきたい。",
					},
					{
						when: when{needs: heardFog}, offered: true, ends: "bus",
						text: "扉が閉まり、バスは坂を上りはじめた。客はほかにいない。",
						more: []passage{
							{when{needs: hasLantern}, "借りたものは、食堂の軒先にそっと置いてきた。"},
							{when{needs: hasMallet, unless: hasLantern}, "借りたものは、食堂の軒先にそっと置いてきた。"},
							{text: "峠の手前で、霧が切れた。暗い海の上に、白い線が一本、どこまでものびている。流氷だ。見たかったものは、これで見たことになる。"},
							{text: "そのとき、遠くで鐘が鳴った。三つ。ひと息おいて、また三つ。誰かが、あの防波堤を歩いていったのだ。"},
							{text: "あなたは冷たい窓に額を寄せ、聞こえなくなるまで、鐘の音を数えていた。"},
							{text: "――終わり「最終バス」"},
						},
					},
				},
			},
			{
				label: "時刻表を見る", at: busStop,
				says: []saying{{verbs: look | bare, about: []string{"timetable"}}},
				tellings: []telling{
					{
						when: when{unless: heardFog}, offered: true,
						text: "最終は十九時十分。そのあとの欄は、明日の朝まで白い。",
					},
					{text: "最終は十九時十分。もう、そう遠くない。"},
				},
			},

			// In the diner.
			{
				label: "おかみに話しかける", at: diner, to: okami,
				says: []saying{{verbs: talk}, {verbs: bare, about: []string{okami}}},
				tellings: []telling{
					{
						when: when{unless: heardFog}, offered: true,
						text: "「いらっしゃい。流氷を見に？　それなら、港の船長に聞くのがいちばんですよ。今夜はそわそわして、ちっとも座らないけれど」",
					},
					{
						when: when{needs: lit}, offered: true,
						text: "「足もとに気をつけてね。冬の防波堤は、よく滑るから」",
					},
					{
						when: when{needs: hasLantern, unless: hasMatches}, offered: true,
						text: "「そのランタン、番屋のでしょう。火がいるのね」おかみは、もうエプロンのポケットを探っている。",
					},
					{
						offered: true,
						text:    "「ときわ丸の子たち、昼もうちで食べていったんですよ」おかみは、伏せた茶碗をふたつ、きれいに並べなおした。",
					},
				},
			},
			{
				label: "鐘の話を聞く", at: diner, to: okami,
				says: []saying{
					{verbs: talk | bare, about: []string{"bell_itself"}, also: []string{"fog"}},
					{verbs: talk | bare, about: []string{hill}},
					{verbs: talk | bare, about: []string{"mallet"}, also: []string{"bell_itself"}},
				},
				tellings: []telling{
					{
						when: when{unless: heardFog},
						text: "「防波堤の鐘ね。もう何年も、鳴るのを聞いていないわ」おかみは、それきり鍋のほうを向いてしまった。",
					},
					{
						when: when{needs: heardFog, unless: heardKeeper}, offered: true, sets: heardKeeper,
						text: "「あの鐘を、打つんですか」おかみの手が止まった。\n" +
							"「父が灯台守をしていたころは、霧の晩は夜どおし打っていたんですよ。冬は中の舌（ぜつ）が凍るから、木槌で外からね。その木槌なら、いまも灯台の扉の脇に掛かっているはず」",
					},
					{
						when: when{unless: hasMallet}, offered: true,
						text: "「木槌なら、灯台の扉の脇。柄に、父の字で『霧鐘』と彫ってあるから、すぐわかりますよ」",
					},
					{text: "「あの鐘の音を、ひさしぶりに聞けるのね」おかみは、窓を少しだけ開けた。"},
				},
			},
			{
				label: "マッチを分けてもらう", at: diner, to: okami,
				says: []saying{
					{verbs: take | talk, about: []string{"matches"}, also: []string{"fire", "lantern"}},
					{verbs: take, about: []string{"fire"}, also: []string{"lantern"}},
				},
				tellings: []telling{
					{
						when: when{unless: hasLantern},
						text: "「マッチ？　ありますけど、火をつけるものがないでしょう」おかみは笑った。",
					},
					{
						when: when{needs: hasLantern, unless: hasMatches}, offered: true, sets: hasMatches,
						text: "「これ、湿らせないようにね」おかみはエプロンのポケットから、店の名の入ったマッチ箱を出してくれた。",
					},
					{text: "マッチは、もうコートのポケットに入っている。"},
				},
			},
			{
				label: "何か食べる", at: diner,
				says: []saying{
					{verbs: eat, also: []string{"food"}},
					{verbs: take | bare, about: []string{"food"}, also: []string{okami}},
				},
				tellings: []telling{
					{text: "たら汁を一杯もらった。体の芯が、ゆっくりほどけていく。「お代は、またいらしたときに」と、おかみは受け取らなかった。"},
				},
			},

			// At the harbour.
			{
				label: "船長に話しかける", at: harbor, to: captain,
				says: []saying{{verbs: talk}, {verbs: bare, about: []string{captain}}, {verbs: talk | bare, about: []string{"ship"}}},
				tellings: []telling{
					{
						when: when{unless: heardFog}, offered: true,
						text: "「流氷を見に来たのか。いい晩に来た、と言いたいところだがな」船長は、岸壁の空いた場所を目で示した。\n" +
							"「ときわ丸がまだ戻らん。若い兄弟の船だ。この霧の中で、港の口を探しとるんだろう」",
					},
					{
						when: when{unless: hasLantern}, offered: true,
						text: "「まず番屋だ。棚のランタンを持っていけ」",
					},
					{
						when: when{needs: hasMatches, unless: lit}, offered: true,
						text: "「火をつけてから行け。防波堤は、足もとが見えんぞ」",
					},
					{
						when: when{unless: lit}, offered: true,
						text: "「ランタンには火がいる。食堂のおかみなら、マッチを持っとるはずだ」",
					},
					{
						when: when{needs: heardKeeper, unless: hasMallet}, offered: true,
						text: "「木槌のことは、おかみに聞いたか。灯台の扉の脇だ」",
					},
					{
						when: when{unless: hasMallet}, offered: true,
						text: "「鐘のことなら、おかみにも聞いてみろ。あの人の親父さんが、長いこと打っとった」",
					},
					{
						offered: true,
						text:    "「三つ打って、ひと息おく。頼んだぞ」船長はそう言って、また沖を向いた。",
					},
				},
			},
			{
				label: "霧の話を聞く", at: harbor, to: captain,
				says: []saying{
					{verbs: talk | bare, about: []string{"fog"}, also: []string{"sea", "ice", "ship", "bell_itself"}},
				},
				tellings: []telling{
					{
						when: when{unless: heardFog}, offered: true, sets: heardFog,
						text: "「氷に蓋をされる前に、海は一度だけ、大きく息を吐く。それがこの霧だ」船長は沖から目を離さない。\n" +
							"「こうなると、灯台の光も届かん。頼りになるのは音だ。防波堤の先に、霧の鐘がある。三つ打って、ひと息おく。白鳴の船なら、それで港の口がわかる」\n" +
							"無線機が、ざらりと鳴った。\n" +
							"「わしはここを離れられん。すまんが、代わりに鐘を打ってきてくれ。番屋のランタンを使うといい」",
					},
					{
						offered: true,
						text:    "「三つ打って、ひと息おく。急がんでいい。乱れると、どこの鐘だかわからなくなる」",
					},
				},
			},
			{
				label: "鐘が凍っていたと話す", at: harbor, to: captain,
				says: []saying{
					{verbs: talk | bare, about: []string{"bell_itself"}, also: []string{"ice", "rope"}},
					{verbs: talk | bare, about: []string{"mallet"}, also: []string{"bell_itself"}},
				},
				tellings: []telling{
					{
						when: when{unless: heardFog},
						text: "「防波堤の先に、霧の鐘がある。こんな霧の晩に打つ鐘だ」船長は、そこで言葉を切った。",
					},
					{
						when: when{needs: triedBell, unless: hasMallet}, offered: true,
						text: "「舌が凍ったか。なら、外から打つしかない。灯台の扉の脇に、昔の木槌があるはずだ」",
					},
					{text: "「三つ打って、ひと息おく。それだけだ」"},
				},
			},
			{
				label: "沖の灯のことを話す", at: harbor, to: captain,
				says: []saying{
					{verbs: talk, about: []string{"light"}, also: []string{"sea", "ship", "hill"}},
				},
				tellings: []telling{
					{
						when: when{needs: heardFog | sawLight, unless: toldLight}, offered: true, sets: toldLight,
						text: "「灯が見えた？　行ったり来たりしていたか。間違いない、ときわ丸だ」\n" +
							"船長は無線機を握りなおした。「鐘を待て。いいか、鐘が鳴るまで動くな」同じ言葉を、ゆっくり三度くり返した。",
					},
					{
						when: when{needs: toldLight},
						text: "「返事はない。だが、声は届いた。そう思うことにしとる」",
					},
					{
						when: when{needs: sawLight},
						text: "「沖に灯が？」船長の目が、霧のほうへ動いた。「ときわ丸かもしれん。この霧で、港の口を見失っとるんだ」",
					},
					{text: "「灯か。ここからでは、何も見えん」船長は首を横に振った。"},
				},
			},
			{
				label: "流氷の話を聞く", at: harbor, to: captain,
				says: []saying{{verbs: talk | bare, about: []string{"ice"}, also: []string{"sea"}}},
				tellings: []telling{
					{text: "「海を閉ざしに来ると言う者もいる。わしには、休ませに来るように見えるがな」"},
				},
			},
			{
				label: "海を見る", at: harbor,
				says: []saying{
					{verbs: look, about: []string{"sea"}, also: []string{"ice", "fog", "light", "ship"}},
					{verbs: look, about: []string{"ice"}},
					{verbs: look, about: []string{"fog"}},
				},
				tellings: []telling{
					{
						when: when{unless: heardFog}, offered: true,
						text: "霧が壁のように立って、沖を隠している。ここからでは、流氷は見えない。もっと高いところなら、あるいは。",
					},
					{text: "霧はいっそう濃くなっている。沖は、見えるというより、聞こえるだけだ。"},
				},
			},
			{
				label: "船長の様子を見る", at: harbor,
				says: []saying{
					{verbs: look, about: []string{captain}, also: []string{"around", "radio"}},
					{verbs: look, about: []string{"radio"}},
				},
				tellings: []telling{
					{text: "日に焼けた顔に、深い皺。手袋をしたまま、無線機のつまみを、少しずつ回している。"},
				},
			},

			// In the hut.
			{
				label: "ランタンを借りる", at: hut,
				says: []saying{{verbs: take, about: []string{"lantern"}}, {verbs: take}},
				tellings: []telling{
					{
						when: when{unless: heardFog},
						text: "よく手入れされたランタンだ。誰かの道具だろう。黙って持ち出すわけにはいかない。",
					},
					{
						when: when{needs: heardFog, unless: hasLantern}, offered: true, sets: hasLantern,
						text: "ランタンを棚から下ろす。油は入っている。あとは、火をつけるものがあればいい。",
					},
					{text: "ランタンは、もう手に提げている。"},
				},
			},

			// On the hill.
			{
				label: "沖を眺める", at: hill,
				says: []saying{
					{verbs: look, about: []string{"sea"}, also: []string{"ice", "fog", "light", "ship"}},
					{verbs: look, about: []string{"ice"}},
					{verbs: look, about: []string{"light"}, also: []string{"ship"}},
				},
				tellings: []telling{
					{
						when: when{unless: sawLight}, offered: true, sets: sawLight,
						text: "霧の切れ間に、白い帯がのぞいた。流氷だ。思っていたより、ずっと近い。\n" +
							"その手前で、小さな灯がひとつ、行ったり来たりしている。船が、港の口を探しているようだ。やがて霧が閉じて、どちらも見えなくなった。",
					},
					{text: "霧はもう切れない。けれど氷の軋む音は、さっきより近い。"},
				},
			},
			{
				label: "木槌を取る", at: hill,
				says: []saying{{verbs: take, about: []string{"mallet"}, also: []string{hill}}, {verbs: take}},
				tellings: []telling{
					{
						when: when{unless: heardFog},
						text: "使いこまれた木槌だ。何のための道具かもわからない。そのままにしておこう。",
					},
					{
						when: when{needs: heardFog, unless: hasMallet}, offered: true, sets: hasMallet,
						text: "壁から外すと、ずしりと重い。柄に「霧鐘」と彫ってある。角の取れた、古い字だ。",
					},
					{text: "木槌は、もう手の中にある。"},
				},
			},

			// At the bell.
			{
				label: "鐘の綱を引く", at: bell,
				says: []saying{{verbs: pull, also: []string{"rope", "bell_itself"}}},
				tellings: []telling{
					{
						when: when{needs: hasMallet},
						text: "綱は凍りついて、びくともしない。けれど、手には木槌がある。",
					},
					{
						when: when{unless: triedBell}, offered: true, sets: triedBell,
						text: "鐘から下がる綱を引く。音はしない。中の舌（ぜつ）が、縁に凍りついている。外から打つものがあれば、鳴らせそうだ。",
					},
					{
						when: when{needs: heardKeeper},
						text: "綱は動かない。おかみの言っていた、灯台の木槌がいる。",
					},
					{text: "綱は動かない。外から打つものを探そう。船長かおかみなら、何か知っているかもしれない。"},
				},
			},
			{
				label: "鐘を打つ", at: bell,
				says: []saying{
					{verbs: strike | use, about: []string{"bell_itself"}, also: []string{"mallet"}},
					{verbs: strike | use, about: []string{"mallet"}},
					{verbs: strike},
				},
				tellings: []telling{
					{
						when: when{unless: hasMallet},
						text: "手袋をした拳で叩いてみる。氷の粉が散っただけで、鐘は鳴らない。打つ道具がいる。",
					},
					{text: "木槌を構える。さて、どう打とうか。船長は、打ち方も教えてくれたはずだ。"},
				},
			},
			{
				label: "休まず打ちつづける", at: bell,
				says: []saying{
					{verbs: strike, about: []string{"nonstop"}, also: []string{"bell_itself", "mallet"}},
				},
				tellings: []telling{
					{when: when{unless: hasMallet}, text: "打つ道具がない。素手では、この鐘は鳴らない。"},
					{
						offered: true,
						text:    "音と音が霧の中で重なり、どこで鳴っているのか、自分でもわからなくなった。沖からの返事はない。船長は、何と言っていただろう。",
					},
				},
			},
			{
				label: "三つ打って、ひと息おく", at: bell,
				says: []saying{
					{verbs: strike, about: []string{"three"}, also: []string{"bell_itself", "mallet", "breath", "nonstop"}},
				},
				tellings: []telling{
					{when: when{unless: hasMallet}, text: "打つ道具がない。素手では、この鐘は鳴らない。"},
					{
						when: when{needs: hasMallet}, offered: true, ends: "bell",
						text: "一つ、二つ、三つ。ひと息おいて、また三つ。鐘の音は、霧をまっすぐに抜けていく。",
						more: []passage{
							{text: "どれくらい打っただろう。沖で、汽笛が短く応えた。"},
							{when{needs: toldLight}, "鐘を待て、という船長の声は、ちゃんと届いていたのだ。"},
							{text: "霧の底から灯がひとつ、ゆっくりと浮かび上がる。第八ときわ丸は鐘の前を通り、港へ入っていった。甲板で、若い影がふたつ、大きく手を振っている。"},
							{text: "港に戻ると、船長は何も言わず、あなたの手を両手で握った。"},
							{when{needs: heardKeeper}, "エプロン姿のおかみも、岸壁に出ていた。「父の鐘だわ」と、何度もうなずいている。"},
							{text: "最終バスは、とうに出たあとだった。その夜は、食堂の二階に泊めてもらった。"},
							{text: "夜明け前に目を覚ますと、波の音が消えていた。窓を開ける。霧は晴れ、見わたすかぎり、海が白い。流氷は夜のうちに、音もなく岸に着いていた。"},
							{text: "――終わり「霧の鐘」"},
						},
					},
				},
			},
			{
				label: "一つだけ打つ", at: bell,
				says: []saying{
					{verbs: strike, about: []string{"once"}, also: []string{"bell_itself", "mallet"}},
				},
				tellings: []telling{
					{when: when{unless: hasMallet}, text: "打つ道具がない。素手では、この鐘は鳴らない。"},
					{
						offered: true,
						text:    "澄んだ音がひとつ、霧に吸いこまれた。あとには、氷の軋む音だけが残る。これでは、合図だと気づいてもらえない。",
					},
				},
			},
			{
				label: "鐘を見る", at: bell,
				says: []saying{{verbs: look, about: []string{"bell_itself"}, also: []string{"rope"}}},
				tellings: []telling{
					{text: "ひと抱えほどの青銅の鐘だ。縁にはぐるりと氷がつき、中から綱が一本下がっている。"},
				},
			},

			// Anywhere.
			{
				label: "ランタンに火をつける",
				says: []saying{
					{verbs: kindle | use, about: []string{"lantern"}, also: []string{"fire", "matches", "light"}},
					{verbs: kindle | use, about: []string{"matches"}, also: []string{"fire"}},
					{verbs: kindle, also: []string{"fire", "light"}},
				},
				tellings: []telling{
					{when: when{unless: hasLantern}, text: "灯りになるものを、まだ持っていない。"},
					{when: when{unless: hasMatches}, text: "ランタンに火を入れるには、マッチがいる。食堂なら、分けてもらえるかもしれない。"},
					{
						when: when{needs: hasLantern | hasMatches, unless: lit}, offered: true, sets: lit,
						text: "マッチを擦る。芯は一度くすぶり、それから炎が落ち着いた。手もとに、小さな明るい部屋がひとつできたようだ。",
					},
					{text: "ランタンは、もう灯っている。"},
				},
			},
		},
		hints: []passage{
			{when{unless: heardFog}, "まずは港へ行って、船長に霧の話を聞いてみよう。"},
			{when{unless: hasLantern}, "防波堤の先の鐘を打ちに行く。その前に、番屋でランタンを借りよう。"},
			{when{unless: hasMatches}, "ランタンには火がいる。食堂でマッチを分けてもらえるかもしれない。"},
			{when{unless: lit}, "ランタンに火をつければ、防波堤の先まで歩いていける。"},
			{when{needs: heardKeeper, unless: hasMallet}, "凍った鐘を打つには、灯台の丘にある木槌がいる。"},
			{when{needs: triedBell, unless: hasMallet}, "鐘は凍っていた。どうやって打つのか、食堂のおかみか船長に聞いてみよう。"},
			{when{unless: hasMallet}, "防波堤の先へ行って、鐘を確かめよう。鐘のことは、食堂のおかみも知っているようだ。"},
			{text: "あとは防波堤の先で、船長に教わったとおりに鐘を打つだけだ。三つ打って、ひと息おく。"},
		},
		carried: []passage{
			{when{needs: hasLantern, unless: lit}, "ランタン"},
			{when{needs: lit}, "火の灯ったランタン"},
			{when{needs: hasMatches}, "マッチ"},
			{when{needs: hasMallet}, "木槌"},
		},
		nothing: "手には何も持っていない。コートのポケットに、帰りの切符が一枚あるだけだ。",
		over:    "物語はここで終わっています。はじめからやり直せば、また別の夜になるかもしれません。",
	}
}
