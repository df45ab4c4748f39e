package japanese

// A role is what a word does in a sentence.
type role int

const (
	isStrange role = iota // letters that are no word
	isNoun
	isNumber
	isVerb
	isPiece    // of a verb's ending
	isParticle // see particles
	isTalk     // 「話」
	isAspect   // 「こと」「中」: says little beside its noun
	isPointer  // 「それ」「あれ」
	isSelf     // 「私」
	isOther    // 「誰か」
	isSight    // 「あたり」
	isOutside  // 「外」
	isManner   // 「何度も」
	isQuestion // 「どこ」
	isPlea     // 「助けて」 and all that asks for help
	isCarried  // 「持ち物」
	isCall     // 「すみません」
	isNo       // 「いいえ」
	isIf       // 「もし」「昨日」
	isCopula   // 「です」
	isNoise    // 「お」 before a word, 「っ」 after it
	isFiller
	isBreak // punctuation
)

// A particle tells what the noun before it has to do with the verb.
type particle int

const (
	noParticle particle = iota
	wo
	ni
	he
	de
	to
	kara
	made
	ga
	ha
	no
	and
	about
)

var particles = []struct {
	particle particle
	texts    string
}{
	{wo, "を をば"},
	{ni, "に にも にさえ"},
	{he, "へ へも への へと の方へ のほうへ の方に のほうに のところへ のところに の所へ の所に のもとへ のもとに のそばへ のそばに"},
	{de, "で でも にて を使って をつかって を用いて"},
	{to, "と とも と一緒に といっしょに"},
	{kara, "から からは からの より から外へ"},
	{made, "まで までの"},
	{ga, "が"},
	{ha, "は も には へは では なら には、 にとって ったら"},
	{no, "の な"},
	{and, "や とか"},
	{about, "について についての についても に関して に関する のこと の事 のことを のことで のことについて って ってのは とは とは何 とは何か という というのは に対して"},
}

// aspects say little beside the noun that they go with.
const aspects = "こと 事 もの 物 ところ 所 とこ 方 ほう 中 なか 前 まえ そば 傍 もと 下 した 上 うえ 近く ちかく 隣 となり 脇 わき 足もと 足元 足下 音 おと 匂い におい 声 こえ 手 両手 体 からだ 身体 お腹 おなか 腹 はら 喉 のど 気 横 よこ 奥 おく 端 はし 先 さき 手前 てまえ 向こう むこう " +
	"道 みち 意味 理由 わけ 件 方向 方面 側 がわ たび とおり 通り 様子 ようす 状態 具合"

const pointers = "それ これ あれ そこ あそこ そっち あっち こっち こちら そちら あちら その この あの そのへん このへん その辺 この辺 さっきの いつもの 例の れいの"

const selves = "私 わたし 僕 ぼく 俺 おれ 自分 あなた 主人公 われ 我々 私たち"

const others = "誰か だれか 誰かさん みんな 皆 彼 彼女 人 ひと 人々 猫 ねこ 犬 いぬ 子供 こども 友達 ともだち 父 母 兄 弟 姉 妹 男 女"

// sights are what is all around: alone, they are a look.
const sights = "まわり 周り 周囲 辺り あたり あたり一面 景色 けしき 風景 部屋 ここ 遠く とおく 室内 部屋の中 店内 ここら 周りの様子 あたりの様子 まわりの様子 周囲の様子"

// asking what is here looks around as well.
const whereabouts = "ここはどこ ここどこ 何がある なにがある 何があるか なにがあるか 誰かいる だれかいる 誰がいる だれがいる 誰かいますか だれかいますか 何がありますか なにがありますか 誰がいますか だれがいますか 何が見える なにがみえる 何が見えますか"

// outsides are where one gets by leaving.
const outsides = "外 そと 屋外 表 おもて"

