package api

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The names are other people's dashboards: they change only on purpose.
func TestMetricNames(t *testing.T) {
	h := newHouse(t, nil)
	h.ask("POST", "/api/new", "")
	h.ask("GET", "/wp-login.php", "")
	h.ask("GET", "/another/wrong/path", "")
	families, err := h.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, family := range families {
		fmt.Fprintf(&got, "%s %s", family.GetName(), strings.ToLower(family.GetType().String()))
		for _, label := range family.GetMetric()[0].GetLabel() {
			fmt.Fprintf(&got, " %s", label.GetName())
		}
		fmt.Fprintf(&got, "\n\t%s\n", family.GetHelp())
	}
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the metrics are\n%swant\n%s", got.String(), want)
	}
	if problems, err := testutil.GatherAndLint(h.registry); err != nil || len(problems) != 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	if n := testutil.ToFloat64(h.metrics.requests.WithLabelValues("other", "404", "not_found")); n != 2 {
		t.Errorf("two unknown paths are counted as %v under other", n)
	}
}

// An alert on the rate of failures must see the first one, too.
func TestMovesAreCountedFromZero(t *testing.T) {
	h := newHouse(t, nil)
	families, err := h.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	zero := make(map[string]bool)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "kiri_requests_total" && metric.GetCounter().GetValue() == 0 {
				labels := metric.GetLabel() // code, route, status
				zero[labels[1].GetValue()+" "+labels[2].GetValue()+" "+labels[0].GetValue()] = true
			}
		}
	}
	for _, want := range []string{"new 200 ok", "turn 200 ok", "turn 422 rejected", "turn 429 rate_limited", "new 502 engine_failed", "turn 504 engine_timeout", "turn 500 internal"} {
		if !zero[want] {
			t.Errorf("%s is not counted before it happens", want)
		}
	}
}

func TestAdmin(t *testing.T) {
	h := newHouse(t, nil)
	admin := Admin(h.registry)
	for path, status := range map[string]int{"/metrics": 200, "/debug/pprof/": 200, "/debug/pprof/cmdline": 200, "/": 404, "/api/turn": 404} {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
	}
}
