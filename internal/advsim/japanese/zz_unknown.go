package japanese

func (r *Reader) Unknown(text string) (words []string) {
	tokens, _ := r.words.split([]rune(fold(text)), false)
	for _, t := range tokens {
		if t.role == isStrange {
			words = append(words, t.text)
		}
	}
	return words
}
