package conform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"kiribashiri/internal/seal"
	"kiribashiri/internal/simbridge"
)

// What becomes of a reply on the page, and of its state on the way back.

// An offer is a move that a reply proposes, as far as the page and the server
// would let it through.
type offer struct {
	kind  string
	input *string
}

// offersIn returns what of a reply's offers a player could press with success.
func offersIn(line []byte, cfg *Config) []offer {
	var usable []offer
	all := members(line)
	for _, field := range []string{"places", "choices"} {
		for _, one := range list(all[field]) {
			if o, wrong := readOffer(one, cfg); wrong == "" {
				usable = append(usable, o)
			}
		}
	}
	return usable
}

// readOffer returns an offer, or what is wrong with it.
func readOffer(value jsontext.Value, cfg *Config) (o offer, wrong string) {
	if value.Kind() != '{' {
		return o, "is no object"
	}
	all := members(value)
	if label, ok := text(all["label"]); !ok || strings.TrimSpace(label) == "" {
		return o, `has no "label", so the page shows no button for it`
	}
	kind, ok := text(all["kind"])
	switch {
	case !ok:
		return o, `has no "kind", so the page shows no button for it`
	case !slices.Contains(cfg.Kinds, kind):
		return o, fmt.Sprintf("has the kind %s, which is not among KIRI_KINDS (%s): the server refuses it", show([]byte(kind)), strings.Join(cfg.Kinds, ","))
	}
	o.kind = kind
	if input := all["input"]; len(input) > 0 && input.Kind() != 'n' {
		s, ok := text(input)
		switch {
		case !ok:
			return o, `has an "input" that is no string, so the page shows no button for it`
		case utf8.RuneCountInString(s) > cfg.Limits.InputChars:
			return o, fmt.Sprintf(`has an "input" of more than %d characters: the server refuses it`, cfg.Limits.InputChars)
		case strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }):
			return o, `has a control character in its "input": the server refuses it`
		}
		o.input = &s
	}
	return o, ""
}

// watchOffers warns of what the page cannot show of a reply.
func (c *check) watchOffers(m simbridge.Move, r reply) {
	all := members(r.line)
	warn := func(format string, args ...any) { c.warn(ruleOffers, fmt.Sprintf(format, args...), r.line) }
	is := func(field string, wanted string, kinds ...jsontext.Kind) {
		value, there := all[field]
		if there && value.Kind() != 'n' && !slices.Contains(kinds, value.Kind()) {
			warn("%q is %s.", field, "no "+wanted)
		}
	}
	if r.a.Rejected {
		if _, ok := text(all["error"]); !ok {
			warn(`It refuses a move without a text at "error", so the page has nothing of its own to tell.`)
		}
		return
	}
	is("text", "string", '"')
	is("place", "string", '"')
	is("end", "boolean", 't', 'f')
	is("choices", "array", '[')
	is("places", "array", '[')
	if said, ok := text(all["text"]); !there(all["text"]) || ok && said == "" {
		warn(`A reply to %s has no "text": the player sees nothing.`, m.Kind)
	}
	for _, field := range []string{"choices", "places"} {
		offers := list(all[field])
		if len(offers) > c.cfg.Limits.PageOffers {
			warn("%q has more than %d offers; the page shows no more.", field, c.cfg.Limits.PageOffers)
		}
		for _, one := range offers {
			if _, wrong := readOffer(one, c.cfg); wrong != "" {
				warn("An offer in %q %s.", field, wrong)
			}
		}
	}
}

func there(value jsontext.Value) bool { return len(value) > 0 && value.Kind() != 'n' }

func list(value jsontext.Value) []jsontext.Value {
	var all []jsontext.Value
	if json.Unmarshal(value, &all, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return all
}

func text(value jsontext.Value) (string, bool) {
	var s string
	if value.Kind() != '"' || json.Unmarshal(value, &s) != nil {
		return "", false
	}
	return s, true
}

// watchState finds what keeps a state from coming back as it is.
func (c *check) watchState(state, line []byte) {
	f := c.finding(ruleBrowser)
	if f.Verdict == Wrong {
		return
	}
	if what := stuck(state, c.cfg); what != "" {
		c.judge(ruleBrowser, &fault{what: what, came: []string{show(line)}})
	}
}

func (c *check) judgeBrowser() {
	if f := c.finding(ruleBrowser); f.Verdict != Wrong {
		largest := 0
		for _, p := range c.script {
			largest = max(largest, len(stateOf(p.reply.line)))
		}
		c.note(ruleBrowser, "up to %d bytes", largest)
		c.judge(ruleBrowser, nil)
	}
}

// bodyAround is about what a request's body has besides the state, in bytes: a kind,
// an input of the usual length and a browserId.
const bodyAround = 1 << 10

// stuck says why a state would not come back unchanged, or nothing.
func stuck(state []byte, cfg *Config) string {
	lim := &cfg.Limits
	size, what := len(state), "A state"
	if cfg.Sealed {
		size, what = seal.Size(size), "Sealed, a state"
	}
	if int64(size)+bodyAround > lim.BodyBytes {
		return fmt.Sprintf("%s of %d bytes does not fit into a request, which may have %d (KIRI_BODY_BYTES): the server answers 413.", what, len(state), lim.BodyBytes)
	}
	in := jsontext.NewDecoder(bytes.NewReader(state))
	for {
		token, err := in.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return ""
		case err != nil: // the reply was read, so it is a name that stands twice
			return "The server refuses the state with 400: " + plain(err) + "."
		case in.StackDepth()+1 > lim.Depth:
			return fmt.Sprintf("The state is nested so deeply that a request with it has more than %d levels: the server answers 400.", lim.Depth)
		case token.Kind() == '0':
			if changed := asInBrowser(token.String()); changed != "" {
				return fmt.Sprintf("The state has the number %s, and a browser sends back %s: its numbers have 53 bits. Write large numbers, such as a seed, as strings.", show([]byte(token.String())), changed)
			}
		}
	}
}

// asInBrowser returns what a browser makes of a number, or nothing if that is the
// same to anybody who reads numbers as doubles.
func asInBrowser(number string) string {
	double, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return "null"
	}
	whole, ok := new(big.Int).SetString(number, 10)
	if !ok {
		return ""
	}
	if exact, _ := big.NewFloat(double).Int(nil); exact.Cmp(whole) == 0 {
		return ""
	}
	return strconv.FormatFloat(double, 'f', 0, 64)
}
