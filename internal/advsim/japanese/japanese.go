// Package japanese makes out what a player's sentence asks for, by comparing it
// with example phrases of everything that can be done.
//
// A sentence goes through four steps: fold brings ways of writing together,
// split finds the words, parse finds who does what to what, and Read compares
// that with the phrases of a story, which have gone the same way. Nothing in it
// is random, and nothing depends on the order of a map.
//
// The one thing that can go wrong is to believe too much: a move that was not
// wanted is worse than a question, so whatever is in doubt means nothing.
package japanese

// MaxChars bounds a sentence, in code points: longer ones are not read. Nobody
// presses a button that long, and the time to read grows with it.
const MaxChars = 200

// A Kind is what sort of thing a noun names.
type Kind int

const (
	Thing  Kind = iota
	Person      // can be spoken to, and does things by itself
	Place       // can be gone to
)

// A Noun is something that players name.
type Noun struct {
	ID    string
	Kind  Kind
	Names []string // every one it goes by; one given twice belongs to the first noun
	At    string   // ID of the place where 「…のところへ行く」 leads, empty if nowhere; a Place is at itself
}

// An Act is something that can be done.
type Act struct {
	Label string   // typed, its surest wording
	To    string   // ID of the Person spoken to, who may always be named; empty if nobody
	Says  []string // example phrases; the label is one more
}

// A Sense is what sort of meaning a sentence has.
type Sense int

const (
	Unclear   Sense = iota // in doubt or not understood
	Silence                // nothing is said
	Refused                // 「行かない」
	Supposed               // 「行ったらどうなる」
	TooMuch                // several things at once
	Elsewhere              // an act that is not possible here and now
	Do                     // an act
	Go                     // to a place
	GoBack                 // 「戻る」「外へ出る」
	GoOn                   // to go, but not where
	Look                   // around, or at something that no act is about
	Help
	Carried // what the player carries
)

// A Meaning is what a sentence comes to.
type Meaning struct {
	Sense Sense
	Act   int       // of Do and Elsewhere: index into the acts given to New
	Place string    // of Go: ID of the place, which may be the one where the player is
	Maybe []Meaning // of Unclear: what may be meant, the surest first, at most two, each Do or Go
}

// A Reader reads sentences about one story. It never changes.
type Reader struct {
	nouns  []Noun
	nounOf map[string]int // index by ID
	words  *dictionary
	acts   []learnt
}

// New returns the reader for a story's nouns and acts.
func New(nouns []Noun, acts []Act) *Reader {
	r := &Reader{nouns: nouns, nounOf: make(map[string]int), words: newDictionary(nouns)}
	for i, n := range nouns {
		if _, taken := r.nounOf[n.ID]; !taken {
			r.nounOf[n.ID] = i
		}
	}
	for i, a := range acts {
		r.acts = append(r.acts, r.learn(i, a))
	}
	return r
}

// placeOf returns where a noun leads, empty if nowhere.
func (r *Reader) placeOf(noun int) string {
	if n := r.nouns[noun]; n.Kind != Place {
		return n.At
	}
	return r.nouns[noun].ID
}
