package api

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what an operator sees. Every label has a bounded set of values: a
// route is one of ours or "other", a code one of the error table, a cause one of
// the bridge's.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	wait     prometheus.Histogram
	think    prometheus.Histogram
}

// Buckets in seconds. A move of the built-in engine takes under a millisecond,
// one of a large engine tens of them, and the limit is half a minute.
var (
	moveBuckets    = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	requestBuckets = []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
)

func newMetrics(s *Server, registry prometheus.Registerer) *metrics {
	auto := promauto.With(registry)
	m := &metrics{
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "kiri_requests_total",
			Help: "Requests answered, by route, HTTP status and error code (ok if there was no error).",
		}, []string{"route", "status", "code"}),
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kiri_request_duration_seconds", Buckets: requestBuckets,
			Help: "Time from a request's header to the end of its answer, by route.",
		}, []string{"route"}),
		wait: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "kiri_move_wait_seconds", Buckets: moveBuckets,
			Help: "Time a move waited in the queue for an engine.",
		}),
		think: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "kiri_move_think_seconds", Buckets: moveBuckets,
			Help: "Time an engine took to answer a move, or until it was given up.",
		}),
	}
	// A counter that appears only with its first event shows no rate of it: the
	// moves' are there from the start, so that an alert sees the first failures too.
	for _, route := range []string{"new", "turn"} {
		m.requests.WithLabelValues(route, strconv.Itoa(http.StatusOK), "ok")
		m.requests.WithLabelValues(route, strconv.Itoa(http.StatusUnprocessableEntity), "rejected")
		for _, row := range statuses {
			m.requests.WithLabelValues(route, strconv.Itoa(row.status), row.code)
		}
	}
	auto.NewGauge(prometheus.GaugeOpts{
		Name: "kiri_moves_unanswered_limit",
		Help: "Moves that may be unanswered at once.",
	}).Set(float64(s.cfg.Limits.Queue))
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kiri_limiter_clients",
		Help: "Clients that the limiter remembers, those whose bucket is not known to be full.",
	}, func() float64 { return float64(s.cfg.Limiter.Clients()) })
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kiri_limiter_clients_limit",
		Help: "Clients that the limiter remembers at most.",
	}, func() float64 { return float64(s.cfg.Limits.Clients) })
	auto.NewGauge(prometheus.GaugeOpts{
		Name: "kiri_start_time_seconds",
		Help: "When the server started, in seconds since 1970.",
	}).Set(float64(s.started.UnixMilli()) / 1e3)
	auto.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kiri_build_info",
		Help: "Always 1; the labels say what was built.",
	}, []string{"version", "go"}).WithLabelValues(s.cfg.Version, runtime.Version()).Set(1)
	registry.MustRegister(bridgeMetrics{s.cfg.Player})
	return m
}

func (m *metrics) observe(x *exchange, took time.Duration) {
	m.requests.WithLabelValues(x.route.name, strconv.Itoa(x.status), x.code).Inc()
	m.seconds.WithLabelValues(x.route.name).Observe(took.Seconds())
	if x.reply.Wait > 0 {
		m.wait.Observe(x.reply.Wait.Seconds())
	}
	if x.reply.Think > 0 {
		m.think.Observe(x.reply.Think.Seconds())
	}
}

// bridgeMetrics reads the bridge's state when it is asked for.
type bridgeMetrics struct{ player Player }

var (
	waitingDesc = prometheus.NewDesc("kiri_moves_unanswered", "Moves that hold a place in the queue, those being played included.", nil, nil)
	enginesDesc = prometheus.NewDesc("kiri_engines", "Engines that should be up.", nil, nil)
	upDesc      = prometheus.NewDesc("kiri_engines_up", "Engines that are up.", nil, nil)
	statesDesc  = prometheus.NewDesc("kiri_engine_states", "Engines by what they are doing: starting, idle, playing, or pausing before the next start.", []string{"state"}, nil)
	startsDesc  = prometheus.NewDesc("kiri_engine_starts_total", "Engine starts by cause: boot, swap, recycle, or how the one before ended.", []string{"cause"}, nil)
)

func (b bridgeMetrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(b, out) }

func (b bridgeMetrics) Collect(out chan<- prometheus.Metric) {
	status := b.player.Status()
	gauge := func(desc *prometheus.Desc, n int) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n))
	}
	gauge(waitingDesc, status.Waiting)
	gauge(enginesDesc, status.Engines)
	gauge(upDesc, status.Up)
	for state, n := range status.States {
		out <- prometheus.MustNewConstMetric(statesDesc, prometheus.GaugeValue, float64(n), state)
	}
	for cause, n := range status.Starts {
		out <- prometheus.MustNewConstMetric(startsDesc, prometheus.CounterValue, float64(n), cause)
	}
}

// Admin returns the private listener's routes: the metrics and the profiler. They
// tell and cost too much for the public one.
func Admin(gatherer prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
