package api

import (
	"math"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// Health is the body of /api/health.
type Health struct {
	OK            bool    `json:"ok"` // an engine is up
	Engines       int     `json:"engines"`
	EnginesUp     int     `json:"enginesUp"`
	Waiting       int     `json:"waiting"` // moves unanswered, those being played included
	UptimeSeconds float64 `json:"uptimeSeconds"`
	Version       string  `json:"version"`
}

func (s *Server) health(x *exchange, r *http.Request) error {
	status := s.cfg.Player.Status()
	body, err := json.Marshal(Health{
		OK:            status.Up > 0,
		Engines:       status.Engines,
		EnginesUp:     status.Up,
		Waiting:       status.Waiting,
		UptimeSeconds: math.Round(time.Since(s.started).Seconds()*1000) / 1000,
		Version:       s.cfg.Version,
	})
	if err != nil {
		return err
	}
	if status.Up == 0 {
		x.code = "engine_down"
		x.sendJSON(http.StatusServiceUnavailable, body)
		return nil
	}
	x.sendJSON(http.StatusOK, body)
	return nil
}
