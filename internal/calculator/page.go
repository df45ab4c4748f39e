package calculator

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Config is what a [Page] needs to know. All fields must be set.
type Config struct {
	Source    string  // the page's template, with its assets named
	PerSecond float64 // tokens that a client of this server earns a second
	Burst     float64 // tokens that its bucket holds
	Policy    string  // the RateLimit-Policy field of a move's answer
	Refusal   string  // the text of a move's refusal
}

// A Page answers a form's query with a whole document. It never changes.
type Page struct {
	document *document
	cfg      Config
	presets  []preset
}

// NewPage reads the template.
func NewPage(cfg Config) (*Page, error) {
	parsed, err := parseDocument(cfg.Source)
	if err != nil {
		return nil, err
	}
	return &Page{parsed, cfg, presets(cfg)}, nil
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

// A view is what the template shows.
type view struct {
	Fields  []viewField
	Times   viewField
	Presets []preset
	Wrong   int // fields that are wrong; above 0 there is no result
	Result  *result
	Burst   *burst
	Code    *snippets
	Limits  *Config
	Kin     func(id string) *kin // what a relative does with the burst, or nil if nothing is known
	Show    func(float64) string // writes a number of the server's own
}

func (b *burst) kin(id string) *kin {
	if b == nil {
		return nil
	}
	for i := range b.Relatives {
		if k := &b.Relatives[i]; k.ID == id {
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

// Render returns the document that answers a query, and whether the query was in
// order. Without any of the form's names in it the query is the first preset's.
// host is where the page was asked for; the snippets name it.
func (p *Page) Render(query url.Values, host string) (document []byte, ok bool, err error) {
	v := p.view(query, host)
	document, err = p.document.execute(v)
	return document, err == nil && v.Wrong == 0, err
}

func (p *Page) view(query url.Values, host string) view {
	if !asks(query) {
		query = p.presets[0].query
	}
	v := view{Presets: make([]preset, len(p.presets)), Limits: &p.cfg, Show: number}
	var in Input
	for i, f := range fields {
		typed := strings.ToValidUTF8(query.Get(f.name), "�")
		x, wrong := f.readTyped(typed)
		*f.in(&in) = x
		shown := words[i]
		shown.Name, shown.Value, shown.Wrong = f.name, typed, wrong.japanese()
		if shown.Wrong != "" {
			v.Wrong++
		}
		v.Fields = append(v.Fields, shown)
	}
	typed := strings.ToValidUTF8(query.Get(timesName), "�")
	times, wrong := readTimes(typed)
	v.Times = viewField{Name: timesName, Value: typed, Wrong: wrong.japanese()}
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
	v.Kin = v.Burst.kin
	return v
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
	Origin string
	JSON   string
	Go     string
	Retry  string
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
	wait := rest.Take(0, 1).Wait
	return &snippets{
		Origin: scheme + "://" + host,
		JSON:   "{" + strings.Join(body, ",") + "}",
		Go: "bucket := ratelimit.Bucket{Capacity: " + n(a.Capacity) + ", Rate: " + n(a.RefillRate) + ", Tokens: " + n(a.Tokens) + "}\n" +
			"outcome := bucket.Take(" + n(a.Elapsed) + ", " + n(a.RequestCount) + ")\n" +
			"fmt.Println(outcome.Allowed, outcome.Remaining, outcome.Wait) // " +
			strconv.FormatBool(a.Allowed) + " " + goNumber(a.Remaining) + " " + goNumber(a.WaitSeconds),
		Retry: n(math.Ceil(wait)),
	}
}

// goNumber writes x as fmt.Println does.
func goNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