// manners are how something is done, in groups that mean the same. The first is
// also what 〜つづける says.
var manners = []string{
	"何度も なんども 何回も なんかいも 続けて つづけて 休まず やすまず 休まずに 休みなく やすみなく ひたすら ずっと たくさん 繰り返し くりかえし くり返し 連続で 絶え間なく どんどん 延々と",
	"そっと 静かに しずかに やさしく 優しく 軽く かるく こっそり おだやかに 穏やかに 小さく",
	"強く つよく 思いきり 思い切り おもいきり 力いっぱい 力強く 激しく はげしく 大きく おおきく 全力で 力を込めて 力をこめて",
	"ゆっくり ゆっくりと のんびり 落ち着いて 慎重に しんちょうに",
	"急いで いそいで 早く はやく 素早く すばやく すぐに さっさと さっと 大急ぎで",
	"もう一度 もういちど もう一回 もういっかい また ふたたび 再び 改めて あらためて",
}

// questions ask for facts.
const questions = "どうやって どんな人 どんなひと どういう人 何者 どこ 誰 だれ いつ なぜ なんで どうして 何 なに なん どれ どの どんな どう どっち どちら いくら いくつ 何時 何歳 なんじ どのくらい どれくらい どういう 何年 何人 何で何 いかが"

// pleas ask the engine for help, not the story.
const pleas = "ヘルプ help ヒント ひんと 助けて たすけて 助言 どうすれば どうしたら どうやって遊ぶ どうやるの どうすれば良い どうすればいい どうすればいいの どうしたらいい どうしたらいいの どうしたらいいか 何をすれば なにをすれば 何をしたら なにをしたら 何すれば なにすれば 何したら なにしたら " +
	"何をすればいい 何をすればいいか 何をすればよい なにをすればいい 何ができ なにができ 何ができる なにができる 何が出来る 何ができますか なにができますか わからない 分からない わかりません 分かりません わからん わかんない " +
	"遊び方 あそびかた あそび方 使い方 操作方法 操作 困った こまった 詰まった つまった どこへ行け どこに行け どこへ行けば どこに行けば どこへ行けばいい どこに行けばいい どこへいけば どこにいけば どこへいけばいい どこにいけばいい どこへ行ったら どこに行ったら 次は 次はどうする 次に何をする つぎは 次どうする " +
	"どうする どうするの どうしよう どうしようかな 教えてヒント 攻略 説明書 コマンド 何をしよう なにをしよう 次の目的 目的は 目的は何 すべきこと やること やるべきこと"

// belongings ask what the player carries.
const belongings = "持ち物 もちもの 所持品 荷物 にもつ 持っているもの 持ってるもの もってるもの 持っている物 持ってる物 何を持っている 何を持ってる なにをもっている なにをもってる なにを持っている なにを持ってる " +
	"何持ってる なに持ってる なにもってる 何か持ってる 何か持っている ポケット ポケットの中 インベントリ 手持ち 手荷物 アイテム 道具 かばん カバン 鞄 手元 手もと"

// hails get somebody's attention.
const hails = "すみません すいません ねえ ねぇ おーい おおい もしもし もし、 失礼 失礼します しつれいします あのう あの、 あのー ちょっと、 やあ よう、"

const nos = "いいえ いや いやだ 嫌だ 嫌 だめ 駄目 禁止 やだ 無理 むり いらない 要らない いりません 要りません 不要 必要ない 結構です けっこうです 興味ない 興味がない きょうみない"

// ifs speak of a move that is not made: of another time or of a world that might be.
const ifs = "もし もしも 仮に かりに たとえ 昨日 きのう 明日 あした 昔 むかし 去年 来年 この前 先日 もしかして もしかしたら いつか かつて 以前 夢 ゆめ 夢の中"

const copulas = "です だ ですね ですよ だよ だね だな である でした だった ですか ですかね でしょうか だっけ かな かなあ か ね よ ねえ さ なの なのか なのかな なのですか なんですか ですけど ですが じゃない ではない じゃないか でない"

// talks are what is asked for of a noun: 「霧の話」.
const talks = "話 はなし 昔話 噂 うわさ 情報 事情 詳細"

// noises are what courtesy and haste add to words.
const noises = "お ご 御 っ ー ぁ ぃ ぅ ぇ ぉ"

