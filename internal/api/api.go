// Package api is the server's HTTP: which route a request is for, whether it may
// pass, whom it is charged to, and what is said when something is wrong.
//
// It owns nothing that lasts. The limiter decides who may move and the bridge
// plays; this package asks them in the contract's order and turns what they say
// into an answer. The one thing that must not happen is that an answer shows more
// than the contract has: every status, code and text stands in one table
// (errors.go).
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kiribashiri/internal/calculator"
	"kiribashiri/internal/limits"
	"kiribashiri/internal/ratelimit"
	"kiribashiri/internal/seal"
	"kiribashiri/internal/simbridge"
	"kiribashiri/internal/static"
)

// A Player has an engine play moves. The bridge is one.
type Player interface {
	Play(context.Context, simbridge.Move) (simbridge.Reply, error)
	Status() simbridge.Status
}

// A Limiter says whether a client may move. It keeps nobody waiting.
type Limiter interface {
	// Take takes one of client's tokens if there is one.
	Take(client netip.Addr) ratelimit.Decision
	// Clients is how many clients are remembered.
	Clients() int
}

// Config is what a [Server] needs to know. All fields must be set, but Origins
// may be empty, and without a Seal states go in the open.
type Config struct {
	Limits  limits.Limits
	Kinds   []string       // the kinds of move that the engine knows
	Proxies []netip.Prefix // peers whose X-Forwarded-For is believed
	Origins []string       // other origins whose pages may call the API, as browsers write them
	Player  Player
	Limiter Limiter
	Site    *static.Site
	Seal    *seal.Box // nil: players get and send states as the engine writes them
	Version string
	Log     *slog.Logger
}

// A Server answers the public listener's requests. It is an http.Handler.
type Server struct {
	cfg     Config
	started time.Time
	routes  map[string]*route // by exact path, as it is sent
	kinds   map[string]bool
	origins origins
	metrics *metrics

	calculator *calculator.Page
	renders    chan struct{} // a place for each calculator page that is being made

	rateText   string   // of the refusal, with the number in force
	ratePolicy []string // the RateLimit-Policy field
}

// A route is one path of the contract: what answers each of its methods.
type route struct {
	name    string // for the log and the metrics
	methods map[string]func(*exchange, *http.Request) error
}

// New returns a server. It registers its metrics with registry.
func New(cfg Config, registry prometheus.Registerer) (*Server, error) {
	s := &Server{
		cfg:     cfg,
		started: time.Now(),
		kinds:   make(map[string]bool),
	}
	for _, kind := range cfg.Kinds {
		s.kinds[kind] = true
	}
	var err error
	if s.origins, err = newOrigins(cfg.Origins); err != nil {
		return nil, err
	}
	s.rateText = fmt.Sprintf("rate limit: %s turns/sec per IP", strconv.FormatFloat(cfg.Limits.PerIPPerSec, 'f', -1, 64))
	s.ratePolicy = []string{ratePolicy(cfg.Limits.PerIPPerSec, cfg.Limits.PerIPBurst)}
	s.renders = make(chan struct{}, cfg.Limits.Renders)
	s.calculator = newCalculator(s)
	type methods = map[string]func(*exchange, *http.Request) error
	s.routes = map[string]*route{
		"/api/new":          {"new", methods{http.MethodPost: s.newGame}},
		"/api/turn":         {"turn", methods{http.MethodPost: s.turn}},
		"/api/health":       {"health", methods{http.MethodGet: s.health}},
		"/api/token-bucket": {"token-bucket", methods{http.MethodPost: s.tokenBucket}},
		"/token-bucket":     {"calculator", methods{http.MethodGet: s.tokenBucketPage}},
	}
	for path, file := range cfg.Site.Files() {
		s.routes[path] = &route{file.Route(), methods{
			http.MethodGet: func(x *exchange, r *http.Request) error { file.ServeHTTP(x, r); return nil },
		}}
	}
	s.metrics = newMetrics(s, registry)
	return s, nil
}

// nowhere is the route of what is not there.
var nowhere = &route{name: "other"}

// ServeHTTP answers one request, and whatever comes of it is one line in the log
// and one count in the metrics.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, limits: &s.cfg.Limits, began: time.Now(), code: "ok", path: r.URL.EscapedPath(), route: nowhere}
	// No path is cleaned or decoded on the way, so there is one spelling of each.
	if found, ok := s.routes[x.path]; ok {
		x.route = found
	}
	defer s.record(x, r)
	defer s.rescue(x)
	x.setFields()
	if err := s.answer(x, r); err != nil {
		s.refuse(x, err)
	}
}

// answer makes the contract's first check, of path, method and origin, and hands
// the request to its route.
func (s *Server) answer(x *exchange, r *http.Request) error {
	preflight := x.isAPI() && s.origins.admit(x.Header(), r)
	if x.route.methods == nil {
		return errNotFound
	}
	if preflight {
		x.WriteHeader(http.StatusNoContent)
		return nil
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http leaves the body out
	}
	answer, ok := x.route.methods[method]
	if !ok {
		x.Header().Set("Allow", x.route.allow())
		return errMethodNotAllowed
	}
	if err := s.origins.protect(r); err != nil {
		return err
	}
	return answer(x, r)
}

// allow returns the route's methods for the Allow field.
func (rt *route) allow() string {
	if _, ok := rt.methods[http.MethodGet]; ok {
		return "GET, HEAD"
	}
	return http.MethodPost
}
