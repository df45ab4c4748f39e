//go:build linux && !race

package deploy_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A dashboard is what Grafana's file says, as far as it can be wrong.
type dashboard struct {
	Panels []struct {
		ID         int
		Type       string
		Title      string
		Datasource source
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			RefID      string
			Expr       string
			Datasource source
		}
	}
	Templating struct {
		List []struct {
			Name       string
			Type       string
			Query      any
			Datasource source
			Definition string
		}
	}
	Annotations struct {
		List []struct {
			Datasource source
			Expr       string
		}
	}
}

type source struct{ UID string }

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(readFile(t, "grafana/dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// concrete puts values in the place of Grafana's variables.
var concrete = strings.NewReplacer("$__rate_interval", "5m", "$job", "kiribashiri", "$caddy", "caddy")

// queries returns all of the dashboard's, by where they stand.
func (d *dashboard) queries() map[string]string {
	all := make(map[string]string)
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all[panel.Title+" "+target.RefID] = target.Expr
		}
	}
	for _, annotation := range d.Annotations.List {
		all["annotation"] = annotation.Expr
	}
	return all
}

func TestDashboardHoldsTogether(t *testing.T) {
	d := readDashboard(t)
	const ours = "${datasource}"
	variables := make(map[string]string)
	for _, v := range d.Templating.List {
		variables[v.Name] = v.Type
		if v.Type == "query" && v.Datasource.UID != ours {
			t.Errorf("the variable %s is not asked of the chosen data source", v.Name)
		}
	}
	if variables["datasource"] != "datasource" || variables["job"] != "query" {
		t.Errorf("the variables are %v", variables)
	}
	ids := make(map[int]string)
	taken := make(map[[2]int]string)
	for _, panel := range d.Panels {
		if other, ok := ids[panel.ID]; ok || panel.ID == 0 {
			t.Errorf("%s and %s both have the id %d", panel.Title, other, panel.ID)
		}
		ids[panel.ID] = panel.Title
		g := panel.GridPos
		if g.W <= 0 || g.H <= 0 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
			t.Errorf("%s stands outside the grid: %+v", panel.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("%s stands on %s", panel.Title, other)
				}
				taken[[2]int{x, y}] = panel.Title
			}
		}
		if panel.Type == "row" {
			continue
		}
		if panel.Datasource.UID != ours || len(panel.Targets) == 0 {
			t.Errorf("%s asks %q %d questions", panel.Title, panel.Datasource.UID, len(panel.Targets))
		}
		letters := make(map[string]bool)
		for _, target := range panel.Targets {
			if target.Datasource.UID != ours || letters[target.RefID] {
				t.Errorf("%s %s: asked of %q, or twice the same letter", panel.Title, target.RefID, target.Datasource.UID)
			}
			letters[target.RefID] = true
		}
	}
	if len(d.Annotations.List) == 0 || !strings.Contains(d.Annotations.List[0].Expr, "kiri_start_time_seconds") || d.Annotations.List[0].Datasource.UID != ours {
		t.Error("the server's starts are no annotation")
	}
	for where, query := range d.queries() {
		if !strings.Contains(query, `job="$job"`) && !strings.Contains(query, `job="$caddy"`) {
			t.Errorf("%s does not ask about the chosen job: %s", where, query)
		}
	}
}

// Every query of the dashboard can be read by Prometheus.
func TestDashboardIsPromQL(t *testing.T) {
	promtool := program(t, "promtool")
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	d := readDashboard(t)
	var all []rule
	for _, query := range d.queries() {
		all = append(all, rule{"query:one:ok" + strings.Repeat("x", len(all)), concrete.Replace(query)})
	}
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": all}}}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// exportedByCaddy returns what a Caddy exports that hands on to a server and has
// answered for it, with metrics turned on as the document says.
func exportedByCaddy(t *testing.T) map[string][]map[string]string {
	t.Helper()
	caddy := program(t, "caddy")
	upstream := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(upstream.Close)
	admin, front := freeAddr(t), freeAddr(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(`{
	admin `+admin+`
	servers {
		metrics
	}
}
http://`+front+` {
	reverse_proxy `+upstream.Listener.Addr().String()+`
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(caddy, "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var all map[string][]map[string]string
	eventually(t, "Caddy has counted an answer", func() bool {
		answer, err := http.Get("http://" + front)
		if err != nil {
			return false
		}
		answer.Body.Close()
		all = scrape(t, "http://"+admin+"/metrics")
		return all["caddy_http_request_duration_seconds_count"] != nil
	})
	return all
}
