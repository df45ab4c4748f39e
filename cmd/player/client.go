package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"kiribashiri/internal/limits"
)

const (
	// kindNew begins a game; any other kind of move is a turn of one.
	kindNew = "new"

	// answerTime bounds one request, from sending it to the end of its answer. It is
	// above all that the server itself allows a move that meets a slow engine.
	answerTime = time.Minute

	// answerBytes bounds what is read of one answer.
	answerBytes = 2 << 20
)

// A move is what a player asks of the server.
type move struct {
	Kind  string         `json:"kind"`
	Input *string        `json:"input,omitempty"`
	State jsontext.Value `json:"state,omitzero"` // the last reply's, untouched; nil for kindNew

	// BrowserID lets one play be followed in the server's log.
	BrowserID string `json:"browserId,omitzero"`
}

// A client is the way to the API of one server. It sends what it is given, once.
type client struct {
	base *url.URL
	http *http.Client
}

// newClient returns a client of the server at base that keeps up to connections
// open. It goes nowhere else: neither by a proxy of the environment's nor after a
// redirect.
func newClient(base *url.URL, connections int) *client {
	return &client{base: base, http: &http.Client{
		Transport: &http.Transport{
			MaxIdleConns:        connections,
			MaxIdleConnsPerHost: connections,
			IdleConnTimeout:     limits.Default().IdleTime / 2, // so that it is we who close an idle connection
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// A refusal is an answer other than 200.
type refusal struct {
	status int
	code   string        // of the server's error table, or the engine's own
	text   string        // for people
	after  time.Duration // of Retry-After; 0 if there is none
	quota  quota         // zero if the answer does not say
}

func (r *refusal) Error() string {
	if r.text == "" {
		return r.kind()
	}
	return r.kind() + ": " + r.text
}

// kind names the refusal in counts.
func (r *refusal) kind() string {
	if r.code == "" {
		return strconv.Itoa(r.status)
	}
	return strconv.Itoa(r.status) + " " + r.code
}

// errLost is a request whose answer did not come, wholly or in time.
var errLost = errors.New("the connection was lost")

// errNoReply is an answer of 200 that is no reply.
var errNoReply = errors.New("not a reply")

// post sends m once, on behalf of the client address from if that is not empty.
// The error is a *refusal, errLost, errNoReply, or the context's.
func (c *client) post(ctx context.Context, from string, m move) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	path := "api/turn"
	if m.Kind == kindNew {
		path = "api/new"
	}
	body, err := json.Marshal(m, jsontext.PreserveRawStrings(true))
	if err != nil {
		return reply{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "kiribashiri-player")
	if from != "" {
		request.Header.Set("X-Forwarded-For", from)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errLost, err)
	}
	defer answer.Body.Close()
	line, err := io.ReadAll(io.LimitReader(answer.Body, answerBytes+1))
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errLost, err)
	}
	said := readQuota(answer.Header.Get("RateLimit-Policy"))
	if answer.StatusCode != http.StatusOK {
		return reply{}, readRefusal(answer, line, said)
	}
	if len(line) > answerBytes {
		return reply{}, fmt.Errorf("%w: longer than %d bytes", errNoReply, answerBytes)
	}
	r, err := readReply(line)
	r.quota = said
	return r, err
}

// readRefusal makes what it can of an answer that may be a proxy's and not JSON.
func readRefusal(answer *http.Response, line []byte, said quota) *refusal {
	r := &refusal{status: answer.StatusCode, quota: said}
	var body struct {
		Code  jsontext.Value `json:"code"`
		Error jsontext.Value `json:"error"`
	}
	if json.Unmarshal(line, &body) == nil {
		r.code, _ = readString(body.Code)
		r.text, _ = readString(body.Error)
	}
	if seconds, err := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 31); err == nil {
		r.after = time.Duration(seconds) * time.Second
	}
	return r
}
