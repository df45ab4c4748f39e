package advsim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxLine bounds one line from the server, in bytes: far above the 64 KiB of
	// a move, and small enough to hold in memory. The rest of a longer line is
	// read and thrown away.
	maxLine = 1 << 20

	// maxID bounds an id that is echoed, in bytes, so that a reply never grows
	// with the line. The server's ids are small whole numbers.
	maxID = 64
)

// serve answers every line of r with one line on w, in order, each written out
// before the next is read. It returns nil when r has ended.
func (e *engine) serve(r io.Reader, w io.Writer) error {
	// Whoever starts an engine waits for its first reply, to a ping, which needs no
	// reader. Then it is made, so that the first sentence need not wait for it.
	var making sync.WaitGroup
	defer making.Wait()
	learn := sync.OnceFunc(func() { making.Go(func() { e.reader() }) })

	lines := bufio.NewReader(r)
	for {
		line, tooLong, err := readLine(lines)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a move: %w", err)
		}
		answer := encode(rejection{ID: unreadID, Error: unreadable, Code: "too_long", Reason: "line too long"})
		if !tooLong {
			answer = e.answer(line)
		}
		// One write, so that a reader never sees half a reply.
		if _, err := w.Write(append(answer, '\n')); err != nil {
			return fmt.Errorf("writing a reply: %w", err)
		}
		learn()
	}
}

// readLine returns the next line without its newline; a last line needs none.
// Of a line longer than maxLine it returns only that it was too long. io.EOF
// means that there was no further line.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for read := false; ; read = true {
		part, err := r.ReadSlice('\n')
		if err == io.EOF && len(part) == 0 && !read {
			return nil, false, io.EOF
		}
		ended := err == nil || err == io.EOF
		if !ended && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, false, err
		}
		if err == nil {
			part = part[:len(part)-1]
		}
		if tooLong = tooLong || len(line)+len(part) > maxLine; !tooLong {
			line = append(line, part...)
		}
		if ended {
			return line, tooLong, nil
		}
	}
}

// A request is one line from the server. The values are kept raw, so that a
// mistake in one of them is answered under the id of the line. Fields that this
// engine does not know are passed over: a newer server may send more.
type request struct {
	ID    jsontext.Value `json:"id"`
	Kind  jsontext.Value `json:"kind"`
	Input jsontext.Value `json:"input"`
	State jsontext.Value `json:"state"`
}

// A reply answers a move that was played.
type reply struct {
	ID      jsontext.Value `json:"id"`
	OK      bool           `json:"ok"`
	Text    string         `json:"text"`
	State   savedState     `json:"state"`
	Place   string         `json:"place"`
	Choices []offer        `json:"choices"`
	Places  []offer        `json:"places"`
	End     bool           `json:"end"`
}

// An offer is a move that the page can show as a button.
type offer struct {
	Label string `json:"label"`
	Kind  string `json:"kind"`
	Input string `json:"input"`
}

// A rejection answers a line that cannot be played. Error is shown to players,
// Code is for programs, Reason for whoever writes them.
type rejection struct {
	ID     jsontext.Value `json:"id"`
	OK     bool           `json:"ok"` // always false
	Error  string         `json:"error"`
	Code   string         `json:"code"`
	Reason string         `json:"reason"`
}

// A pong answers a ping.
type pong struct {
	ID jsontext.Value `json:"id"`
	OK bool           `json:"ok"`
}

// What players are told of a line that cannot be played.
const (
	unreadable  = "うまく読みとれませんでした。"
	unknownKind = "この操作には対応していません。"
)

// unreadID is the id of an answer to a line whose id could not be read.
var unreadID = jsontext.Value("0")

// answer plays one line and returns the line that answers it, without newline.
func (e *engine) answer(line []byte) []byte {
	var req request
	err := json.Unmarshal(line, &req)
	// An id that stood before the mistake has been read and is echoed.
	id, idErr := echoed(req.ID)
	reject := func(code, text, reason string) []byte {
		return encode(rejection{ID: id, Error: text, Code: code, Reason: reason})
	}
	if err != nil {
		return reject("bad_line", unreadable, "not a JSON object")
	}
	if idErr != nil {
		return reject("bad_line", unreadable, idErr.Error())
	}

	kind, err := text(req.Kind)
	if err != nil {
		return reject("bad_kind", unknownKind, "kind is not a string")
	}
	input, err := text(req.Input)
	if err != nil {
		return reject("bad_input", unreadable, "input is not a string")
	}

	var out outcome
	switch kind {
	case "ping":
		return encode(pong{ID: id, OK: true})
	case "new":
		out = e.begin()
	case "look", "move", "say":
		s, bad := e.decodeState(req.State)
		if bad != nil {
			return reject("bad_state", bad.text, bad.reason)
		}
		out = e.play(s, kind, input)
	default:
		return reject("bad_kind", unknownKind, "unknown kind")
	}
	return encode(reply{
		ID: id, OK: true,
		Text:    out.text,
		State:   e.save(out.state),
		Place:   e.story.place(out.state.place).name,
		Choices: e.choices(out.state),
		Places:  e.places(out.state),
		End:     out.state.ending != "",
	})
}

// echoed returns the id to answer under: the line's own if it is a number, a
// string, true, false or null of bearable length.
func echoed(id jsontext.Value) (jsontext.Value, error) {
	switch {
	case len(id) == 0:
		return unreadID, nil
	case len(id) > maxID:
		return unreadID, errors.New("id too long")
	case id.Kind() == '{' || id.Kind() == '[':
		return unreadID, errors.New("id is neither a number nor a string")
	}
	return id, nil
}

// text reads an optional string: absent and null are both empty.
func text(v jsontext.Value) (s string, err error) {
	if len(v) == 0 {
		return "", nil
	}
	err = json.Unmarshal(v, &s)
	return s, err
}

// encode writes an answer as one line. Ids are echoed to the letter.
func encode(answer any) []byte {
	line, err := json.Marshal(answer, jsontext.PreserveRawStrings(true))
	if err != nil {
		// Cannot be: the types above have no value that JSON lacks, and an id that
		// was read is valid JSON.
		panic(err)
	}
	return line
}
