package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"kiribashiri/internal/seal"
	"kiribashiri/internal/simbridge"
)

// sealed returns the reply's line with its state closed to its reader. All else
// stays as it came, and so does the absence of a state.
func (s *Server) sealed(reply simbridge.Reply) []byte {
	line, at := reply.Line, reply.State
	state := line[at.From:at.To]
	if s.cfg.Seal == nil || len(state) == 0 || string(state) == "null" {
		return line
	}
	out := make([]byte, 0, len(line)-len(state)+seal.Size(len(state))+2)
	out = append(append(out, line[:at.From]...), '"')
	out = append(s.cfg.Seal.AppendSealed(out, state), '"')
	return append(out, line[at.To:]...)
}

// opened returns the state of a move as the engine wrote it. Where states are
// sealed, another one is nobody's.
func (s *Server) opened(state []byte) ([]byte, error) {
	if s.cfg.Seal == nil || state == nil || string(state) == "null" {
		return state, nil
	}
	text, err := jsontext.AppendUnquote(nil, state)
	if err != nil { // it is no string
		return nil, seal.ErrBroken
	}
	return s.cfg.Seal.Open(text)
}
