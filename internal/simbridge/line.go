package simbridge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A moveLine is a move as the engine gets it, but for the id: what comes after
// `{"id":17,`, newline included.
type moveLine struct {
	rest []byte
	hash uint64 // of rest, keyed
}

// hashSeed keys the hashes of this process's moves.
var hashSeed = maphash.MakeSeed()

func newLine(m Move) (moveLine, error) {
	room := len(m.Kind) + len(m.State) + 64
	if m.Input != nil {
		room += len(*m.Input)
	}
	rest, err := jsontext.AppendQuote(append(make([]byte, 0, room), `"kind":`...), m.Kind)
	if err != nil {
		return moveLine{}, fmt.Errorf("kind: %w", err)
	}
	if m.Input != nil {
		if rest, err = jsontext.AppendQuote(append(rest, `,"input":`...), *m.Input); err != nil {
			return moveLine{}, fmt.Errorf("input: %w", err)
		}
	}
	if m.State != nil {
		start := len(rest)
		rest = append(append(rest, `,"state":`...), m.State...)
		// In valid JSON a raw line break stands only between tokens.
		for i, c := range rest[start:] {
			if c == '\n' || c == '\r' {
				rest[start+i] = ' '
			}
		}
	}
	rest = append(rest, "}\n"...)
	return moveLine{rest, maphash.Bytes(hashSeed, rest)}, nil
}

// pingLine asks an engine whether it lives. Its id is 0 where moves count from 1.
const pingLine = `"kind":"ping"}` + "\n"

// idBytes is how much longer than its rest a line is at most.
const idBytes = len(`{"id":18446744073709551615,`)

// appendLine appends the whole line of a move or ping.
func appendLine(dst []byte, id uint64, rest []byte) []byte {
	dst = strconv.AppendUint(append(dst, `{"id":`...), id, 10)
	return append(append(dst, ','), rest...)
}

var (
	errLineTooLong = errors.New("its line is longer than a reply may be")
	errCutLine     = errors.New("its output ended in the middle of a line")
)

// readLine returns the next line of r without its line break, in memory of its
// own. What is not ended by a newline is no line, even if it looks whole. After an
// error the rest of the stream means nothing.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		chunk, err := r.ReadSlice('\n')
		if len(line)+len(chunk) > most+2 { // +2: a line break is not counted
			return nil, errLineTooLong
		}
		line = append(line, chunk...)
		switch {
		case err == nil:
			line = bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'})
			if len(line) > most {
				return nil, errLineTooLong
			}
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, errCutLine
		default:
			return nil, err
		}
	}
}

// An answer is what the bridge has to know of a reply line.
type answer struct {
	hasID    bool
	id       uint64
	rejected bool // "ok":false
	ready    bool // "ready":true, the greeting that some engines send first
	state    Span // of the value of "state"
}

var errNotObject = errors.New("not a JSON object")

// readAnswer checks one reply line: an object in valid UTF-8, no name twice at
// the top, ok a boolean and id a whole number where they are there. What else is
// in it is between the engine and the page.
func readAnswer(line []byte) (answer, error) {
	var a answer
	in := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true))
	if in.PeekKind() != '{' {
		return a, errNotObject
	}
	if _, err := in.ReadToken(); err != nil {
		return a, err
	}
	seen := make(map[string]bool, 8)
	for in.PeekKind() != '}' {
		token, err := in.ReadToken()
		if err != nil {
			return a, err
		}
		name := token.String()
		if seen[name] {
			return a, fmt.Errorf("%q stands twice in it", clip(name, 64))
		}
		seen[name] = true
		value, err := in.ReadValue()
		if err != nil {
			return a, err
		}
		switch name {
		case "id":
			a.hasID = true
			if a.id, err = strconv.ParseUint(string(value), 10, 64); err != nil {
				return a, fmt.Errorf("its id is %s, not a whole number", clip(string(value), 64))
			}
		case "ok":
			switch value.Kind() {
			case 't':
			case 'f':
				a.rejected = true
			default:
				return a, fmt.Errorf("its ok is %s, not a boolean", clip(string(value), 64))
			}
		case "ready":
			a.ready = value.Kind() == 't'
		case "state":
			end := int(in.InputOffset())
			a.state = Span{end - len(value), end}
		}
	}
	if _, err := in.ReadToken(); err != nil { // the closing brace
		return a, err
	}
	if _, err := in.ReadToken(); !errors.Is(err, io.EOF) {
		return a, errors.New("there is more behind the object")
	}
	return a, nil
}

// clip cuts s to at most n bytes for a log or an error text.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
