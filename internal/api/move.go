package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"kiribashiri/internal/ratelimit"
	"kiribashiri/internal/simbridge"
)

// kindNew is the kind of move that begins a game; only /api/new makes it.
const kindNew = "new"

func (s *Server) newGame(x *exchange, r *http.Request) error {
	m, err := s.decodeNew(x, r)
	if err != nil {
		return err
	}
	return s.play(x, r, m)
}

func (s *Server) turn(x *exchange, r *http.Request) error {
	m, err := s.decodeTurn(x, r)
	if err != nil {
		return err
	}
	return s.play(x, r, m)
}

// play charges the client for a move that is in order, has it played and hands
// the engine's line back as it came, but for a state that is to be sealed.
func (s *Server) play(x *exchange, r *http.Request, m simbridge.Move) error {
	x.kind = m.Kind
	client := clientAddr(r, s.cfg.Proxies)
	x.client = ratelimit.Client(client)
	decision := s.cfg.Limiter.Take(client)
	s.sayWhereClientStands(x.Header(), decision)
	if !decision.Allowed() {
		x.Header().Set("Retry-After", seconds(decision.Wait))
		return &plain{errRateLimited, s.rateText}
	}
	reply, err := s.cfg.Player.Play(r.Context(), m)
	x.reply = reply
	if err != nil {
		return err
	}
	status := http.StatusOK
	if reply.Rejected {
		status, x.code = http.StatusUnprocessableEntity, "rejected"
	}
	x.sendJSON(status, s.sealed(reply))
	return nil
}

// sayWhereClientStands sets the fields of draft-ietf-httpapi-ratelimit-headers-12:
// r is how many more moves may come at once, t in how many seconds one more may.
func (s *Server) sayWhereClientStands(h http.Header, d ratelimit.Decision) {
	h["Ratelimit-Policy"] = s.ratePolicy
	h["Ratelimit"] = []string{`"ip";r=` + strconv.FormatInt(min(d.Remaining, maxField), 10) + ";t=" + seconds(d.Next)}
}

// maxField is the largest integer of a structured field (RFC 9651).
const maxField = 999_999_999_999_999

// ratePolicy describes a bucket in that draft's words: a quota of q moves in w
// seconds, which is a full bucket and the time an empty one takes to fill.
func ratePolicy(perSecond, burst float64) string {
	quota := min(math.Floor(burst), maxField)
	window := min(max(math.Ceil(burst/perSecond), 1), maxField)
	return fmt.Sprintf(`"ip";q=%.0f;w=%.0f`, quota, window)
}

// seconds rounds up to whole seconds, so that who waits that long has waited
// long enough.
func seconds(d time.Duration) string {
	n := d / time.Second
	if d%time.Second > 0 {
		n++
	}
	return strconv.FormatInt(int64(n), 10)
}

// A body is the JSON object of a move as a client sends it.
type body struct {
	Kind      jsontext.Value `json:"kind"`
	Input     *string        `json:"input"`
	State     jsontext.Value `json:"state"`
	BrowserID *string        `json:"browserId"`
}

func (s *Server) decodeTurn(x *exchange, r *http.Request) (simbridge.Move, error) {
	if !isJSON(r) {
		return simbridge.Move{}, errMediaType
	}
	raw, err := s.readBody(x, r)
	if err != nil {
		return simbridge.Move{}, err
	}
	m, err := s.parse(x, raw)
	if err != nil {
		return simbridge.Move{}, err
	}
	if m.Kind == "" {
		return simbridge.Move{}, bad(`"kind" is missing`)
	}
	if !s.kinds[m.Kind] {
		return simbridge.Move{}, bad("unknown kind %s, known are: %s", shown(m.Kind), strings.Join(s.cfg.Kinds, ", "))
	}
	m.State, err = s.opened(m.State)
	return m, err
}

// decodeNew differs from decodeTurn in that everything may be left out, the body
// with its media type included.
func (s *Server) decodeNew(x *exchange, r *http.Request) (simbridge.Move, error) {
	typed := isJSON(r)
	if !typed && r.ContentLength > 0 {
		return simbridge.Move{}, errMediaType
	}
	raw, err := s.readBody(x, r)
	switch {
	case err != nil && (typed || !matches(err, new(http.MaxBytesError))):
		return simbridge.Move{}, err
	case err == nil && len(raw) == 0:
		return simbridge.Move{Kind: kindNew}, nil
	case !typed:
		return simbridge.Move{}, errMediaType
	}
	m, err := s.parse(x, raw)
	if err != nil {
		return simbridge.Move{}, err
	}
	if m.Kind != "" && m.Kind != kindNew {
		return simbridge.Move{}, bad(`"kind" must be "new" or left out here`)
	}
	if m.State != nil && string(m.State) != "null" {
		return simbridge.Move{}, bad(`"state" must be null or left out, since a new game has none`)
	}
	m.Kind, m.State = kindNew, nil
	return m, nil
}

