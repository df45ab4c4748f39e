package ratelimit

import (
	"encoding/binary"
	"net/netip"
)

// clientBits is how much of an IPv6 address tells clients apart: a household, a
// VPS or a phone has a whole /64 to choose addresses from.
const clientBits = 64

// Client returns whom a limiter charges for addr: an IPv4 address is one client,
// also when written as IPv6 (::ffff:192.0.2.1); an IPv6 /64 is one client; zones
// are dropped. All callers without an address (a unix socket) are one client.
func Client(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = clientBits
	}
	prefix, _ := addr.Prefix(bits) // fails only for the zero Addr, whose client is the zero Prefix
	return prefix
}

// key returns the client of addr as a number: an IPv6 client's first 64 bits,
// and for IPv4 the address behind 32 ones, where IPv6 has only multicast groups,
// which never call.
func key(addr netip.Addr) uint64 {
	addr = addr.Unmap()
	switch {
	case addr.Is4():
		ip := addr.As4()
		return 0xffffffff<<32 | uint64(binary.BigEndian.Uint32(ip[:]))
	case addr.Is6():
		ip := addr.As16()
		return binary.BigEndian.Uint64(ip[:8])
	default:
		return 0xfffffffe << 32
	}
}
