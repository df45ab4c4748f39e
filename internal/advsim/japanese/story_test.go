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

// reader returns the story's reader, without one say of one act if skip is given.
func (s telltale) reader(skipAct, skipSay int) *Reader {
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
	for i, a := range s.Acts {
		says := a.Says
		if i == skipAct {
			says = append(append([]string{}, says[:skipSay]...), says[skipSay+1:]...)
		}
		acts = append(acts, Act{Label: a.Label, To: a.To, Says: says})
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
	r := s.reader(-1, 0)
	hit := 0
	for _, row := range storyHeldOut {
		got := s.means(r, row.at, row.text)
		if got == row.want || row.want == nothing && !isMove(got) {
			hit++
		} else {
			t.Logf("at %s, 「%s」 is %s, want %s", row.at, row.text, got, row.want)
		}
	}
	t.Logf("%d of %d", hit, len(storyHeldOut))
}
