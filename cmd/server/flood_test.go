//go:build linux

package main

import (
	"encoding/binary"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// While somebody calls as fast as he can, a player who keeps to the limit has every
// move played, and the flood gets no more than its own share.
func TestFloodBesideAPlayer(t *testing.T) {
	for _, row := range []struct {
		name string
		from func(i uint64) netip.Addr
		one  bool // all of them are one client
	}{
		{"from one address", func(uint64) netip.Addr { return netip.MustParseAddr("203.0.113.66") }, true},
		{"from the addresses of one client", func(i uint64) netip.Addr { return addressIn("2001:db8:bad:1::", 8, i) }, true},
		{"from all over a network", func(i uint64) netip.Addr { return addressIn("2001:db8:bad::", 0, i<<48>>48) }, false},
		{"from a new address each time", func(i uint64) netip.Addr { return addressIn("2001::", 0, i) }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, "KIRI_LOG_LEVEL=warn")
			began := time.Now()
			var calls, passed atomic.Uint64
			stop := make(chan struct{})
			var flood sync.WaitGroup
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: time.Minute}
			for range 8 {
				flood.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						r, err := http.NewRequest("POST", s.url+"/api/new", strings.NewReader(""))
						if err != nil {
							t.Error(err)
							return
						}
						r.Header.Set("X-Forwarded-For", row.from(calls.Add(1)).String())
						got, err := client.Do(r)
						if err != nil {
							t.Errorf("the flood breaks off: %v", err)
							return
						}
						if got.Body.Close(); got.StatusCode == 200 {
							passed.Add(1)
						}
					}
				})
			}
			var slowest time.Duration
			for range 8 {
				sent := time.Now()
				if a := s.post("/api/new", "192.0.2.1", ""); a.status != 200 {
					t.Errorf("the player gets %d %s %v", a.status, a.body, a.err)
				}
				slowest = max(slowest, time.Since(sent))
				time.Sleep(600 * time.Millisecond)
			}
			close(stop)
			flood.Wait()
			if most := 2 + 2*time.Since(began).Seconds(); row.one && float64(passed.Load()) > most {
				t.Errorf("%d of the flood passed, want at most %v", passed.Load(), most)
			}
			if got := s.metric("kiri_limiter_clients"); got > 1e6 {
				t.Errorf("%v clients are remembered", got)
			}
			t.Logf("beside %d calls, of which %d passed, the player's slowest move took %v; at most %d MiB", calls.Load(), passed.Load(), slowest, s.peak()>>10)
		})
	}
}

// addressIn returns the i-th address of a network, counted in the 8 bytes from at on.
func addressIn(network string, at int, i uint64) netip.Addr {
	ip := netip.MustParseAddr(network).As16()
	n := binary.BigEndian.Uint64(ip[at:])
	binary.BigEndian.PutUint64(ip[at:], n|i)
	return netip.AddrFrom16(ip)
}
