package ratelimit

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Addresses as attackers have them, the i-th of each kind: the network is a /48, the
// client with many addresses a /64.
var attacks = []struct {
	name string
	addr func(i int) netip.Addr
}{
	{"as many IPv4 addresses", func(i int) netip.Addr {
		return netip.AddrFrom4([4]byte{10 + byte(i>>24), byte(i >> 16), byte(i >> 8), byte(i)})
	}},
	{"as many IPv6 networks", func(i int) netip.Addr {
		ip := [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}
		binary.BigEndian.PutUint32(ip[4:], uint32(i))
		return netip.AddrFrom16(ip)
	}},
	{"the 65536 clients of one network", func(i int) netip.Addr {
		ip := [16]byte{0x20, 0x01, 0x0d, 0xb8, 0xba, 0xd0}
		binary.BigEndian.PutUint16(ip[6:], uint16(i))
		binary.BigEndian.PutUint64(ip[8:], uint64(i))
		return netip.AddrFrom16(ip)
	}},
	{"the addresses of one client", func(i int) netip.Addr {
		ip := [16]byte{0x20, 0x01, 0x0d, 0xb8, 0xba, 0xd0, 0, 1}
		binary.BigEndian.PutUint64(ip[8:], uint64(i))
		return netip.AddrFrom16(ip)
	}},
	{"one address", func(int) netip.Addr { return netip.MustParseAddr("203.0.113.66") }},
}

// While somebody calls from millions of addresses, at one instant so that no bucket
// refills, memory stays within what the limit of clients promises, a player's moves
// pass, and one who has spent his tokens does not get them back by the crowd.
func TestAttackFromManyAddresses(t *testing.T) {
	clients, calls := 1_000_000, 2_500_000
	if raceEnabled { // one goroutine, in which it has nothing to see
		clients, calls = 100_000, 250_000
	}
	for _, row := range attacks {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before := heap()
				l := newLimiter(t, 2, 2, clients)
				allowed(t, l, bob, 2) // has spent what he had
				most := int64(0)
				for i := range calls {
					l.Take(row.addr(i))
					if i%(calls/5) == 0 {
						most = max(most, heap()-before)
					}
				}
				most = max(most, heap()-before)
				// 40 bytes each, and a map that doubles may have twice the room.
				if bound := int64(clients)*2*40 + 1<<20; most > bound {
					t.Errorf("it took %d bytes, want at most %d", most, bound)
				}
				if got := l.Clients(); got > clients {
					t.Errorf("%d clients are remembered, want at most %d", got, clients)
				}
				t.Logf("%d MiB for %d clients", most>>20, l.Clients())
				denied(t, l, bob, 500*time.Millisecond)
				allowed(t, l, alice, 2)
				time.Sleep(500 * time.Millisecond)
				allowed(t, l, alice, 1)
				runtime.KeepAlive(l)
			})
		})
	}
}

// How long a player's decision takes while two goroutines attack, at the limit of
// clients and beyond: the 99th and the 99.9th of a hundred and a thousand.
func BenchmarkDecisionUnderAttack(b *testing.B) {
	for _, row := range attacks {
		b.Run(row.name, func(b *testing.B) {
			l := newLimiter(b, 2, 2, 1_000_000)
			for i := range 1_000_000 {
				l.Take(row.addr(i))
			}
			stop := make(chan struct{})
			ended := make(chan struct{})
			for n := range 2 {
				go func() {
					defer func() { ended <- struct{}{} }()
					for i := n << 29; ; i++ {
						select {
						case <-stop:
							return
						default:
							l.Take(row.addr(i))
						}
					}
				}()
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				l.Take(alice)
				took = append(took, time.Since(began))
				if len(took)%100 == 0 {
					time.Sleep(10 * time.Microsecond) // a player comes and goes
				}
			}
			close(stop)
			<-ended
			<-ended
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
			b.ReportMetric(float64(took[len(took)*999/1000]), "p99.9-ns")
		})
	}
}
