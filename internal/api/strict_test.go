package api

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A value is JSON as it was written, read by nothing that the server uses: a second
// opinion of what a text says, after RFC 8259 and I-JSON's (RFC 7493) rules for
// strings and names, and strict in all of them.
type value struct {
	kind    byte // { [ " 0 t f n
	text    string
	items   []value
	members map[string]value
	depth   int // levels of it
}

// A reader reads JSON from the left. Where it cannot go on it panics with a notStrict.
type reader struct{ rest string }

// notStrict says what is wrong.
type notStrict string

// strict reads a text that holds one value and, but for blanks, nothing else. If
// wrong is not empty it says why it is none.
func strict(text string) (v value, wrong string) {
	if !utf8.ValidString(text) {
		return value{}, "not UTF-8"
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case notStrict:
			wrong = string(e)
		default:
			panic(e)
		}
	}()
	r := &reader{text}
	v = r.value()
	if r.blanks(); r.rest != "" {
		return value{}, "more than one value"
	}
	return v, ""
}

func (r *reader) blanks() { r.rest = strings.TrimLeft(r.rest, " \t\r\n") }

func (r *reader) peek() byte {
	if r.rest == "" {
		panic(notStrict("cut off"))
	}
	return r.rest[0]
}

func (r *reader) take(what string) {
	if !strings.HasPrefix(r.rest, what) {
		panic(notStrict("no " + what))
	}
	r.rest = r.rest[len(what):]
}

func (r *reader) value() value {
	r.blanks()
	switch c := r.peek(); c {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return value{kind: '"', text: r.string()}
	case 't':
		r.take("true")
		return value{kind: c}
	case 'f':
		r.take("false")
		return value{kind: c}
	case 'n':
		r.take("null")
		return value{kind: c}
	default:
		return r.number()
	}
}

func (r *reader) object() value {
	v := value{kind: '{', members: map[string]value{}, depth: 1}
	for r.more("{", "}", len(v.members) == 0) {
		r.blanks()
		name := r.string()
		if _, twice := v.members[name]; twice {
			panic(notStrict("a name twice"))
		}
		r.blanks()
		r.take(":")
		item := r.value()
		v.members[name] = item
		v.depth = max(v.depth, item.depth+1)
	}
	return v
}

func (r *reader) array() value {
	v := value{kind: '[', depth: 1}
	for r.more("[", "]", len(v.items) == 0) {
		item := r.value()
		v.items = append(v.items, item)
		v.depth = max(v.depth, item.depth+1)
	}
	return v
}

// more takes what stands before the next item of an object or array, and reports
// whether there is one.
func (r *reader) more(begin, end string, first bool) bool {
	if first {
		r.take(begin)
		r.blanks()
		if r.peek() == end[0] {
			r.take(end)
			return false
		}
		return true
	}
	r.blanks()
	if r.peek() == end[0] {
		r.take(end)
		return false
	}
	r.take(",")
	return true
}

func (r *reader) string() string {
	r.take(`"`)
	var s strings.Builder
	for {
		switch c := r.peek(); {
		case c == '"':
			r.take(`"`)
			return s.String()
		case c < 0x20:
			panic(notStrict("a raw control character"))
		case c == '\\':
			r.take(`\`)
			s.WriteRune(r.escape())
		default:
			s.WriteByte(c)
			r.rest = r.rest[1:]
		}
	}
}

func (r *reader) escape() rune {
	c := r.peek()
	r.rest = r.rest[1:]
	if at := strings.IndexByte(`"\/bfnrt`, c); at >= 0 {
		return []rune("\"\\/\b\f\n\r\t")[at]
	}
	if c != 'u' {
		panic(notStrict("an escape that is none"))
	}
	first := r.unit()
	if !utf16.IsSurrogate(first) {
		return first
	}
	r.take(`\u`)
	pair := utf16.DecodeRune(first, r.unit())
	if pair == utf8.RuneError {
		panic(notStrict("half a pair"))
	}
	return pair
}

func (r *reader) unit() rune {
	var unit rune
	for range 4 {
		digit := strings.IndexByte("0123456789abcdef", r.peek()|0x20)
		if digit < 0 || r.peek() < '0' {
			panic(notStrict("no hexadecimal digit"))
		}
		unit = unit<<4 | rune(digit)
		r.rest = r.rest[1:]
	}
	return unit
}

func (r *reader) number() value {
	begin := r.rest
	r.rest = strings.TrimPrefix(r.rest, "-")
	if r.peek() == '0' {
		r.rest = r.rest[1:]
	} else {
		r.digits()
	}
	if strings.HasPrefix(r.rest, ".") {
		r.rest = r.rest[1:]
		r.digits()
	}
	if r.rest != "" && r.rest[0]|0x20 == 'e' {
		r.rest = r.rest[1:]
		if c := r.peek(); c == '+' || c == '-' {
			r.rest = r.rest[1:]
		}
		r.digits()
	}
	return value{kind: '0', text: begin[:len(begin)-len(r.rest)]}
}

func (r *reader) digits() {
	after := strings.TrimLeft(r.rest, "0123456789")
	if len(after) == len(r.rest) {
		panic(notStrict("no digit"))
	}
	r.rest = after
}

// same reports whether two values say the same, numbers to the letter.
func same(a, b value) bool {
	return a.kind == b.kind && a.text == b.text && slices.EqualFunc(a.items, b.items, same) && maps.EqualFunc(a.members, b.members, same)
}
