package main

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A reply is what came of a move. An engine may leave out any field, or give it
// another type; that field is then empty here, and faults says so.
type reply struct {
	Text    string
	State   jsontext.Value // handed on untouched; nil if there is none
	Place   string
	Choices []offer
	Places  []offer
	End     bool

	faults []string // what is not as the contract has it
	digest digest   // of all but the id, and a state that may be sealed
	quota  quota    // what the server grants this client; zero if it did not say
	line   []byte   // as it came
}

// An offer is a move that a reply offers.
type offer struct {
	Label string
	Kind  string
	Input *string
}

type digest = [sha256.Size]byte

// offers returns the choices and then the places: the order of their numbers.
func (r reply) offers() []offer {
	return append(r.Choices[:len(r.Choices):len(r.Choices)], r.Places...)
}

// offered returns the offer with that label.
func (r reply) offered(label string) (offer, bool) {
	for _, o := range r.offers() {
		if strings.TrimSpace(o.Label) == label {
			return o, true
		}
	}
	return offer{}, false
}

// readReply reads the engine's line. It takes what a page would take; only what
// is no JSON object is an error.
func readReply(line []byte) (reply, error) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		return reply{}, fmt.Errorf("%w: not a JSON object", errNoReply)
	}
	r := reply{line: line}
	fault := func(format string, args ...any) { r.faults = append(r.faults, fmt.Sprintf(format, args...)) }
	text := func(name string) string {
		value, ok := readString(fields[name])
		if !ok && given(fields[name]) {
			fault("%s is no string", name)
		}
		return value
	}
	if ok := fields["ok"]; given(ok) && ok.Kind() != 't' {
		fault("ok is not true")
	}
	r.Text = text("text")
	r.Place = text("place")
	if given(fields["state"]) {
		r.State = fields["state"]
	} else {
		fault("state is missing")
	}
	offers := func(name string) (list []offer) {
		if !given(fields[name]) {
			return nil
		}
		var values []jsontext.Value
		if json.Unmarshal(fields[name], &values) != nil {
			fault("%s is no array", name)
		}
		for i, value := range values {
			o, ok := readOffer(value)
			if !ok {
				fault("%s[%d] is no offer", name, i)
				continue
			}
			list = append(list, o)
		}
		return list
	}
	r.Choices = offers("choices")
	r.Places = offers("places")
	if end := fields["end"]; given(end) {
		if r.End = end.Kind() == 't'; !r.End && end.Kind() != 'f' {
			fault("end is no boolean")
		}
	}
	delete(fields, "id") // counts the engine's lines, and belongs to no move
	if r.State.Kind() == '"' {
		delete(fields, "state") // a server may have sealed it, each time in another way
	}
	same, err := json.Marshal(fields, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errNoReply, err)
	}
	r.digest = sha256.Sum256(same)
	return r, nil
}

// readOffer reads one offer: a label that can be seen, a kind, and a string or
// nothing as input.
func readOffer(value jsontext.Value) (offer, bool) {
	var fields struct {
		Label jsontext.Value `json:"label"`
		Kind  jsontext.Value `json:"kind"`
		Input jsontext.Value `json:"input"`
	}
	if value.Kind() != '{' || json.Unmarshal(value, &fields) != nil {
		return offer{}, false
	}
	var o offer
	var labelled, kinded bool
	o.Label, labelled = readString(fields.Label)
	o.Kind, kinded = readString(fields.Kind)
	if given(fields.Input) {
		input, ok := readString(fields.Input)
		if !ok {
			return offer{}, false
		}
		o.Input = &input
	}
	return o, labelled && kinded && strings.TrimSpace(o.Label) != "" && o.Kind != ""
}

// given reports whether a field is there; null is as absent.
func given(value jsontext.Value) bool { return len(value) > 0 && value.Kind() != 'n' }

func readString(value jsontext.Value) (s string, ok bool) {
	if len(value) == 0 || value.Kind() != '"' {
		return "", false
	}
	return s, json.Unmarshal(value, &s) == nil
}
