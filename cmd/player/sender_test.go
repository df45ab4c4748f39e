package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
)

// readMove reads the move of a request to a told server.
func readMove(t *testing.T, r *http.Request) (m move) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		t.Errorf("%s: %v", body, err)
	}
	return m
}

const goodReply = `{"id":1,"ok":true,"text":"はい","state":{"n":2}}`

// try sends one move to a server that answers with one answer after the other, and
// returns what each request was told and the time between them.
func try(t *testing.T, ctx context.Context, answers ...func() (*http.Response, error)) (heard []string, err error) {
	t.Helper()
	var first string
	s := sender{
		client: clientOver(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			if first == "" {
				first = string(body)
			}
			if string(body) != first {
				t.Errorf("sent again as %s, was %s", body, first)
			}
			answer := answers[0]
			answers = answers[1:]
			return answer()
		}),
		pace:  newPace(),
		tries: maxTries,
		heard: func(_ time.Duration, err error, pause time.Duration) {
			kind := "ok"
			if err != nil {
				kind = kindOf(err)
			}
			heard = append(heard, fmt.Sprintf("%s, %v", kind, pause))
		},
	}
	input := "港へ"
	_, err = s.send(ctx, move{Kind: "say", Input: &input, State: []byte(`{ "big": 12345678901234567890, "\u3042": 1.0 }`)})
	return heard, err
}

func answers(status int, body string, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) { return response(status, body, header...), nil }
}

func lost() (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func refusing(code, after string) func() (*http.Response, error) {
	return answers(429, `{"ok":false,"code":"`+code+`","error":"no"}`, "Retry-After", after)
}

func TestRefusalsAreWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		heard, err := try(t, t.Context(), refusing("rate_limited", "3"), refusing("queue_full", "1"), refusing("rate_limited", ""), answers(200, goodReply))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"429 rate_limited, 3s", "429 queue_full, 1s", "429 rate_limited, 1s", "ok, 0s"}
		if !slices.Equal(heard, want) {
			t.Errorf("heard %q, want %q", heard, want)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("took %v, want 5s", took)
		}
	})
}

func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard, err := try(t, t.Context(), slices.Repeat([]func() (*http.Response, error){refusing("rate_limited", "1")}, 1000)...)
		if refused, ok := errors.AsType[*refusal](err); !ok || refused.status != 429 || len(heard) != maxRefusals {
			t.Errorf("given up after %d refusals with %v, want %d", len(heard), err, maxRefusals)
		}
	})
}

// Each failure is waited out a little longer than the one before, within its bounds.
func TestFailuresAreTriedAgain(t *testing.T) {
	for name, failure := range map[string]func() (*http.Response, error){
		"502 engine_failed":  answers(502, `{"ok":false,"code":"engine_failed","error":"no"}`),
		"503 engine_down":    answers(503, `{"ok":false,"code":"engine_down","error":"no"}`, "Retry-After", "1"),
		"504 engine_timeout": answers(504, `{"ok":false,"code":"engine_timeout","error":"no"}`),
		"502":                answers(502, "<html>Bad Gateway</html>"), // a proxy's
		"lost connection":    lost,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard, err := try(t, t.Context(), slices.Concat(slices.Repeat([]func() (*http.Response, error){failure}, maxTries-1), []func() (*http.Response, error){answers(200, goodReply)})...)
				if err != nil || len(heard) != maxTries {
					t.Fatalf("%v after %q", err, heard)
				}
				for i, said := range heard[:maxTries-1] {
					kind, wait, _ := strings.Cut(said, ", ")
					pause, _ := time.ParseDuration(wait)
					most := min(minBackoff<<i, maxBackoff)
					least := most / 2
					if name == "503 engine_down" {
						least, most = max(least, time.Second), max(most, time.Second)
					}
					if kind != name || pause < least || pause > most {
						t.Errorf("failure %d: %s, want %s and a pause of %v to %v", i+1, said, name, least, most)
					}
				}
				_, err = try(t, t.Context(), slices.Repeat([]func() (*http.Response, error){failure}, 1000)...)
				if err == nil {
					t.Error("a server that only fails is never given up")
				}
			})
		})
	}
}