// isJSON reports whether the request says that its body is JSON in UTF-8.
func isJSON(r *http.Request) bool {
	field := r.Header.Get("Content-Type")
	if field == "application/json" { // as browsers write it
		return true
	}
	media, parameters, err := mime.ParseMediaType(field)
	if err != nil || media != "application/json" {
		return false
	}
	charset, given := parameters["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}

// Of a body so many bytes are made room for at first, whatever its sender says of it;
// most bodies fit.
const (
	leastRead = 512
	firstRead = 8 << 10
)

// readBody reads the whole body, within its limits of size and time.
func (s *Server) readBody(x *exchange, r *http.Request) ([]byte, error) {
	limit := s.cfg.Limits.BodyBytes
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	// A sender's word for the length buys no memory before the bytes are there.
	raw := make([]byte, 0, min(max(r.ContentLength, leastRead), firstRead)+1) // +1: to meet the end
	in := r.Body
	if r.ContentLength < 0 {
		in = http.MaxBytesReader(x.ResponseWriter, r.Body, limit)
	}
	for {
		n, err := in.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			// The engine may think longer than a request may take to come.
			http.NewResponseController(x.ResponseWriter).SetReadDeadline(time.Time{})
			return raw, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, bad("the body did not come in time")
		case errors.Is(err, io.ErrUnexpectedEOF) || r.Context().Err() != nil:
			return nil, errLeft
		case matches(err, new(http.MaxBytesError)):
			x.Header().Set("Connection", "close") // nobody reads the rest to its end, wherever that is
			return nil, err
		default:
			return nil, bad("the body cannot be read")
		}
		if len(raw) == cap(raw) {
			raw = append(raw, 0)[:len(raw)]
		}
	}
}

// parse reads a move and checks all that does not depend on the route.
func (s *Server) parse(x *exchange, raw []byte) (simbridge.Move, error) {
	lim := &s.cfg.Limits
	var b body
	if err := decode(raw, &b, lim.Depth); err != nil {
		return simbridge.Move{}, err
	}
	m := simbridge.Move{Input: b.Input, State: b.State}
	if b.Kind != nil {
		kind, err := jsontext.AppendUnquote(nil, b.Kind)
		if err != nil {
			return simbridge.Move{}, bad(`"kind" must be a string`)
		}
		if len(kind) == 0 {
			return simbridge.Move{}, bad(`"kind" is empty`)
		}
		m.Kind = string(kind)
	}
	if b.Input != nil {
		if utf8.RuneCountInString(*b.Input) > lim.InputChars {
			return simbridge.Move{}, bad(`"input" is longer than %d characters`, lim.InputChars)
		}
		if strings.ContainsFunc(*b.Input, isControl) {
			return simbridge.Move{}, bad(`"input" has a control character in it`)
		}
	}
	if b.BrowserID != nil {
		if utf8.RuneCountInString(*b.BrowserID) > lim.BrowserIDChars {
			return simbridge.Move{}, bad(`"browserId" is longer than %d characters`, lim.BrowserIDChars)
		}
		x.browser = *b.BrowserID
	}
	return m, nil
}

// decode reads one JSON object, nested at most depth levels, into what v points to.
// It refuses a field that v has not.
func decode(raw []byte, v any, depth int) error {
	if first := bytes.TrimLeft(raw[:min(len(raw), 64)], " \t\r\n"); len(first) > 0 && first[0] != '{' {
		return bad("the body must be a JSON object")
	}
	if deeper(raw, depth) { // asked first, since Unmarshal recurses
		return bad("nested deeper than %d levels", depth)
	}
	if err := json.Unmarshal(raw, v, json.RejectUnknownMembers(true)); err != nil {
		return explain(raw, err)
	}
	return nil
}

func isControl(c rune) bool { return c < 0x20 || c == 0x7f }

// deeper reports whether JSON is nested deeper than most levels. Of what is not valid
// it says so at least if a parser would come so deep before it finds that out.
func deeper(text []byte, most int) bool {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// explain says in our words what is wrong with a body.
func explain(raw []byte, err error) error {
	if len(raw) == 0 {
		return bad("the body is empty")
	}
	if at := invalidUTF8(raw); at >= 0 {
		return bad("not UTF-8 at byte %d", at)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return bad("the name %s stands twice in one object", shown(e.JSONPointer.LastToken()))
		}
		return bad("not valid JSON at byte %d", e.ByteOffset)
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		name := shown(e.JSONPointer.LastToken())
		if errors.Is(err, json.ErrUnknownName) {
			return bad("unknown field %s", name)
		}
		return bad("%s must be a string", name)
	}
	return bad("not valid JSON")
}

// invalidUTF8 returns where raw stops being UTF-8, or -1.
func invalidUTF8(raw []byte) int {
	for i := 0; i < len(raw); {
		c, size := utf8.DecodeRune(raw[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// shown quotes what a client wrote, cut to a length at which it can be shown back.
func shown(s string) string {
	const most = 40 // characters
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}

func bad(format string, args ...any) error {
	return &plain{errBadRequest, fmt.Sprintf(format, args...)}
}
