package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"kiribashiri/internal/calculator"
)

const question = `{"capacity":10,"refill_rate":2,"tokens":5,"elapsed":1.5,"request_count":9}`

func TestTokenBucket(t *testing.T) {
	h := newHouse(t, nil)
	raw, err := os.ReadFile("../ratelimit/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name string
		In   json.RawMessage
		Out  calculator.Answer
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		answer := h.ask("POST", "/api/token-bucket", string(v.In), asJSON)
		body := bodyOf(t, answer)
		if answer.StatusCode != 200 {
			t.Errorf("%s: %d %s", v.Name, answer.StatusCode, body)
			continue
		}
		var got calculator.Answer
		in := json.NewDecoder(strings.NewReader(body))
		in.DisallowUnknownFields()
		if err := in.Decode(&got); err != nil {
			t.Errorf("%s: %s: %v", v.Name, body, err)
		}
		want := v.Out
		json.Unmarshal(v.In, &want.Input) // the question comes back, to the last digit
		want.Formula = got.Formula
		if got != want || got.Formula == "" {
			t.Errorf("%s\ngot  %+v\nwant %+v", v.Name, got, want)
		}
	}
}

func TestTokenBucketAsItIsWritten(t *testing.T) {
	h := newHouse(t, nil)
	answer := h.ask("POST", "/api/token-bucket", question, asJSON)
	want := `{"capacity":10,"refill_rate":2,"tokens":5,"elapsed":1.5,"request_count":9,"tokens_available":8,"allowed":false,` +
		`"tokens_remaining":8,"tokens_consumed":0,"deficit":1,"wait_seconds":0.5,"can_satisfy":true,"formula":"min(10, 5 + 1.5 × 2) = 8 < 9"}`
	if got := bodyOf(t, answer); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, want := range map[string]string{"Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store", "RateLimit": ""} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestTokenBucketRefusals(t *testing.T) {
	h := newHouse(t, nil)
	for _, row := range []struct {
		name, body string
		status     int
		code       string
		field      string
	}{
		{"nothing", ``, 400, "bad_request", ""},
		{"no object", `[10,2,5,1.5,3]`, 400, "bad_request", ""},
		{"null", `null`, 400, "bad_request", ""},
		{"broken", `{"capacity":10,`, 400, "bad_request", ""},
		{"no JSON number", `{"capacity":NaN}`, 400, "bad_request", ""},
		{"a leading zero", `{"capacity":010}`, 400, "bad_request", ""},
		{"two values", question + question, 400, "bad_request", ""},
		{"another field", strings.Replace(question, "{", `{"capacity_":1,`, 1), 400, "bad_request", ""},
		{"another case", strings.Replace(question, "capacity", "Capacity", 1), 400, "bad_request", ""},
		{"a field twice", strings.Replace(question, "{", `{"tokens":5,`, 1), 400, "bad_request", ""},
		{"not UTF-8", strings.Replace(question, "capacity", "\xff", 1), 400, "bad_request", ""},
		{"an empty object", `{}`, 400, "invalid_input", "capacity"},
		{"a string", strings.Replace(question, `10`, `"10"`, 1), 400, "invalid_input", "capacity"},
		{"beyond doubles", strings.Replace(question, `10`, `1e400`, 1), 400, "invalid_input", "capacity"},
		{"below doubles", strings.Replace(question, `10`, `1e-400`, 1), 400, "invalid_input", "capacity"},
		{"two wrong, in the contract's order", `{"request_count":0,"elapsed":-1,"tokens":1,"refill_rate":1,"capacity":1}`, 400, "invalid_input", "elapsed"},
		{"none wanted", strings.Replace(question, `9}`, `0}`, 1), 400, "invalid_input", "request_count"},
		{"too long", `{"capacity":` + strings.Repeat(" ", 65536) + `}`, 413, "too_large", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := h.ask("POST", "/api/token-bucket", row.body, asJSON)
			raw := bodyOf(t, answer)
			var e struct {
				OK                 *bool
				Code, Error, Field string
			}
			in := json.NewDecoder(strings.NewReader(raw))
			in.DisallowUnknownFields()
			if err := in.Decode(&e); err != nil || e.OK == nil || *e.OK || e.Error == "" {
				t.Errorf("body %s: %v", raw, err)
			}
			if answer.StatusCode != row.status || e.Code != row.code || e.Field != row.field {
				t.Errorf("%d %s, want %d %s %s", answer.StatusCode, raw, row.status, row.code, row.field)
			}
			if strings.Contains(raw, `"field"`) != (row.field != "") {
				t.Errorf("body %s", raw)
			}
		})
	}
	said(t, h.ask("POST", "/api/token-bucket", question), 415, "unsupported_media_type")
	said(t, h.ask("POST", "/api/token-bucket", question, "Content-Type: text/plain"), 415, "unsupported_media_type")
	said(t, h.ask("GET", "/api/token-bucket", ""), 405, "method_not_allowed")
}

// However often one asks, no token is spent and no engine asked.
func TestCalculatorIsFree(t *testing.T) {
	h := newHouse(t, nil)
	for range 20 {
		if answer := h.ask("POST", "/api/token-bucket", question, asJSON); answer.StatusCode != 200 {
			t.Fatalf("status %d", answer.StatusCode)
		}
		if answer := h.ask("GET", "/token-bucket", ""); answer.StatusCode != 200 {
			t.Fatalf("status %d", answer.StatusCode)
		}
	}
	if len(h.player.moves) != 0 {
		t.Errorf("%d moves were played", len(h.player.moves))
	}
	for range 2 {
		if answer := h.ask("POST", "/api/new", ""); answer.StatusCode != 200 {
			t.Errorf("the next move: %d, want a full bucket", answer.StatusCode)
		}
	}
}

