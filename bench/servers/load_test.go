package servers

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// served is a server that knows who has asked what.
func served(t *testing.T, answer http.HandlerFunc) (addr string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func testLoad(addr string, clients int) *load {
	return &load{
		addr: addr, core: anyCore, clients: clients, lasts: 50 * time.Millisecond,
		request: turnRequest(moveBody(200)), status: http.StatusOK,
		clock: func() (time.Duration, error) { return 0, nil },
	}
}

func TestEveryClientHasAnAddressAndAsksInTurn(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	under := map[string]bool{}
	addr := served(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !json.Valid(body) {
			t.Errorf("the body is %q, %v", body, err)
		}
		client := r.Header.Get("X-Forwarded-For")
		mu.Lock()
		if under[client] {
			t.Errorf("%s asks before it has its answer", client)
		}
		under[client] = true
		asked[client]++
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		under[client] = false
		mu.Unlock()
		// More than one read of the client's, and in parts.
		w.Header().Set("Content-Length", strconv.Itoa(100<<10))
		io.WriteString(w, strings.Repeat("x", 100<<10))
	})
	got, err := testLoad(addr, 3).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 3 {
		t.Errorf("the clients' addresses are %v, want three", asked)
	}
	all := 0
	for _, n := range asked {
		all += n
	}
	// Not counted are each one's first, and what was under way at the end.
	if got.answers < 1 || got.answers+3+2 != all || len(got.latencies) != got.answers {
		t.Errorf("%d answers counted, %d latencies, %d requests made", got.answers, len(got.latencies), all)
	}
	if sample := got.sample(); sample["p50"] < 1000 {
		t.Errorf("the median is %v µs where each answer takes a millisecond", sample["p50"])
	}
}

func TestAnotherStatusEndsALoad(t *testing.T) {
	addr := served(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusTeapot) })
	if _, err := testLoad(addr, 1).run(t.Context()); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("got %v, want the answer that came", err)
	}
}

func TestAClosedConnectionEndsALoad(t *testing.T) {
	addr := served(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := testLoad(addr, 1).run(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestMeasureHead(t *testing.T) {
	for _, c := range []struct {
		name, got string
		want      int
		wrong     bool
	}{
		{"whole", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 0, false},
		{"body to come", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab", 3, false},
		{"head to come", "HTTP/1.1 200 OK\r\nContent-Le", -1, false},
		{"another status", "HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", 0, true},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := measureHead([]byte(c.got), http.StatusOK)
			if got != c.want && !c.wrong || (err != nil) != c.wrong {
				t.Errorf("got %d, %v, want %d", got, err, c.want)
			}
		})
	}
}

func TestMovesHaveTheirSize(t *testing.T) {
	for _, size := range sizes {
		body := moveBody(size.bytes)
		if !json.Valid(body) || len(body) > size.bytes || len(body) < size.bytes*8/10 {
			t.Errorf("%s: the body has %d bytes: %.100s", size.name, len(body), body)
		}
		if line := append([]byte(`{"id":1,`), engineLine(body)...); !json.Valid(line) {
			t.Errorf("%s: the line is %.100s", size.name, line)
		}
	}
}

func TestProcessTimeIsThatOfTheProcess(t *testing.T) {
	var before, after unix.Timespec
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &before)
	got, err := processTime(unix.Getpid())
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &after)
	if err != nil || got < time.Duration(before.Nano()) || got > time.Duration(after.Nano()) {
		t.Errorf("got %v, %v, want between %v and %v", got, err, time.Duration(before.Nano()), time.Duration(after.Nano()))
	}
}
