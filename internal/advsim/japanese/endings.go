package japanese

// A form is what a sentence has come to at some point between two pieces: it
// decides which pieces may follow. One bit each.
type form uint32

const (
	open         form = 1 << iota // nothing is begun
	named                         // after a noun
	marked                        // after a particle
	strange                       // within letters that are no word
	strangeKanji                  // within those, after a kanji

	// Verbs, by the row of the last kana before the ending: 行か, 行き, 行く, 行け, 行こ.
	formA
	formI
	formU
	formE
	formO
	formT     // before て and た: 行っ
	formD     // before で and だ: 飲ん
	formS     // the stem of a verb of one row: 見
	doing     // after a noun that する makes a verb of: 挨拶
	adjective // before the い of ない, たい and the like

	te     // 行って
	plain  // 行った, 行かない: complete, and may stand before a noun
	closed // 行きます: complete, only little may follow
	adverb // 行きたく, 早く
)

// ends are the forms in which a word may end.
const ends = open | named | marked | strange | strangeKanji | formI | formU | formE | doing | te | plain | closed | adverb

// A sign is what an ending says about its verb. One bit each.
type sign uint32

const (
	negated sign = 1 << iota
	supposed
	past
	ongoing  // 打っている
	asks     // 行くか
	wanted   // 行きたい, 行こう
	begged   // 行ってくれ: of somebody else
	favour   // 行ってもらう: surely of somebody else
	possible // 打てる
	duty     // 行かなければならない
	invited  // 行きませんか
)

// A link is how a verb hangs together with what follows it.
type link int

const (
	unlinked  link = iota
	andThen        // 行って…: first this, then that
	while          // 行きながら…
	since          // 行くので…
	inOrderTo      // 見に…
	quoted         // 行くと… (言う)
	nominal        // 行くこと…
)

// A piece is one ending or a part of it: what it may follow, how it is written,
// what it leads to.
type piece struct {
	after form
	texts string
	then  form
	sign  sign
	link  link
}

// Stems that take the endings of two forms.
const (
	notStem  = formA | formS // before ない
	polStem  = formI | formS // before ます
	teStem   = formT | formS // before て
	finished = formU | plain // a plain verb
	whole    = finished | closed
)