// fillers carry nothing that a move needs.
const fillers = "えっと えーっと えーと ええと えと うーん ううん うん あー ああ まあ まぁ あの さあ さて じゃあ じゃ では それでは それじゃ それじゃあ ほら よし よーし よっしゃ おっと ふむ なるほど そうだ そうだな そうですね そうだなあ " +
	"とりあえず とりま まず まずは ひとまず いったん 一旦 やはり やっぱり やっぱ とにかく せっかくだから せっかくだし せっかくなので 念のため ねんのため 試しに ためしに ついでに どうか どうぞ ちょっと ちょっとだけ 少し すこし 少しだけ もっと よく よーく じっと じっくり しっかり ちゃんと きちんと 詳しく くわしく できれば できたら よければ よかったら もしよければ もしよかったら もし良ければ もし良かったら 可能なら 出来れば " +
	"それから そして あと 次に つぎに 今度は こんどは さっそく 早速 さらに もう 今 いま 今すぐ 今から いまから これから すぐ そろそろ まっすぐ 真っ直ぐ 一緒に いっしょに 思い切って おもいきって 自分で 先に さきに まだ 実は じつは そういえば さっき 先ほど さきほど 今の ぜひ 是非 なるべく やっと 無事に 何か なにか 何やら 少々 しばらく 一応 いちおう みんなで 直接 かならず 必ず きっと 今夜 今夜は 今日 今日は きょう この先 " +
	"など だけ のみ ばかり 方々 全部 すべて 全て ぜんぶ 一箱 ひと箱 いっぱい 大きな 小さな 例えば たとえば そのまま このまま ぐるっと ぐるり ぐるりと きょろきょろ ちらっと ちらりと ちらり そろりと ふと さりげなく 思わず なんとなく 何となく とっとと 試しで 本当に ほんとに もちろん 一度に 最初に はじめに 最後に さいごに 黙って だまって 丁寧に ていねいに 正直に しつこく 一人で ひとりで 両手で 片手で"

// counters turn a digit into a number: 「三回」「三つ」.
const counters = "つ 回 度 かい ど 本 枚 個 こ 杯 人 匹 発 打 べん 遍 つずつ 回ずつ 度ずつ つだけ 回だけ 度だけ 点鐘 点"

// numbers are the numerals with what they are written like before a counter.
var numbers = []string{
	"", "一 1 いっ いち 壱", "二 2 に", "三 3 さん", "四 4 よん", "五 5 ご", "六 6 ろっ ろく", "七 7 なな", "八 8 はっ はち", "九 9 きゅう", "十 10 じゅっ じっ",
}

// counted are the numbers whose name is a word of its own.
var counted = []string{
	"", "ひとつ 一つ ひとつだけ 一つだけ いちど ひとたび 1つ", "ふたつ 二つ にど", "みっつ みっつずつ みつ さんど", "よっつ よつ", "いつつ", "むっつ", "ななつ", "やっつ", "ここのつ", "とお",
}

// adjectives bend before い. They describe, or give a reason.
const adjectives = "古 ふる 大き おおき 小さ ちいさ 白 しろ 赤 あか 青 あお 黒 くろ 暗 くら 明る あかる 冷た つめた 重 おも 濃 こ 深 ふか 高 たか 低 ひく 遠 とお 近 ちか 新し あたらし 長 なが 短 みじか 温か あたたか 暖か 熱 あつ 寒 さむ 怖 こわ 危な あぶな 眠 ねむ 痛 いた 寂し さびし 悲し かなし 嬉し うれし 楽し たのし 美し うつくし  優し やさし 強 つよ 弱 よわ 早 はや 遅 おそ 多 おお 少な すくな 良 よ 悪 わる 忙し いそがし 詳し くわし 面白 おもしろ 懐かし なつかし 美味し おいし うるさ 狭 せま 広 ひろ 厚 薄 うす 硬 固 かた 柔らか やわらか 眩し まぶし 怪し あやし おかし すご"
