package japanese

import (
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v4"
)

// A telltale is what this test reads of a story's files.
type telltale struct {
	Places, People, Things []struct {
		ID, Name, Button, At string
		Names                []string
	}
	Acts []struct {
		ID, Label, At, To string
		Says              []string
	}
}

// theStory reads the engine's own story.
func theStory(t testing.TB) (s telltale) {
	files, err := filepath.Glob("../shiranari/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no story: ", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var part telltale
		if err := yaml.Unmarshal(content, &part); err != nil {
			t.Fatal(err)
		}
		s.Places = append(s.Places, part.Places...)
		s.People = append(s.People, part.People...)
		s.Things = append(s.Things, part.Things...)
		s.Acts = append(s.Acts, part.Acts...)
	}
	return s
}

func (s telltale) reader() *Reader {
	var nouns []Noun
	for _, p := range s.Places {
		nouns = append(nouns, Noun{ID: p.ID, Kind: Place, Names: append([]string{p.Name}, p.Names...)})
	}
	for _, p := range s.People {
		nouns = append(nouns, Noun{ID: p.ID, Kind: Person, Names: append([]string{p.Name}, p.Names...), At: p.At})
	}
	for _, t := range s.Things {
		nouns = append(nouns, Noun{ID: t.ID, Names: t.Names, At: t.At})
	}
	var acts []Act
	for _, a := range s.Acts {
		acts = append(acts, Act{Label: a.Label, To: a.To, Says: a.Says})
	}
	return New(nouns, acts)
}

func (s telltale) means(r *Reader, at, text string) string {
	m := r.Read(text, at, func(i int) bool { return s.Acts[i].At == at || s.Acts[i].At == "" })
	return s.name(m)
}

func (s telltale) name(m Meaning) string {
	switch m.Sense {
	case Do:
		return s.Acts[m.Act].ID
	case Elsewhere:
		return "[elsewhere] " + s.Acts[m.Act].ID
	case Unclear:
		str := nothing
		for _, x := range m.Maybe {
			str += " " + s.name(x) + "?"
		}
		return str
	}
	return name(m)
}

func TestStoryHeldOut(t *testing.T) {
	s := theStory(t)
	r := s.reader()
	for name, rows := range map[string][]row{"first": storyHeldOut, "later": storyHeldOutLater} {
		t.Run(name, func(t *testing.T) {
			readMost(t, rows, func(at, text string) string { return s.means(r, at, text) })
		})
	}
}

// Every phrase of the story is read as its act at its place, and not only
// because it is put just so.
func TestStoryPhrases(t *testing.T) {
	s := theStory(t)
	r := s.reader()
	read, all := 0, 0
	for _, a := range s.Acts {
		at := a.At
		if at == "" {
			at = "harbor"
		}
		for _, say := range append(a.Says, a.Label) {
			if got := s.means(r, at, say); got != a.ID {
				t.Errorf("at %s, 「%s」 is %s, want %s", at, say, got, a.ID)
			}
			all++
			switch got := s.means(r, at, "えっと、"+say); {
			case got == a.ID:
				read++
			case isMove(got):
				t.Errorf("at %s, 「えっと、%s」 is %s, want %s", at, say, got, a.ID)
			default:
				t.Logf("at %s, 「えっと、%s」 is %s, want %s", at, say, got, a.ID)
			}
		}
	}
	t.Logf("%d of %d are read when they are not put just so", read, all)
	if read*20 < all*19 {
		t.Errorf("only %d of %d are read when they are not put just so", read, all)
	}
}
