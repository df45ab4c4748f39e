package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxUndo bounds how many moves can be taken back.
const maxUndo = 200

const handHelp = `番号を入れるとその選択肢を選びます。したいことを言葉で書いても遊べます。
  /undo        一手戻る
  /save FILE   記録を FILE に書く
  /load FILE   記録を FILE から読む
  /quit        終わる
  /help        この説明
`

// A hand plays one game with the lines that somebody writes.
type hand struct {
	sender
	out    io.Writer
	strict bool // no one is there to try again: a move that is not accepted ends the game

	here reply
	past []reply // what was here before each move, the latest last
}

// errQuit ends a game in the way that the player wants.
var errQuit = errors.New("quit")

// errNotPlayed is a move that was not accepted; the player has been told.
var errNotPlayed = errors.New("stopped at the first mistake")

// play begins a game and plays each line that read returns, until it returns
// io.EOF or the player quits.
func (h *hand) play(ctx context.Context, read func() (string, error)) error {
	h.heard = func(_ time.Duration, err error, pause time.Duration) {
		if pause > 0 {
			fmt.Fprintf(h.out, "（%s%.1f 秒後に、もう一度送ります）\n", notice(err), pause.Seconds())
		}
	}
	began, err := h.send(ctx, move{Kind: kindNew})
	if err != nil {
		if ctx.Err() == nil {
			fmt.Fprintln(h.out, notice(err))
		}
		return err
	}
	h.here = began
	h.show()
	for {
		line, err := ask(ctx, read)
		if err == nil {
			err = h.enter(ctx, strings.TrimSpace(line))
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errQuit):
			return nil
		case err == nil, errors.Is(err, errNotPlayed) && !h.strict:
		default:
			return err
		}
	}
}

// ask reads one line, unless ctx is done first. Then the read is left behind; the
// end of the program ends it.
func ask(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		line string
		err  error
	}
	came := make(chan result, 1)
	go func() {
		line, err := read()
		came <- result{line, err}
	}()
	select {
	case r := <-came:
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// enter does what one line says.
func (h *hand) enter(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	word, rest := text, ""
	if at := strings.IndexFunc(text, unicode.IsSpace); at >= 0 {
		word, rest = text[:at], strings.TrimSpace(text[at:])
	}
	// An input method may leave digits and the slash in full width. A file's name is
	// taken as it is.
	word = norm.NFKC.String(word)
	if name, ok := strings.CutPrefix(word, "/"); ok {
		return h.command(ctx, name, rest)
	}
	m := h.here.move(text)
	if number, err := strconv.Atoi(word); err == nil && rest == "" {
		offers := h.here.offers()
		if number < 1 || number > len(offers) {
			return h.fails("その番号の選択肢はありません。")
		}
		m = h.here.press(offers[number-1])
	}
	r, err := h.send(ctx, m)
	if err != nil {
		return h.failed(ctx, err)
	}
	h.goTo(r)
	return nil
}

func (h *hand) command(ctx context.Context, name, file string) error {
	needsFile := name == "save" || name == "load"
	switch {
	case needsFile && file == "":
		return h.fails("ファイルの名前を続けて書いてください：/%s FILE", name)
	case !needsFile && file != "":
		return h.fails("/%s に続けて何かを書くことはできません。", printable(name))
	}
	switch name {
	case "quit":
		return errQuit
	case "help":
		fmt.Fprint(h.out, handHelp)
	case "undo":
		if len(h.past) == 0 {
			return h.fails("これより前には戻れません。")
		}
		h.here, h.past = h.past[len(h.past)-1], h.past[:len(h.past)-1]
		h.show()
	case "save":
		if err := writeSave(file, h.here); err != nil {
			return h.fails("記録を書けませんでした：%v", err)
		}
		fmt.Fprintf(h.out, "%s に記録しました。\n", file)
	case "load":
		return h.load(ctx, file)
	default:
		return h.fails("/%s という指示はありません。/help で一覧が出ます。", printable(name))
	}
	return nil
}

// load goes on from the game in file, once the engine has accepted its state by
// looking around there.
func (h *hand) load(ctx context.Context, file string) error {
	state, seen, err := readSave(file)
	if err != nil {
		return h.fails("記録として読めませんでした：%v", err)
	}
	looked, err := h.send(ctx, move{Kind: "look", State: state})
	if refused, ok := errors.AsType[*refusal](err); ok && refused.status == http.StatusUnprocessableEntity {
		return h.fails("この記録では遊べません。%s\n%s はそのまま残してあります。", printable(refused.text), file)
	}
	if err != nil {
		return h.failed(ctx, err)
	}
	if seen != nil {
		looked = *seen
	}
	h.goTo(looked)
	return nil
}

func (h *hand) goTo(r reply) {
	if len(h.past) == maxUndo {
		h.past = h.past[1:]
	}
	h.past = append(h.past, h.here)
	h.here = r
	h.show()
}

func (h *hand) show() {
	h.here.print(h.out)
	if h.here.End {
		fmt.Fprintln(h.out, "（物語はここまでです。/undo で一手戻り、/quit で終わります）")
	}
}

// failed tells of a move that was not accepted, unless it was cut short.
func (h *hand) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return h.fails("%s", notice(err))
}

func (h *hand) fails(format string, args ...any) error {
	fmt.Fprintf(h.out, format+"\n", args...)
	return errNotPlayed
}

// notice says to a player why a move was not accepted.
func notice(err error) string {
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		return "つながりませんでした。もう一度送れます。"
	}
	switch refused.status {
	case http.StatusTooManyRequests:
		return "少し待ってからもう一度。"
	case http.StatusBadGateway:
		return "物語の途中でつまずきました。もう一度送れます。"
	case http.StatusServiceUnavailable:
		return "いま物語を動かせません。少し待つと、もう一度送れます。"
	case http.StatusGatewayTimeout:
		return "返事が届きませんでした。もう一度送れます。"
	case http.StatusUnprocessableEntity:
		if refused.code == "poison_move" {
			return "この手は、いまは受け付けられません。別の手なら進めます。"
		}
		return "この手は受け付けられませんでした。" + printable(refused.text)
	}
	return fmt.Sprintf("このままでは受け取れませんでした（%s）。", printable(refused.Error()))
}
