package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// saveFormat names the shape of a saved below, and its version.
	saveFormat = "kiribashiri-player/1"

	// maxSave bounds a file that is loaded, in bytes: a state is a few KiB, but a page
	// may have put a whole story beside it.
	maxSave = 16 << 20
)

// A saved is a game in a file. Of files that others have written only the state
// counts.
type saved struct {
	Format string         `json:"format"`
	Saved  time.Time      `json:"saved"`
	State  jsontext.Value `json:"state"` // what the next move sends
	Reply  jsontext.Value `json:"reply"` // the last one, as it came: what the player saw
}

// writeSave saves the game that stands at r in file, all or nothing: a failure
// leaves what was in the file before.
func writeSave(file string, r reply) (err error) {
	text, err := json.Marshal(saved{saveFormat, time.Now().UTC().Truncate(time.Second), r.State, r.line},
		jsontext.PreserveRawStrings(true))
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".player-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temp.Name())
		}
	}()
	_, err = temp.Write(append(text, '\n'))
	if err == nil {
		err = temp.Sync()
	}
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

// readSave returns the state in file and, if it is a file of ours, the reply that
// the player saw.
func readSave(file string) (jsontext.Value, *reply, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSave+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > maxSave {
		return nil, nil, fmt.Errorf("%s: longer than %d bytes", file, maxSave)
	}
	var s struct {
		Format jsontext.Value `json:"format"`
		State  jsontext.Value `json:"state"`
		Reply  jsontext.Value `json:"reply"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, nil, fmt.Errorf("%s: not a JSON object: %w", file, err)
	}
	if !given(s.State) {
		return nil, nil, fmt.Errorf(`%s: no "state" in it`, file)
	}
	if format, _ := readString(s.Format); format == saveFormat {
		if r, err := readReply(s.Reply); err == nil {
			r.State = s.State
			return s.State, &r, nil
		}
	}
	return s.State, nil, nil
}
