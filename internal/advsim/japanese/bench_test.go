package japanese

import (
	"strings"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	r := theStory(b).reader()
	for name, text := range map[string]string{
		"short":    "船長に霧の話を聞く",
		"polite":   "すみません、船長さん、霧の話を聞かせてもらえませんか？",
		"misspelt": "せんちょにきりのはなしをきいてみたいです",
		"kana200":  strings.Repeat("みなとへいく", 33),
		"kana60":   strings.Repeat("ぬへもひそ", 12),
		"kanji200": strings.Repeat("鐘", 200),
		"several":  "港へ行って、船長に霧の話を聞いて、番屋へ行って、ランタンを取って、防波堤へ行く",
		"too long": strings.Repeat("港", 1000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.Read(text, harbor, func(int) bool { return true })
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	s := theStory(b)
	for b.Loop() {
		s.reader()
	}
}
