package api

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestClientAddr(t *testing.T) {
	proxies := []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8"),
	}
	for _, row := range []struct {
		name, peer string
		lines      []string
		want       string
	}{
		{"nobody else named", "127.0.0.1:1", nil, "127.0.0.1"},
		{"one client", "127.0.0.1:1", []string{"1.2.3.4"}, "1.2.3.4"},
		{"an untrusted peer's word", "192.0.2.9:1", []string{"1.2.3.4"}, "192.0.2.9"},
		{"the right end counts", "127.0.0.1:1", []string{"1.2.3.4, 5.6.7.8"}, "5.6.7.8"},
		{"two lines are one list", "127.0.0.1:1", []string{"9.9.9.9", "203.0.113.5"}, "203.0.113.5"},
		{"a proxy is passed over", "127.0.0.1:1", []string{"6.6.6.6, 1.2.3.4, 10.0.0.9"}, "1.2.3.4"},
		{"proxies across lines", "127.0.0.1:1", []string{"6.6.6.6, 1.2.3.4", "10.0.0.9,127.0.0.1"}, "1.2.3.4"},
		{"garbage only", "127.0.0.1:1", []string{"junk"}, "127.0.0.1"},
		{"garbage further left", "127.0.0.1:1", []string{"junk, 5.6.7.8"}, "5.6.7.8"},
		{"garbage ends the walk", "127.0.0.1:1", []string{"6.6.6.6, junk, 10.0.0.9"}, "10.0.0.9"},
		{"an empty entry ends it", "127.0.0.1:1", []string{"6.6.6.6,,10.0.0.9"}, "10.0.0.9"},
		{"an empty line ends it", "127.0.0.1:1", []string{"6.6.6.6", ""}, "127.0.0.1"},
		{"only proxies", "127.0.0.1:1", []string{"10.0.0.1, 10.0.0.2"}, "10.0.0.1"},
		{"a port", "127.0.0.1:1", []string{"1.2.3.4:5555"}, "1.2.3.4"},
		{"IPv6 with a port", "127.0.0.1:1", []string{"[2001:db8::7]:443"}, "2001:db8::7"},
		{"IPv6", "[::1]:1", []string{"2001:db8::7"}, "2001:db8::7"},
		{"brackets without a port are no address", "127.0.0.1:1", []string{"[2001:db8::7]"}, "127.0.0.1"},
		{"mapped IPv4", "127.0.0.1:1", []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		{"a mapped proxy", "[::ffff:127.0.0.1]:1", []string{"::ffff:10.0.0.1"}, "10.0.0.1"},
		{"a zone", "[fe80::1%eth0]:1", nil, "fe80::1"},
		{"tabs and spaces", "127.0.0.1:1", []string{"\t 1.2.3.4 \t"}, "1.2.3.4"},
		{"a unix socket is ours", "@", []string{"1.2.3.4"}, "1.2.3.4"},
		{"a unix socket that names nobody", "@", nil, "invalid IP"},
		{"a unix socket that names garbage", "", []string{"junk"}, "invalid IP"},
		{"another 127 address", "127.0.0.2:1", []string{"1.2.3.4"}, "1.2.3.4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/api/turn", nil)
			r.RemoteAddr = row.peer
			r.Header["X-Forwarded-For"] = row.lines
			for _, name := range []string{"X-Real-Ip", "Forwarded", "True-Client-Ip", "Cf-Connecting-Ip"} {
				r.Header.Set(name, "6.6.6.6")
			}
			if got := clientAddr(r, proxies).String(); got != row.want {
				t.Errorf("client %s, want %s", got, row.want)
			}
		})
	}
}