// pieces are the endings of verbs, and what in common speech has grown
// together with them.
var pieces = []piece{
	// Titles.
	{after: named, texts: "さん さま 様 ちゃん くん 君 殿 たち 達", then: named},

	// Verbs of one row.
	{after: formS, texts: "る", then: formU},
	{after: formS, texts: "ろ よ", then: closed},
	{after: formS, texts: "れ", then: formE},
	{after: formS, texts: "よ", then: formO},
	{after: formS, texts: "られ", then: formS, sign: possible},
	{after: formS, texts: "させ", then: formS},
	{after: formA, texts: "せ", then: formS},
	{after: formA, texts: "れ", then: formS, sign: possible},

	// Negation, and what only looks like one.
	{after: notStem, texts: "な", then: adjective, sign: negated},
	{after: notStem, texts: "ん ず ぬ ずに まい ないで ないでおく ないでおこう ないでおきます", then: closed, sign: negated},
	{after: formU, texts: "まい な なよ なって", then: closed, sign: negated},
	{after: notStem, texts: "なければならない なければなりません なければいけない なければいけません なくてはならない なくてはいけない " +
		"なくてはなりません なくてはいけません ないといけない ないといけません ないとだめ なきゃ なきゃいけない なきゃならない なきゃだめ " +
		"なくちゃ なくちゃいけない ねばならない ねば ないとな なければ ないと なくては", then: closed, sign: duty},
	{after: notStem, texts: "なければ なきゃ ないと なくては", then: open, sign: negated | supposed},
	{after: notStem, texts: "ないか ないかい ないですか", then: closed, sign: invited},
	{after: notStem, texts: "ないか ないかどうか", then: open, sign: asks, link: quoted},
	{after: notStem, texts: "ないわけには ないわけにはいかない ざるをえない ざるを得ない", then: closed, sign: duty},

	// Politeness.
	{after: polStem, texts: "ます まーす", then: closed},
	{after: polStem, texts: "ました", then: closed, sign: past},
	{after: polStem, texts: "ません ませんでした", then: closed, sign: negated},
	{after: polStem, texts: "ませんか ませんかね", then: closed, sign: invited},
	{after: polStem, texts: "ましょう ましょ", then: closed, sign: wanted},
	{after: polStem, texts: "ますので ますから", then: open, link: since},
	{after: polStem, texts: "ましたら ますなら", then: open, sign: supposed},
	{after: polStem, texts: "なさい な", then: closed},
	{after: polStem | doing, texts: "いたします 致します ください 下さい 願います ねがいます", then: closed},
	{after: polStem, texts: "た", then: adjective, sign: wanted},
	{after: polStem, texts: "たいことがある たいことがあります たいことがあるんだ たいことがあるんです たいことがあるんだけど たいことがあるんですが たいことがあるのですが", then: closed, sign: wanted},
	{after: polStem, texts: "ながら つつ", then: open, link: while},
	{after: polStem, texts: "に", then: open, link: inOrderTo},
	{after: polStem, texts: "そうだ そうです そうな そうに", then: closed, sign: supposed},
	{after: polStem, texts: "かた 方", then: named, link: nominal},

	// Adjectives: ない, たい, ほしい, らしい.
	{after: adjective, texts: "い", then: plain},
	{after: adjective, texts: "かった", then: plain, sign: past},
	{after: adjective, texts: "く", then: adverb},
	{after: adjective, texts: "くて", then: te},
	{after: adjective, texts: "くない くないです くなかった くありません くはない くもない", then: closed, sign: negated},
	{after: adjective, texts: "ければ", then: open, sign: supposed},
	{after: adjective, texts: "さ", then: named, link: nominal},
	{after: adjective, texts: "さそう", then: closed, sign: supposed},
	{after: adverb, texts: "なる なった なってきた なりました なっている", then: closed},

	// 行こう, and the imperative and the condition that share a row.
	{after: formO, texts: "う うっと っか っかな", then: closed, sign: wanted},
	{after: formE, texts: "ば", then: open, sign: supposed},

	// て and た.
	{after: teStem, texts: "て", then: te, link: andThen},
	{after: formD, texts: "で", then: te, link: andThen},
	{after: teStem, texts: "た", then: plain, sign: past},
	{after: formD, texts: "だ", then: plain, sign: past},
	{after: teStem, texts: "たり たりする たりして", then: closed},
	{after: formD, texts: "だり だりする だりして", then: closed},
	{after: teStem, texts: "たら たらば", then: open, sign: supposed},
	{after: formD, texts: "だら だらば", then: open, sign: supposed},
	{after: te, texts: "から からは", then: open, link: andThen},
	{after: te, texts: "も", then: open, sign: supposed},
	{after: te, texts: "もいい もいいか もいいかな もいいです もいいですか もよい もよいか もよいですか も良い も良いですか もかまわない もかまいませんか もよろしいですか " +
		"もよろしいでしょうか もいいでしょうか いい いいですか いいか いいかな 良い 良いですか", then: closed, sign: wanted},
	{after: te, texts: "はいけない はいけません はだめ はだめだ はならない はいけないのか", then: closed, sign: negated},
	{after: te, texts: "ください 下さい くださーい ちょうだい 頂戴 くださいな くださいませ", then: closed, sign: begged},
	{after: te, texts: "くださいませんか 下さいませんか くださいますか 下さいますか くださらない", then: closed, sign: begged},
	{after: te, texts: "い", then: formS, sign: ongoing},
	{after: te, texts: "る", then: formU, sign: ongoing},
	{after: te, texts: "ます", then: closed, sign: ongoing},
	{after: te, texts: "た", then: plain, sign: ongoing | past},
	{after: te, texts: "な", then: adjective, sign: ongoing | negated},
	{after: te, texts: "ほし 欲し", then: adjective, sign: wanted | begged | favour},
	{after: te, texts: "み 見", then: formS},
	{after: te, texts: "くれ", then: formS, sign: begged | favour},
	{after: te, texts: "くれ くれよ くれや", then: closed, sign: begged},

	// Guesses, hearsay, advice.
	{after: whole, texts: "だろう だろうか でしょう でしょうか かも かもしれない かもしれません かもね らしい らしいです らしいよ みたい みたいだ みたいです " +
		"そうだ そうです そうで べき べきか べきだ べきだろうか べきかな べきですか はず はずだ はずです という といった という話 のでは んじゃ んじゃない " +
		"んじゃないか とする としよう とすると とか とかいう ほうがいい 方がいい 方が良い ほうが良い ほうがよい 方がよい なんて だって んだって そうだね " +
		"とどうなる とどうなるの ようだ ようです ことがある ことがあります ことはある ことはない ことがない", then: closed, sign: supposed},
	{after: finished, texts: "なら ならば", then: open, sign: supposed},
	{after: plain, texts: "ほうがいい 方がいい 方が良い ほうが良い ほうがよい 方がよい", then: closed, sign: supposed},

	// What only frames a verb.
	{after: whole, texts: "ことにする ことにします ことにしよう ことにした ことにしました ことにしようかな つもり つもりだ つもりです", then: closed, sign: wanted},
	{after: whole, texts: "と思う と思います とおもう とおもいます と思って とする とします ことにする", then: closed, sign: wanted},
	{after: finished, texts: "ん の んです のです んだ のだ んだけど んですけど んですが のですが んだが ぜ ぞ わ よ ね さ な なあ なぁ わよ わね よね かしら のよ のね もん です ですよ ですね けど が ですけど ですが", then: closed},
	{after: closed, texts: "ね よ よね わ わね ぞ ぜ さ な なあ なぁ けど が けれど です ですよ ですね ですけど ですが だ", then: closed},
	{after: whole | te, texts: "か かな かなあ かなぁ ですか のか のかな のですか んですか っけ かい のかい かね", then: closed, sign: asks},
	{after: whole, texts: "のか かどうか かを のかを か", then: open, sign: asks, link: quoted},
	{after: te, texts: "ね よ ねえ な", then: closed},

	// What leads on to another verb.
	{after: whole, texts: "ので のでね から けど けれど けれども し ために ため", then: open, link: since},
	{after: finished, texts: "前に まえに まで ときに 時に とき あいだに 間に うちに", then: open, link: while},
	{after: plain, texts: "あと あとで 後で 後 後に あとに", then: open, link: andThen},
	{after: whole, texts: "と って", then: open, link: quoted},
	{after: finished, texts: "こと 事 の とおりに 通りに とおり", then: named, link: nominal},
}

// helping are the verbs that follow another and bend like any.
var helping = []struct {
	after          form
	godan, ichidan string
	sign           sign
	manner         string
}{
	{after: te, godan: "いく 行く く おく 置く とく"},
	{after: te, godan: "しまう 仕舞う"},
	{after: te, godan: "もらう 貰う いただく 頂く", sign: begged | favour},
	{after: te, godan: "やる"},
	{after: te, godan: "ある", sign: ongoing},
	{after: te, ichidan: "あげる 上げる"},
	{after: polStem, ichidan: "つづける 続ける", manner: mannerGroup(0)}, // like 「何度も」
	{after: polStem, godan: "つく こむ 込む だす 出す なおす 直す おわる 終わる きる あう 合う", ichidan: "はじめる 始める かける あげる 上げる すぎる"},
}

// contracted are the same, grown together with て and で.
var contracted = []struct {
	after form
	godan string
}{
	{after: teStem, godan: "ちゃう ちまう とく"},
	{after: formD, godan: "じゃう じまう どく"},
}
