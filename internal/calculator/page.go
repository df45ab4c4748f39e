package calculator

import (
	"bytes"
	"context"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.1100 generate -f page.templ

// Config is what a [Page] needs to know. All fields must be set.
type Config struct {
	Asset func(name string) string // the address of one of the site's files

	PerSecond float64 // tokens that a client of this server earns a second
	Burst     float64 // tokens that its bucket holds
	Policy    string  // the RateLimit-Policy field of a move's answer
	Refusal   string  // the text of a move's refusal
}

// A Page answers a form's query with a whole document. It never changes.
type Page struct {
	cfg     Config
	presets []preset
}

// NewPage returns the page of a server with such limits.
func NewPage(cfg Config) *Page {
	return &Page{cfg, presets(cfg)}
}

// A preset is a question worth asking, as a link.
type preset struct {
	Name    string
	Address string
	Chosen  bool
	query   url.Values
}

func presets(cfg Config) []preset {
	here := Input{Capacity: cfg.Burst, RefillRate: cfg.PerSecond, Tokens: cfg.Burst, RequestCount: 1}
	edge := min(cfg.Burst/cfg.PerSecond, largest/2) // where the first window ends
	before, after := up(edge*0.95), up(edge*1.05)
	all := []preset{
		{Name: "このサーバーの設定（毎秒" + number(cfg.PerSecond) + "回）", query: here.query("0 0 0 0.4 1.2")},
		{Name: "一気に5回", query: here.query("0 0 0 0 0")},
		{Name: "0.1秒ごとに20回", query: here.query("20回 0.1秒ごと")},
		{Name: "窓の境目", query: here.query(strings.Join([]string{before, before, before, after, after, after}, " "))},
		{Name: "1.5秒後に3個", query: Input{10, 2, 5, 1.5, 3}.query("")},
		{Name: "満タン", query: Input{10, 2, 9, 60, 10}.query("")},
		{Name: "補充なし", query: Input{10, 0, 2, 60, 3}.query("")},
	}
	for i := range all {
		all[i].Address = "?" + all[i].query.Encode()
	}
	return all
}

const timesName = "times"

// query is the question as the page's address has it.
func (in Input) query(times string) url.Values {
	query := make(url.Values)
	for _, f := range fields {
		query.Set(f.name, number(*f.in(&in)))
	}
	if times != "" {
		query.Set(timesName, times)
	}
	return query
}

// A view is what page.templ shows.
type view struct {
	Fields  []viewField
	Times   viewField
	Presets []preset
	Wrong   int // fields that are wrong; above 0 there is no result
	Result  *result
	Burst   *burst
	Code    *snippets
	Config  *Config
}

// Kin returns what a relative does with the burst, or nil if nothing is known.
func (v view) Kin(id string) *kin {
	if v.Burst == nil {
		return nil
	}
	for i := range v.Burst.Relatives {
		if k := &v.Burst.Relatives[i]; k.ID == id {
			return k
		}
	}
	return nil
}

type viewField struct {
	Name, Label, Unit, Hint string
	Value                   string // as it was typed
	Wrong                   string // what is wrong with it, or ""
}

func (f viewField) describedBy() string { return f.Name + "-hint " + f.Name + "-wrong" }
func (f viewField) invalid() string     { return strconv.FormatBool(f.Wrong != "") }

// Render returns the document that answers a query, and whether the query was in
// order. Without any of the form's names in it the query is the first preset's.
// host is where the page was asked for; the snippets name it.
func (p *Page) Render(query url.Values, host string) (document []byte, ok bool, err error) {
	if !asks(query) {
		query = p.presets[0].query
	}
	v := view{Presets: make([]preset, len(p.presets)), Config: &p.cfg}
	var in Input
	for i, f := range fields {
		typed := typed(query, f.name)
		x, wrong := f.readTyped(typed)
		*f.in(&in) = x
		shown := words[i]
		shown.Name, shown.Value, shown.Wrong = f.name, typed, wrong.japanese()
		if shown.Wrong != "" {
			v.Wrong++
		}
		v.Fields = append(v.Fields, shown)
	}
	list := typed(query, timesName)
	times, wrong := readTimes(list)
	v.Times = timesWords
	v.Times.Name, v.Times.Value, v.Times.Wrong = timesName, list, wrong.japanese()
	if v.Times.Wrong != "" {
		v.Wrong++
	}
	for i, preset := range p.presets {
		preset.Chosen = same(preset.query, query)
		v.Presets[i] = preset
	}
	if v.Wrong == 0 {
		answer := Calculate(in)
		v.Result = newResult(answer)
		v.Burst = newBurst(in, times)
		v.Code = newSnippets(answer, p.cfg, host)
	}
	var out bytes.Buffer
	// It is made within a few milliseconds, and nothing in it waits.
	if err := page(v).Render(context.Background(), &out); err != nil {
		return nil, false, err
	}
	return out.Bytes(), v.Wrong == 0, nil
}

// typed returns what was typed into a field, with a sign for each character that
// no document can hold.
func typed(query url.Values, name string) string {
	const sign = "\uFFFD"
	return strings.ReplaceAll(strings.ToValidUTF8(query.Get(name), sign), "\x00", sign)
}

func asks(query url.Values) bool {
	for _, f := range fields {
		if query.Has(f.name) {
			return true
		}
	}
	return query.Has(timesName)
}

// same reports whether the form would show the same for both.
func same(a, b url.Values) bool {
	for _, f := range fields {
		if a.Get(f.name) != b.Get(f.name) {
			return false
		}
	}
	return a.Get(timesName) == strings.TrimSpace(b.Get(timesName))
}

// snippets are the question for programs, and what a move's refusal looks like.
type snippets struct {
	Ask     string // the calculator, from a shell
	Begin   string // a game
	Refused string // an answer as it goes over the wire
	Go      string
}

// plainHost is a host that may stand in a command line.
var plainHost = regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?$`)

func newSnippets(a Answer, cfg Config, host string) *snippets {
	if len(host) > 255 || !plainHost.MatchString(host) {
		host = "localhost"
	}
	scheme := "https" // the proxy's; only on this machine is there none
	if name := strings.TrimRight(host, ":0123456789"); name == "localhost" || strings.HasPrefix(host, "127.") || strings.HasPrefix(host, "[::1]") {
		scheme = "http"
	}
	body := make([]string, len(fields))
	for i, f := range fields {
		body[i] = strconv.Quote(f.name) + ":" + number(*f.in(&a.Input))
	}
	n := number
	full := Input{Capacity: cfg.Burst, RefillRate: cfg.PerSecond, Tokens: cfg.Burst}
	rest := full.bucket()
	rest.Tokens = rest.Take(0, math.Floor(cfg.Burst)).Remaining // after as many moves as pass at once
	wait := n(math.Ceil(rest.Take(0, 1).Wait))
	return &snippets{
		Ask: "curl -X POST " + scheme + "://" + host + "/api/token-bucket \\\n" +
			"  -H 'Content-Type: application/json' \\\n" +
			"  -d '{" + strings.Join(body, ",") + "}'",
		Begin: "curl -i -X POST " + scheme + "://" + host + "/api/new",
		Refused: "HTTP/1.1 429 Too Many Requests\n" +
			"Retry-After: " + wait + "\n" +
			"RateLimit-Policy: " + cfg.Policy + "\n" +
			`RateLimit: "ip";r=0;t=` + wait + "\n\n" +
			`{"ok":false,"code":"rate_limited","error":"` + cfg.Refusal + `"}`,
		Go: "bucket := ratelimit.Bucket{Capacity: " + n(a.Capacity) + ", Rate: " + n(a.RefillRate) + ", Tokens: " + n(a.Tokens) + "}\n" +
			"outcome := bucket.Take(" + n(a.Elapsed) + ", " + n(a.RequestCount) + ")\n" +
			"fmt.Println(outcome.Allowed, outcome.Remaining, outcome.Wait) // " +
			strconv.FormatBool(a.Allowed) + " " + goNumber(a.Remaining) + " " + goNumber(a.WaitSeconds),
	}
}

// goNumber writes x as fmt.Println does.
func goNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
