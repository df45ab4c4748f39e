package advsim

import (
	"bytes"
	"strings"
	"testing"
)

// typed plays the small story with these lines and returns what is read.
func typed(t *testing.T, input string) string {
	t.Helper()
	var out bytes.Buffer
	if err := lamp(t).playInTerminal(strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const (
	pierPage = "\n［桟橋］\n1 星を眺める\n2 小屋へ\n> \n"
	shedPage = "\n［小屋］\n1 ランプのことを聞く\n2 桟橋へ\n> \n"
)

func TestPlayInTerminal(t *testing.T) {
	opening := "日が暮れた。塔に灯がない。\nあなたは桟橋に立っている。\n"
	pier := "木の桟橋が、静かな水の上にのびている。\n空に星が出ている。\n"
	shed := "番人がひとり、膝を抱えている。\n"
	for _, tc := range []struct {
		name, input, want string
	}{
		{"leaves at once", "", opening + pierPage},
		{"a number", "2\n", opening + pierPage + shed + shedPage},
		{"a number at full width", "２\n", opening + pierPage + shed + shedPage},
		{"a label", "小屋へ\n", opening + pierPage + shed + shedPage},
		{"words", " 小屋へ行く \r\n", opening + pierPage + shed + shedPage},
		{"no newline at the end", "2", opening + pierPage + shed + shedPage},
		{"there and back", "2\n2\n", opening + pierPage + shed + shedPage + pier + pierPage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := typed(t, tc.input); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestTerminalEndsWithTheStory(t *testing.T) {
	got := typed(t, "小屋へ\nランプのことを聞く\n桟橋へ\n横になる\nこれはもう読まれない\n")
	if !strings.HasSuffix(got, "> \n目を閉じると、水の音だけが残った。\n――終わり「おやすみ」\n") {
		t.Errorf("%q", got)
	}
}

// A number that is on no button is words like any others.
func TestNumberOnNoButton(t *testing.T) {
	for _, number := range []string{"0", "3", "-7", "99999999999999999999"} {
		if got := typed(t, number+"\n"); strings.Count(got, "「ヒント」と書いてみよう。") != 1 {
			t.Errorf("%s: %q", number, got)
		}
	}
}

func TestPlayCommand(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := Main([]string{"play"}, strings.NewReader("あたりを見る\n"), &stdout, &stderr); status != exitOK || stderr.Len() > 0 {
		t.Errorf("exit status %d, stderr %q", status, stderr.String())
	}
	if got := stdout.String(); strings.Count(got, "［バス停］") != 2 || !strings.HasSuffix(got, "\n> \n") {
		t.Errorf("%q", got)
	}
}