func TestCalculatorsPage(t *testing.T) {
	h := newHouse(t, nil)
	const address = "/token-bucket?capacity=10&refill_rate=2&tokens=5&elapsed=1.5&request_count=9"
	answer := h.ask("GET", address, "")
	body := bodyOf(t, answer)
	if answer.StatusCode != 200 || !strings.Contains(body, "0.5秒待てば通ります") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Vary": "Accept-Encoding"} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if strings.Contains(body, "HASH") {
		t.Error("an asset without its address")
	}
	if again := h.ask("GET", address, "", "If-None-Match: "+answer.Header.Get("Etag")); again.StatusCode != 304 {
		t.Errorf("asked again: %d, want 304", again.StatusCode)
	}
	head := h.ask("HEAD", address, "")
	if head.StatusCode != 200 || head.Header.Get("Content-Length") != answer.Header.Get("Content-Length") {
		t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
	}
	packed := h.ask("GET", address, "", "Accept-Encoding: gzip")
	if packed.Header.Get("Content-Encoding") != "gzip" || len(bodyOf(t, packed)) > len(body)/2 {
		t.Error("the page is not compressed")
	}
	answer = h.ask("GET", "/token-bucket?capacity=0", "")
	if body := bodyOf(t, answer); answer.StatusCode != 400 || !strings.Contains(body, "0より大きい数") || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("a wrong field: %d %s", answer.StatusCode, body)
	}
	if answer := h.ask("POST", "/token-bucket", ""); answer.StatusCode != 405 || answer.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", answer.StatusCode, answer.Header.Get("Allow"))
	}
}

// The refusal that the page shows is the one that a client gets.
func TestShownRefusalIsTheRealOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock stands still
		for _, limits := range [][2]float64{{2, 2}, {0.4, 1.5}, {1000, 1}} {
			h := newHouse(t, func(c *Config) { c.Limits.PerIPPerSec, c.Limits.PerIPBurst = limits[0], limits[1] })
			var refused *http.Response
			for range 4 {
				refused = h.ask("POST", "/api/new", "")
				if refused.StatusCode == 429 {
					break
				}
			}
			if refused.StatusCode != 429 {
				t.Fatalf("%v: four at once, and none refused", limits)
			}
			page := bodyOf(t, h.ask("GET", "/token-bucket", ""))
			shown := regexp.MustCompile(`(?s)HTTP/1.1 429.*?</code>`).FindString(page)
			for _, want := range []string{
				"Retry-After: " + refused.Header.Get("Retry-After") + "\n",
				"RateLimit-Policy: " + refused.Header.Get("RateLimit-Policy") + "\n",
				"RateLimit: " + refused.Header.Get("RateLimit") + "\n",
				bodyOf(t, refused),
			} {
				if got := strings.NewReplacer("&#34;", `"`).Replace(shown); !strings.Contains(got, want) {
					t.Errorf("%v: the page shows\n%s\nnot %s", limits, got, want)
				}
			}
		}
	})
}

// Whatever is asked, the answer is one of the contract's, and its numbers agree
// with one another.
func FuzzTokenBucket(f *testing.F) {
	h := newHouse(&testing.T{}, nil)
	f.Add([]byte(question))
	f.Add([]byte(`{"capacity":5e-324,"refill_rate":1e308,"tokens":-0,"elapsed":1e-400,"request_count":1e308}`))
	f.Add([]byte(`{"capacity":1e400}`))
	f.Add([]byte(`{"tokens":1,"tokens":2}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		h.log.Reset()
		answer := h.ask("POST", "/api/token-bucket", string(body), asJSON)
		raw, _ := io.ReadAll(answer.Body)
		if answer.StatusCode == 400 {
			if code := string(raw); !strings.Contains(code, `"bad_request"`) && !strings.Contains(code, `"invalid_input"`) {
				t.Errorf("%s: %s", body, raw)
			}
			return
		}
		var in, out calculator.Answer
		if err := json.Unmarshal(raw, &out); err != nil || answer.StatusCode != 200 {
			t.Fatalf("%s: %d %s: %v", body, answer.StatusCode, raw, err)
		}
		if err := json.Unmarshal(body, &in); err != nil || in.Input != out.Input {
			t.Errorf("%s: comes back as %s", body, raw)
		}
		switch {
		case out.Allowed != (out.Deficit == 0), out.Allowed && (out.WaitSeconds != 0 || !out.CanSatisfy || out.Consumed != out.RequestCount),
			!out.Allowed && (out.Consumed != 0 || out.Remaining != out.Available), !out.CanSatisfy && out.WaitSeconds != 0,
			out.Remaining < 0 || out.Remaining > out.Available || out.Available > out.Capacity, bytes.Contains(raw, []byte(":-")):
			t.Errorf("%s: %s", body, raw)
		}
	})
}

// Whoever asks for page after page leaves the moves half of the time: as long as a
// page took to make, no other is made.
func TestPagesPause(t *testing.T) {
	h := newHouse(t, nil)
	for range 100 { // a test that is not run for longer than a page takes sees nothing
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/token-bucket?requests=200", nil))
		if len(h.renders) == h.cfg.Limits.Renders {
			return
		}
	}
	t.Error("the next page may be made at once")
}
