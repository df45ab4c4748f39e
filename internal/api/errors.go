package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"

	"kiribashiri/internal/calculator"
	"kiribashiri/internal/seal"
	"kiribashiri/internal/simbridge"
)

var (
	errNotFound         = errors.New("not found")
	errMethodNotAllowed = errors.New("method not allowed")
	errMediaType        = errors.New("unsupported media type")
	errCrossOrigin      = errors.New("cross-origin")
	errBadRequest       = errors.New("bad request")
	errRateLimited      = errors.New("rate limited")
	errLeft             = errors.New("client left")
)

// A plain is an error whose text is meant for the client: it is ours, and says
// what was wrong with the request and how to do it right.
type plain struct {
	kind error // in the table below
	text string
}

func (e *plain) Error() string { return e.text }
func (e *plain) Unwrap() error { return e.kind }

// statuses says what a client is told of each error: the first match wins, and
// what matches nothing is ours to explain in the log.
var statuses = []struct {
	err    error
	status int
	code   string // for programs
	text   string // for people; if empty, the error's own, which is a plain one
	retry  string // Retry-After in seconds, unless the handler has set a better one
}{
	{errNotFound, http.StatusNotFound, "not_found", "there is nothing at this address", ""},
	{errMethodNotAllowed, http.StatusMethodNotAllowed, "method_not_allowed", "this address takes another method, see Allow", ""},
	{errCrossOrigin, http.StatusForbidden, "cross_origin", "pages of this origin may not call the game", ""},
	{errMediaType, http.StatusUnsupportedMediaType, "unsupported_media_type", "the body must be application/json, in UTF-8", ""},
	{new(http.MaxBytesError), http.StatusRequestEntityTooLarge, "too_large", "the body is too large", ""},
	{errBadRequest, http.StatusBadRequest, "bad_request", "", ""},
	{seal.ErrBroken, http.StatusBadRequest, "bad_state", "this state was not made here, or has been changed", ""},
	{calculator.ErrInvalid, http.StatusBadRequest, "invalid_input", "", ""},
	{errRateLimited, http.StatusTooManyRequests, "rate_limited", "", "1"},
	{simbridge.ErrEngineDown, http.StatusServiceUnavailable, "engine_down", "the game engine is not running, try again soon", "1"},
	{simbridge.ErrQueueFull, http.StatusTooManyRequests, "queue_full", "too many moves are waiting, try again soon", "1"},
	{simbridge.ErrPoisonMove, http.StatusUnprocessableEntity, "poison_move", "the engine cannot play this move, try another", ""},
	{simbridge.ErrEngineFailed, http.StatusBadGateway, "engine_failed", "the game engine failed at this move, it may be sent again", ""},
	{simbridge.ErrEngineTimeout, http.StatusGatewayTimeout, "engine_timeout", "the game engine did not answer in time", ""},
	{errLeft, statusClientLeft, "client_left", "the client has left", ""},
	{context.Canceled, statusClientLeft, "client_left", "the client has left", ""},
	{nil, http.StatusInternalServerError, "internal", "something went wrong here", ""},
}

// statusClientLeft is nginx's number for a client that did not wait. It is for
// the log and the metrics; nobody is there to read it.
const statusClientLeft = 499

// matches is errors.Is, but any error of a body over its limit is like any other.
func matches(err, row error) bool {
	if _, ok := row.(*http.MaxBytesError); ok {
		_, ok := errors.AsType[*http.MaxBytesError](err)
		return ok
	}
	return errors.Is(err, row)
}

// refuse answers a request with what the table says of err. Of a client that has
// left it only takes note, and cuts the connection.
func (s *Server) refuse(x *exchange, err error) {
	x.err = err
	for _, row := range statuses {
		if row.err != nil && !matches(err, row.err) {
			continue
		}
		text := row.text
		if text == "" {
			text = err.Error()
		}
		x.code = row.code
		if row.status == statusClientLeft {
			x.status = row.status
			panic(http.ErrAbortHandler) // nobody is there to read an answer
		}
		if row.retry != "" && x.Header().Get("Retry-After") == "" {
			x.Header().Set("Retry-After", row.retry)
		}
		if x.isAPI() {
			said := errorBody{Code: row.code, Error: text}
			if wrong, ok := errors.AsType[*calculator.FieldError](err); ok {
				said.Field = wrong.Field
			}
			body, err := json.Marshal(said)
			if err != nil {
				panic(err) // of strings in valid UTF-8
			}
			x.sendJSON(row.status, body)
		} else {
			x.send(row.status, textMedia, []byte(text+"\n"))
		}
		return
	}
}

type errorBody struct {
	OK    bool   `json:"ok"`
	Code  string `json:"code"`
	Error string `json:"error"`
	Field string `json:"field,omitempty"` // of the calculator's question
}
