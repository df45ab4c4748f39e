package api

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"kiribashiri/internal/calculator"
	"kiribashiri/internal/static"
)

// newCalculator returns the calculator's page, with the limits in force.
func newCalculator(s *Server) *calculator.Page {
	return calculator.NewPage(calculator.Config{
		Asset:     s.cfg.Site.Asset,
		PerSecond: s.cfg.Limits.PerIPPerSec,
		Burst:     s.cfg.Limits.PerIPBurst,
		Policy:    s.ratePolicy[0],
		Refusal:   s.rateText,
	})
}

// tokenBucket answers a program's question to the calculator. It spends no token.
func (s *Server) tokenBucket(x *exchange, r *http.Request) error {
	if !isJSON(r) {
		return errMediaType
	}
	raw, err := s.readBody(x, r)
	if err != nil {
		return err
	}
	var question calculator.Request
	if err := decode(raw, &question, s.cfg.Limits.Depth); err != nil {
		return err
	}
	in, err := question.Input()
	if err != nil {
		return err
	}
	answer, err := json.Marshal(calculator.Calculate(in))
	if err != nil {
		return err
	}
	x.sendJSON(http.StatusOK, answer)
	return nil
}

// tokenBucketPage answers a person's. The page is made anew for each address, and
// confirmed by its ETag like any other.
func (s *Server) tokenBucketPage(x *exchange, r *http.Request) error {
	select {
	case s.renders <- struct{}{}:
		// For as long as a page has kept the processor from the moves, no other may.
		defer func(began time.Time) {
			time.AfterFunc(time.Since(began), func() { <-s.renders })
		}(time.Now())
	case <-r.Context().Done():
		return errLeft
	}
	document, ok, err := s.calculator.Render(r.URL.Query(), r.Host)
	if err != nil {
		return err
	}
	if !ok {
		x.code = "invalid_input"
		x.send(http.StatusBadRequest, htmlMedia, document)
		return nil
	}
	static.NewPage(document).ServeHTTP(x, r)
	return nil
}
