package simbridge

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"

	"kiribashiri/internal/ratelimit"
)

// A stderrLog reads an engine's stderr to its end, so that the engine never
// waits for us: some lines go to the log, and the last bytes are kept to explain
// why the engine ended.
type stderrLog struct {
	file *os.File

	mu   sync.Mutex
	tail []byte // the last bytes
}

// read returns at the end of the stream.
func (s *stderrLog) read(cfg *Config, log *slog.Logger) {
	defer s.file.Close()
	lim := &cfg.Limits
	limiter, err := ratelimit.New(ratelimit.Config{PerSecond: lim.StderrPerSec, Burst: lim.StderrBurst, Clients: 1})
	if err != nil {
		panic(err) // the limits are constants
	}
	in := bufio.NewReaderSize(s.file, max(lim.StderrLine, 16))
	dropped := 0
	inLine := false // whether the start of this line has been logged already
	for {
		part, err := in.ReadSlice('\n')
		s.keep(part, lim.StderrTail)
		text := strings.TrimRight(string(part), "\r\n")
		switch {
		case text == "" || inLine: // the end of a long line is only kept
		case limiter.Take(netip.Addr{}).Allowed():
			log.Info("engine says", "stderr", text, "dropped", dropped)
			dropped = 0
		default:
			dropped++
		}
		inLine = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !inLine {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
				log.Warn("engine's stderr ended", "err", err)
			}
			if dropped > 0 {
				log.Info("engine said more", "dropped", dropped)
			}
			return
		}
	}
}

func (s *stderrLog) keep(part []byte, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = append(s.tail, part...)
	if over := len(s.tail) - most; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
}

// last returns the last bytes that the engine wrote.
func (s *stderrLog) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(s.tail), "\uFFFD"))
}