// What arrives through a Caddy on loopback that overwrites the header, that adds to
// it because it believes the peer (a CDN at 127.0.0.1, with machines in 10.0.0.0/8),
// and through a container's network. Each row is what such a proxy was seen to send.
func TestClientAddrBehindProxies(t *testing.T) {
	for _, row := range []struct {
		name, proxies, peer string
		lines               []string
		want                string
	}{
		{"overwritten, whatever was sent", "127.0.0.0/8", "127.0.0.1:1", []string{"203.0.113.7"}, "203.0.113.7"},
		{"overwritten, an IPv6 client", "127.0.0.0/8", "127.0.0.1:1", []string{"2001:db8::7"}, "2001:db8::7"},
		{"overwritten, a client on this machine", "127.0.0.0/8", "127.0.0.1:1", []string{"127.0.0.1"}, "127.0.0.1"},
		{"overwritten, another one there", "127.0.0.0/8", "127.0.0.1:1", []string{"127.0.0.2"}, "127.0.0.2"},

		{"CDN, nothing sent", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"127.0.0.1"}, "127.0.0.1"},
		{"CDN, one client", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"1.2.3.4, 127.0.0.1"}, "1.2.3.4"},
		{"CDN, a spoofed left end", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"1.2.3.4, 5.6.7.8, 127.0.0.1"}, "5.6.7.8"},
		{"CDN of several machines", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"6.6.6.6, 1.2.3.4, 10.0.0.9, 127.0.0.1"}, "1.2.3.4"},
		{"CDN, garbage only", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"garbage, 127.0.0.1"}, "127.0.0.1"},
		{"CDN, garbage further left", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"junk, 5.6.7.8, 127.0.0.1"}, "5.6.7.8"},
		{"CDN, a port", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"1.2.3.4:5555, 127.0.0.1"}, "1.2.3.4"},
		{"CDN, IPv6 and a port", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"[2001:db8::7]:443, 127.0.0.1"}, "2001:db8::7"},
		{"CDN, brackets without a port", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"[2001:db8::7], 127.0.0.1"}, "127.0.0.1"},
		{"CDN, mapped IPv4", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"::ffff:1.2.3.4, 127.0.0.1"}, "1.2.3.4"},
		{"CDN, the header stripped hop by hop", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"127.0.0.1"}, "127.0.0.1"},
		{"past the CDN", "127.0.0.1 10.0.0.0/8", "127.0.0.1:1", []string{"127.0.0.2"}, "127.0.0.2"},
		{"CDN that Caddy believes and we do not", "127.0.0.1", "127.0.0.1:1", []string{"1.2.3.4, 10.0.0.9"}, "10.0.0.9"},
		{"a second line from header_up +X-Forwarded-For", "127.0.0.1", "127.0.0.1:1", []string{"6.6.6.6", "1.2.3.4"}, "1.2.3.4"},
		{"a name that Caddy 2.6 does not know", "127.0.0.1", "127.0.0.1:1", []string{"{client_ip}"}, "127.0.0.1"},

		{"unix socket", "127.0.0.1", "@", []string{"1.2.3.4"}, "1.2.3.4"},
		{"unix socket, no such header", "127.0.0.1", "@", nil, "invalid IP"},
		{"container, its gateway named", "172.17.0.1", "172.17.0.1:40000", []string{"1.2.3.4"}, "1.2.3.4"},
		{"container, its gateway not named", "127.0.0.0/8", "172.17.0.1:40000", []string{"1.2.3.4"}, "172.17.0.1"},
		{"container, another container calls", "172.17.0.1", "172.17.0.9:40000", []string{"1.2.3.4"}, "172.17.0.9"},
		{"container of IPv6, a zone in the peer", "fe80::/10", "[fe80::42%eth0]:40000", []string{"2001:db8::7"}, "2001:db8::7"},
		{"container that listens on both kinds", "172.17.0.1", "[::ffff:172.17.0.1]:40000", []string{"1.2.3.4"}, "1.2.3.4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var proxies []netip.Prefix
			for entry := range strings.FieldsSeq(row.proxies) {
				prefix, err := netip.ParsePrefix(entry)
				if err != nil {
					addr := netip.MustParseAddr(entry)
					prefix = netip.PrefixFrom(addr, addr.BitLen())
				}
				proxies = append(proxies, prefix)
			}
			r := httptest.NewRequest("POST", "/api/turn", nil)
			r.RemoteAddr = row.peer
			r.Header["X-Forwarded-For"] = row.lines
			if got := clientAddr(r, proxies).String(); got != row.want {
				t.Errorf("client %s, want %s", got, row.want)
			}
		})
	}
}

// Whatever stands in the header: the client is the peer, or an address that stands
// in it, and never one left of an entry that no proxy of ours has written.
func FuzzClientAddr(f *testing.F) {
	f.Add("127.0.0.1:1", "6.6.6.6, 1.2.3.4, 10.0.0.9")
	f.Add("192.0.2.9:1", "1.2.3.4")
	f.Add("@", ",,[::1]:2,")
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, peer, line string) {
		r := httptest.NewRequest("POST", "/api/turn", nil)
		r.RemoteAddr = peer
		r.Header["X-Forwarded-For"] = []string{line}
		client := clientAddr(r, proxies)
		last := line[strings.LastIndex(line, ",")+1:]
		addr, ok := parseEntry(last)
		if from, err := netip.ParseAddrPort(peer); err == nil && !contains(proxies, from.Addr().Unmap()) {
			if client != from.Addr().Unmap().WithZone("") {
				t.Errorf("untrusted peer %s became %s", peer, client)
			}
		} else if ok && !contains(proxies, addr) && client != addr {
			t.Errorf("%q: client %s, want the right end", line, client)
		} else if !ok && err == nil && client != from.Addr().Unmap().WithZone("") {
			t.Errorf("%q: client %s, want the peer", line, client)
		}
	})
}
