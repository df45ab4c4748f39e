package japanese

// A deed is a kind of doing: verbs of one deed can stand for each other.
type deed int

const (
	noDeed deed = iota
	unknownDeed
	goes
	leaves
	comes
	looks
	searches
	reads
	takes
	receives
	gives
	shows
	places
	uses
	kindles
	quenches
	strikes
	pulls
	pushes
	opens
	closes
	eats
	drinks
	rides
	inquires
	tells
	greets
	listens
	knows
	thanks
	agrees
	writes
	waits
	rests
	sleeps
	sits
	stands
	touches
	warms
	throws
	breaks
	cuts
	digs
	cleans
	wears
	hides
	ties
	unties
	mends
	makes
	helps
	calls
	waves
	sings
	prays
	thinks
	counts
	pours
	buys
	pays
	returns
	shifts
	turns
	hangs
	rows
	fishes
	shouts
	follows
	stops
	isThere
	quits
	becomes
	does
	orders
	invites
	meets
	spreads
	stays
	entrusts
	grips
	refuses
	signals
	melts
	arrives
	smells
	delays
	rubs
	requests // お願いします
)

// kin are deeds that are close to each other: one may be meant by the other
// if nothing fits better.
var kin = [][]deed{
	{inquires, tells, greets, listens, calls},
	{takes, receives, buys},
	{takes, grips},
	{grips, touches},
	{rubs, kindles},
	{rubs, cleans},
	{rubs, touches},
	{melts, warms},
	{signals, shouts, waves},
	{delays, stops, waits},
	{arrives, sits},
	{looks, searches, reads},
	{eats, drinks, orders},
	{orders, receives},
	{opens, reads},
	{stays, waits},
	{entrusts, gives},
	{gives, shows, returns, places},
	{strikes, pushes},
	{pulls, shifts, turns},
	{waits, rests, sits},
	{kindles, uses},
	{touches, pushes},
	{mends, makes, ties},
	{shouts, calls},
	{agrees, helps},
	{places, hangs},
	{opens, unties},
}

// A verbEntry lists verbs of one deed in their plain form, in kanji and kana:
// those of five rows, those of one, and the nouns that する makes verbs of.
type verbEntry struct {
	deed    deed
	godan   string
	ichidan string
	suru    string
	fixed   string // words that do not bend
}

