package japanese

// A small harbour to read sentences at. Its acts are given as a story gives
// them: a label and a few example phrases.

const (
	busStop    = "bus_stop"
	diner      = "diner"
	harbor     = "harbor"
	hut        = "hut"
	hill       = "hill"
	breakwater = "breakwater"
	bell       = "bell"
	anywhere   = ""
)

var harborNouns = []Noun{
	{ID: busStop, Kind: Place, Names: []string{"バス停", "停留所", "バス乗り場", "通り"}},
	{ID: diner, Kind: Place, Names: []string{"食堂しおさい", "食堂", "しょくどう", "しおさい", "店", "定食屋"}},
	{ID: harbor, Kind: Place, Names: []string{"港", "みなと", "岸壁", "漁港"}},
	{ID: hut, Kind: Place, Names: []string{"番屋", "ばんや", "小屋"}},
	{ID: hill, Kind: Place, Names: []string{"灯台の丘", "灯台", "とうだい", "丘", "おか"}},
	{ID: breakwater, Kind: Place, Names: []string{"防波堤", "ぼうはてい", "堤防"}},
	{ID: bell, Kind: Place, Names: []string{"防波堤の先", "防波堤の先端", "突端", "先端", "鐘楼"}},
	{ID: "captain", Kind: Person, At: harbor, Names: []string{"船長", "せんちょう", "キャプテン"}},
	{ID: "okami", Kind: Person, At: diner, Names: []string{"おかみ", "女将", "店の人", "店主"}},
	{ID: "fog", Names: []string{"霧", "きり"}},
	{ID: "ice", Names: []string{"流氷", "りゅうひょう", "氷", "こおり"}},
	{ID: "sea", At: harbor, Names: []string{"海", "うみ", "沖", "おき"}},
	{ID: "ship", Names: []string{"船", "ふね", "ときわ丸", "漁船"}},
	{ID: "light", Names: []string{"沖の灯", "沖の灯り", "沖の光", "船の灯", "灯", "光"}},
	{ID: "lantern", Names: []string{"ランタン", "ランプ", "灯り", "明かり", "あかり"}},
	{ID: "matches", Names: []string{"マッチ"}},
	{ID: "fire", Names: []string{"火", "ひ"}},
	{ID: "mallet", Names: []string{"木槌", "きづち", "槌", "ハンマー"}},
	{ID: "bell_itself", At: bell, Names: []string{"鐘", "かね"}},
	{ID: "rope", Names: []string{"綱", "つな", "ロープ", "紐", "ひも"}},
	{ID: "bus", At: busStop, Names: []string{"バス", "最終バス", "終バス"}},
	{ID: "timetable", Names: []string{"時刻表", "じこくひょう"}},
	{ID: "radio", Names: []string{"無線機", "無線"}},
	{ID: "food", Names: []string{"ご飯", "ごはん", "食事", "たら汁", "料理", "定食"}},
}

// harborActs are the acts and where each can be done.
var harborActs = []struct {
	at string
	Act
}{
	{busStop, Act{Label: "最終バスに乗る", Says: []string{"バスに乗る", "最終バスで帰る", "バスで町へ戻る", "帰る"}}},
	{busStop, Act{Label: "時刻表を見る", Says: []string{"時刻表を調べる", "バスの時間を確かめる", "時刻表を読む"}}},
	{diner, Act{Label: "おかみに話しかける", To: "okami", Says: []string{"おかみと話す", "女将に声をかける", "こんばんは", "おかみに挨拶する"}}},
	{diner, Act{Label: "マッチを分けてもらう", To: "okami", Says: []string{"マッチをください", "おかみからマッチを借りる", "マッチをもらう", "火を借りる"}}},
	{diner, Act{Label: "鐘の話を聞く", To: "okami", Says: []string{"おかみに鐘のことを聞く", "鐘について教えて", "木槌のことを聞く", "灯台の話を聞く"}}},
	{diner, Act{Label: "何か食べる", To: "okami", Says: []string{"ご飯を食べる", "たら汁を注文する", "食事をする"}}},
	{harbor, Act{Label: "船長に話しかける", To: "captain", Says: []string{"船長と話す", "船長に声をかける", "こんばんは", "船の話を聞く", "ときわ丸について聞く"}}},
	{harbor, Act{Label: "霧の話を聞く", To: "captain", Says: []string{"船長に霧の話を聞く", "霧について教えて", "霧のことを尋ねる"}}},
	{harbor, Act{Label: "鐘が凍っていたと話す", To: "captain", Says: []string{"船長に鐘のことを話す", "鐘が鳴らないと伝える", "木槌について聞く", "鐘の話を聞く"}}},
	{harbor, Act{Label: "沖の灯のことを話す", To: "captain", Says: []string{"船長に沖の灯のことを伝える", "沖に光が見えたと知らせる", "灯を見たと話す"}}},
	{harbor, Act{Label: "流氷の話を聞く", To: "captain", Says: []string{"流氷について尋ねる", "船長に氷のことを聞く", "流氷のことを教えて"}}},
	{harbor, Act{Label: "海を見る", Says: []string{"沖を眺める", "流氷を見る", "海の様子をうかがう", "霧を見る"}}},
	{harbor, Act{Label: "船長の様子を見る", Says: []string{"船長を見る", "船長を観察する", "無線機を見る"}}},
	{hut, Act{Label: "ランタンを借りる", Says: []string{"ランタンを取る", "ランプを持っていく", "灯りを借りる", "棚のランタンを下ろす"}}},
	{hill, Act{Label: "沖を眺める", Says: []string{"海を見る", "沖の灯を見る", "流氷を探す", "沖を見わたす"}}},
	{hill, Act{Label: "木槌を取る", Says: []string{"木槌を壁から外す", "ハンマーを借りる", "木槌を持っていく"}}},
	{bell, Act{Label: "鐘の綱を引く", Says: []string{"綱を引く", "ロープを引っ張る", "紐を揺らす"}}},
	{bell, Act{Label: "鐘を打つ", Says: []string{"鐘を鳴らす", "木槌で鐘を叩く", "木槌を使う", "打つ"}}},
	{bell, Act{Label: "休まず打ちつづける", Says: []string{"鐘を何度も打つ", "続けて打つ", "休みなく鐘を鳴らす"}}},
	{bell, Act{Label: "三つ打って、ひと息おく", Says: []string{"鐘を三回打つ", "三つ打つ", "三度鳴らす", "三回ずつ打つ"}}},
	{bell, Act{Label: "一つだけ打つ", Says: []string{"鐘を一回打つ", "一度だけ鳴らす", "鐘をひとつ打つ"}}},
	{bell, Act{Label: "鐘を見る", Says: []string{"鐘を調べる", "鐘の様子を見る", "鐘の中をのぞく"}}},
	{anywhere, Act{Label: "ランタンに火をつける", Says: []string{"ランタンを灯す", "マッチを擦る", "マッチでランタンに火をつける", "灯りをともす", "ランタンを使う"}}},
}