func TestOtherAnswersAreNotTriedAgain(t *testing.T) {
	for name, answer := range map[string]func() (*http.Response, error){
		"400 bad_request": answers(400, `{"ok":false,"code":"bad_request","error":"no"}`),
		"422 bad_state":   answers(422, `{"ok":false,"code":"bad_state","error":"no"}`),
		"422 poison_move": answers(422, `{"ok":false,"code":"poison_move","error":"no"}`),
		"500 internal":    answers(500, `{"ok":false,"code":"internal","error":"no"}`),
		"302":             answers(302, "", "Location", "http://192.0.2.1/"),
		"not a reply":     answers(200, "<html>"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard, err := try(t, t.Context(), answer)
				if err == nil || len(heard) != 1 || heard[0] != name+", 0s" {
					t.Errorf("heard %q, %v", heard, err)
				}
			})
		})
	}
}

// The end of a context cuts waits short at once, and a request after its grace.
func TestSendingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errOver)
		defer cancel()
		begin := time.Now()
		if _, err := try(t, ctx, refusing("rate_limited", "1000")); err != errOver || time.Since(begin) != time.Second {
			t.Errorf("%v after %v, want the end after 1s", err, time.Since(begin))
		}
		if _, err := try(t, ctx); !errors.Is(err, errUnsent) {
			t.Errorf("%v, want that nothing was sent", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errOver)
		defer cancel()
		begin := time.Now()
		s := sender{client: clientOver(silent), pace: newPace(), tries: 1, grace: 5 * time.Second}
		_, err := s.send(ctx, move{Kind: kindNew})
		if err != errOver || time.Since(begin) != 6*time.Second {
			t.Errorf("%v after %v, want the end after 6s", err, time.Since(begin))
		}
	})
}

// A reply without a state leaves the game where it was.
func TestReplyWithoutAState(t *testing.T) {
	s := sender{
		client: clientOver(func(*http.Request) (*http.Response, error) { return response(200, `{"text":"a"}`), nil }),
		pace:   newPace(), tries: 1, heard: func(time.Duration, error, time.Duration) {},
	}
	r, err := s.send(t.Context(), move{Kind: "look", State: []byte("7")})
	if err != nil || string(r.State) != "7" {
		t.Errorf("state %s, %v, want 7", r.State, err)
	}
}

// silent never answers.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestARequestIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := clientOver(silent).post(t.Context(), "", move{Kind: kindNew})
		if kindOf(err) != "no answer in time" || time.Since(begin) != answerTime {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

func TestConnectionThatIsCut(t *testing.T) {
	for _, row := range []struct{ name, sends string }{
		{"before the answer", ""},
		{"in the middle of it", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"ok\":true"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := toldServer(t, func(w http.ResponseWriter, r *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(conn, row.sends)
				conn.Close()
			})
			u, err := readURL(server)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := newClient(u, 1).post(t.Context(), "", move{Kind: kindNew}); !errors.Is(err, errLost) || kindOf(err) != "lost connection" {
				t.Errorf("%v, want a lost connection", err)
			}
		})
	}
}

// What is sent is the API's shape, the state as it came, to the address that was
// named and no other.
func TestWhatIsSent(t *testing.T) {
	var got []string
	elsewhere := toldServer(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect is followed") })
	server := toldServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s %q %q %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("X-Forwarded-For"), body))
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	t.Setenv("HTTP_PROXY", elsewhere)
	u, err := readURL(server + "/game/")
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(u, 1)
	c.post(t.Context(), "", move{Kind: kindNew, BrowserID: "b"})
	input := "霧\"の話"
	_, err = c.post(t.Context(), "198.18.0.1", move{Kind: "say", Input: &input, State: []byte(`{"a":12345678901234567890,"\u3042":1.0}`)})
	want := []string{
		`POST /game/api/new "application/json" "" {"kind":"new","browserId":"b"}`,
		`POST /game/api/turn "application/json" "198.18.0.1" {"kind":"say","input":"霧\"の話","state":{"a":12345678901234567890,"\u3042":1.0}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if kindOf(err) != "307" {
		t.Errorf("a redirect is %v", err)
	}
}