// verbs are the verbs that the reader knows. Where two are written alike in
// kana, the earlier is meant.
var verbs = []verbEntry{
	{goes,
		"行く いく 向かう むかう 歩く あるく 進む すすむ 渡る わたる 登る のぼる 上る 上がる あがる 走る はしる 入る はいる 寄る よる 立ち寄る たちよる 移る 急ぐ いそぐ くぐる 踏み出す 踏み込む 近づく ちかづく 近寄る 駆け寄る かけよる 潜る もぐる 巡る 辿る たどる 向う 赴く おもむく 参る まいる 会う あう ゆく 行ってくる",
		"訪ねる たずねていく 出かける でかける 出掛ける 訪れる おとずれる 駆ける かける 抜ける",
		"移動 訪問 お邪魔 前進 出発 直行 ダッシュ", ""},
	{leaves,
		"戻る もどる 帰る かえる 引き返す ひきかえす 去る さる 立ち去る たちさる 下る くだる 遠ざかる",
		"出る でる 離れる はなれる 降りる おりる 下りる 逃げる にげる",
		"退出 退散 撤退 引き返し", ""},
	{looks,
		"見回す みまわす 見渡す みわたす 見わたす 覗く のぞく 覗き込む のぞきこむ のぞき込む うかがう 窺う 見やる 仰ぐ 見守る みまもる 見送る みおくる 見下ろす みおろす 目をやる 目を凝らす 目をこらす",
		"見る みる 観る 眺める ながめる 見つめる みつめる 調べる しらべる 確かめる たしかめる 見上げる みあげる 目を向ける",
		"観察 確認 チェック 点検 観光 見学 調査 見物", ""},
	{searches, "探す さがす 捜す 探る さぐる 漁る あさる", "見つける みつける", "探索 捜索", ""},
	{reads, "読む よむ めくる", "読み上げる", "", ""},
	{takes,
		"取る とる 拾う ひろう 持つ もつ 持っていく 持って行く もっていく もって行く 取り出す とりだす 取り外す とりはずす 外す はずす 下ろす おろす 盗む ぬすむ 奪う うばう 持ち出す もちだす 運ぶ はこぶ 持ち帰る もちかえる 抜く 摘む 剥がす はがす 手に取る てにとる 担ぐ",
		"手に入れる てにいれる 持ち上げる もちあげる 拾い上げる 拾いあげる 取り上げる 集める あつめる 抱える かかえる 提げる さげる 抱き上げる 携える",
		"ゲット 入手 回収 拝借 手に", ""},
	{refuses, "断る ことわる 拒む", "", "拒否 お断り", ""},
	{signals, "合図を送る", "", "合図", ""},
	{melts, "溶かす とかす", "溶ける", "", ""},
	{arrives, "着く", "", "到着", ""},
	{smells, "嗅ぐ かぐ", "", "", ""},
	{delays, "遅らす おくらす", "遅らせる おくらせる", "", ""},
	{rubs, "擦る こする", "", "", ""},
	{grips, "つかむ 掴む 握る にぎる", "", "", ""},
	{receives,
		"もらう 貰う いただく 頂く 分けてもらう わけてもらう もらっていく 預かる あずかる 受け取る うけとる",
		"借りる かりる 借り受ける 分けてくれる くれる 譲り受ける",
		"", "ください 下さい くださいな ちょうだい 頂戴"},
	{buys, "買う かう", "買い求める", "購入", ""},
	{pays, "払う はらう 支払う しはらう", "", "支払い", ""},
	{gives, "渡す わたす 手渡す てわたす やる 差し出す さしだす 出す だす 貸す かす 譲る ゆずる", "あげる 上げる 届ける とどける さしあげる 差し上げる 勧める すすめる 預ける あずける 与える 分ける わける", "プレゼント 提供", ""},
	{shows, "示す しめす", "見せる みせる 掲げる かかげる", "", ""},
	{returns, "返す かえす", "", "返却", ""},
	{places, "置く おく 挟む はさむ しまう 仕舞う 残す のこす", "入れる いれる 載せる 乗せる のせる 据える 供える そなえる 添える 立てる", "", ""},
	{hangs, "吊るす つるす", "掛ける かける 下げる 吊り下げる", "", ""},
	{uses, "使う つかう 試す ためす", "用いる", "使用 利用", ""},
	{kindles,
		"灯す ともす 点す 燃やす もやす 焚く たく 照らす てらす",
		"つける 点ける 付ける 着ける",
		"点火 着火 点灯", ""},
	{quenches, "消す けす 吹き消す ふきけす", "", "消灯 消火", ""},
	{strikes,
		"打つ うつ 叩く たたく 敲く 鳴らす ならす 打ち鳴らす うちならす うち鳴らす 殴る なぐる ぶつ 小突く 突く 撞く ついて鳴らす 響かす",
		"打ち続ける 打ちつづける うちつづける 叩き続ける 鳴らし続ける 鳴らしつづける 叩きつける 打ち付ける 打ちつける",
		"ノック 連打", ""},
	{pulls, "引く ひく 引っ張る ひっぱる 引っぱる 手繰る たぐる 揺らす ゆらす 揺する ゆする 引き抜く 引きずる ひきずる", "引き寄せる", "", ""},
	{pushes, "押す おす 突き飛ばす", "押し上げる 押し付ける", "プッシュ", ""},
	{shifts, "動かす うごかす ずらす どかす", "どける 除ける よける", "", ""},
	{turns, "回す まわす ひねる 捻る ねじる", "", "操作", ""},
	{opens, "開く ひらく", "開ける あける 開けはなつ 開け放つ", "開封", ""},
	{closes, "閉ざす とざす", "閉める しめる 閉じる とじる", "施錠", ""},
	{eats, "食う くう かじる", "食べる たべる", "食事 味見", "いただきます 頂きます"},
	{invites, "誘う さそう 連れていく 連れて行く つれていく 連れ出す つれだす 連れてく", "連れる つれる", "", ""},
	{meets, "", "迎える むかえる 出迎える でむかえる", "お迎え 出迎え", ""},
	{spreads, "", "広げる ひろげる", "", ""},
	{stays, "残る のこる とどまる 留まる", "", "", ""},
	{entrusts, "託す たくす", "任せる まかせる", "", ""},
	{orders, "頼む たのむ", "", "注文 オーダー", ""},
	{drinks, "飲む のむ 呑む すする", "", "", ""},
	{rides, "乗る のる 乗り込む のりこむ", "", "乗車 乗船", ""},
	{inquires,
		"聞く きく 訊く 尋ねる 問う とう 伺う うかがう 聞き出す 聞かす 問いただす",
		"尋ねる たずねる 訊ねる 聞かせる きかせる 問いかける 問い合わせる",
		"質問 問い合わせ インタビュー 相談", ""},
	{inquires, "教わる おそわる", "", "", ""},
	{tells,
		"話す はなす 言う いう 喋る しゃべる 語る かたる 話し合う 明かす",
		"伝える つたえる 知らせる しらせる 教える おしえる 告げる つげる 答える こたえる 打ち明ける 述べる",
		"報告 説明 おしゃべり 会話 雑談 お話 話 はなし 連絡 通報", ""},
	{greets,
		"挨拶を交わす 名乗る なのる",
		"話しかける はなしかける 話し掛ける 話かける 声をかける 声を掛ける こえをかける",
		"挨拶 あいさつ 会釈 お辞儀 自己紹介",
		"こんばんは こんばんわ こんにちは こんにちわ おはよう おはようございます はじめまして 初めまして ごめんください ただいま"},
	{calls, "呼ぶ よぶ 呼び出す", "呼びかける よびかける 呼び止める", "", ""},
	{shouts, "叫ぶ さけぶ どなる 怒鳴る", "声を上げる 声を張り上げる", "", ""},
	{listens, "聴く 耳を澄ます 耳をすます みみをすます", "耳を澄ませる 耳をすませる みみをすませる 耳を傾ける 耳をかたむける 耳を当てる 聞き耳を立てる", "", ""},
	{knows, "知る しる わかる 分かる", "覚えている", "ご存知 ご存じ", ""},
	{thanks, "礼を言う お礼を言う", "", "感謝", "ごちそうさま ごちそうさまでした ありがとう ありがとうございます ありがとうございました"},
	{agrees, "誓う ちかう", "引き受ける ひきうける 受け入れる", "約束 承知 了解 承諾", "はい わかった わかりました 分かった 分かりました 任せて まかせて 任せてください"},
	{writes, "書く かく 書き込む 記す しるす 刻む きざむ", "書き留める", "記入 署名 サイン メモ", ""},
	{waits, "待つ まつ", "", "待機", ""},
	{rests, "休む やすむ ひと息つく 一息つく ひといきつく ひと息おく 一息おく 息をつく 間をおく 間を置く 間をあける", "落ち着ける", "ひと息 一息 休憩 ひと休み 一休み 一服", ""},
	{sleeps, "眠る ねむる 泊まる とまる", "寝る ねる 泊める とめる", "仮眠", ""},
	{sits, "座る すわる 腰をおろす 腰を下ろす", "腰かける 腰掛ける", "着席", ""},
	{stands, "立つ たつ 立ち上がる たちあがる 並ぶ ならぶ", "", "起立", ""},
	{touches, "触る さわる なぞる", "触れる ふれる 撫でる なでる", "", ""},
	{warms, "温まる 暖まる あたたまる あたる 当たる かざす", "温める 暖める あたためる", "", ""},
	{throws, "放る ほうる", "投げる なげる 捨てる すてる 投げ捨てる 投げ入れる", "", ""},
	{breaks, "壊す こわす 割る わる 砕く くだく 折る おる 殺す 倒す 蹴る ける 落とす 突き落とす", "蹴飛ばす いじめる 怒らせる", "破壊 攻撃", ""},
	{cuts, "切る きる 裂く", "", "切断", ""},
	{digs, "掘る ほる", "", "", ""},
	{cleans, "拭く ふく 洗う あらう 払い落とす 拭う 磨く みがく 掃く はく", "", "掃除 そうじ", ""},
	{wears, "被る かぶる 履く はく 羽織る", "着る きる 身につける", "", ""},
	{hides, "隠す かくす", "隠れる かくれる", "", ""},
	{ties, "結ぶ むすぶ 縛る しばる 繋ぐ つなぐ", "結びつける", "", ""},
	{unties, "解く ほどく", "", "", ""},
	{mends, "直す なおす 治す 繕う つくろう", "", "修理 修繕 手入れ", ""},
	{makes, "作る つくる 沸かす わかす", "煮る", "料理", ""},
	{helps, "手伝う てつだう 救う すくう 手を貸す", "助ける たすける", "手伝い お手伝い 協力 救助", ""},
	{waves, "手を振る 手をふる てをふる 振る ふる", "", "", ""},
	{sings, "歌う うたう 口ずさむ 踊る", "", "", ""},
	{prays, "祈る いのる 拝む おがむ", "手を合わせる", "お参り おまいり 参拝 お祈り おいのり 合掌", ""},
	{thinks, "思い出す おもいだす 思う おもう", "考える かんがえる", "推理", ""},
	{counts, "", "数える かぞえる", "", ""},
	{pours, "注ぐ そそぐ 足す", "", "", ""},
	{rows, "漕ぐ こぐ 泳ぐ およぐ 飛び込む とびこむ 飛びこむ 飛ぶ", "", "", ""},
	{fishes, "釣る つる", "釣り上げる", "釣り", ""},
	{follows, "追う おう ついていく 追いかける", "追いかける つける", "尾行", ""},
	{stops, "止まる とまる", "止める とめる", "", ""},
	{isThere, "ある 有る", "いる 居る", "", "いらっしゃる いらっしゃいます おられる"},
	{becomes, "なる 成る 空く すく 減る へる 渇く かわく 困る 怒る おこる 泣く なく 笑う わらう 嫌う 凍る こおる 鳴る 光る 晴れわたる", "冷える 晴れる はれる 見える みえる 聞こえる きこえる 凍える 消える 出てくる 濡れる", "", ""},
	{requests, "", "", "お願い おねがい", ""},
}

// quitting are verbs that take back what stands before them.
var quitting = verbEntry{quits, "よす", "やめる 止める 辞める 諦める あきらめる", "中止 遠慮 我慢", ""}

// inverse is what a deed comes to when it is asked of another: who says
// 「教えて」 asks.
var inverse = map[deed]deed{
	tells:    inquires,
	shows:    looks,
	gives:    receives,
	inquires: inquires,
	takes:    receives,
	receives: receives,
}
