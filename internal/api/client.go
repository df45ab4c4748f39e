package api

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientAddr returns the address of who is really calling: the peer, or, as long
// as the last address is one of our proxies, whoever that proxy says it heard
// from. X-Forwarded-For is read from the right, for only its right end was written
// by machines that we know; an entry that is no address ends the walk. A peer
// without an address has come through a unix socket and is a proxy of ours.
//
// Nothing else names a client: X-Real-IP, Forwarded and the like pass through
// proxies as the caller wrote them.
func clientAddr(r *http.Request, proxies []netip.Prefix) netip.Addr {
	var client netip.Addr // of a unix socket, until somebody is named
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		client = peer.Addr().Unmap().WithZone("")
		if !contains(proxies, client) {
			return client
		}
	}
	lines := r.Header.Values("X-Forwarded-For")
	for i := len(lines) - 1; i >= 0; i-- {
		rest, more := lines[i], true
		for more {
			var entry string
			rest, entry, more = cutLast(rest, ",")
			addr, ok := parseEntry(entry)
			if !ok {
				return client
			}
			client = addr
			if !contains(proxies, client) {
				return client
			}
		}
	}
	return client
}

// cutLast is strings.Cut at the last sep; what is after it is all there is if
// there is no sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// parseEntry reads one entry of X-Forwarded-For: an address, with or without a port.
func parseEntry(entry string) (netip.Addr, bool) {
	entry = strings.Trim(entry, " \t")
	addr, err := netip.ParseAddr(entry)
	if err != nil {
		withPort, err := netip.ParseAddrPort(entry)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
