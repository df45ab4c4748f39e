package servers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sizes are how large moves are: the body of a request, and the engine's reply.
var sizes = []struct {
	name  string
	bytes int
}{{"200 B", 200}, {"8 KB", 8 << 10}}

// state returns a game's state that is about n bytes of JSON: small members, as
// games have them, rather than one long string.
func state(n int) string {
	var b strings.Builder
	b.WriteString(`{"v":1,"at":"harbor"`)
	for i := 0; b.Len()+len(`,"f000":{"n":0,"t":"霧"}}`) <= n; i++ {
		fmt.Fprintf(&b, `,"f%03d":{"n":%d,"t":"霧"}`, i, i%7)
	}
	b.WriteString("}")
	return b.String()
}

// moveBody is the body of a request of about n bytes.
func moveBody(n int) []byte {
	const frame = `{"kind":"say","input":"船長に霧の話を聞く","state":%s,"browserId":"b-3f2a9c"}`
	return fmt.Appendf(nil, frame, state(n-len(frame)+len("%s")))
}

// replyFile writes what an engine answers behind {"id":17, in about n bytes.
func replyFile(dir string, n int) (string, error) {
	const frame = `"ok":true,"text":"霧は深い。汽笛が一つ鳴った。","state":%s,"place":"harbor","end":false}` + "\n"
	reply := fmt.Appendf(nil, frame, state(n-len(frame)-len(`{"id":100000,`)+len("%s")))
	if !json.Valid(append([]byte(`{`), reply...)) {
		return "", fmt.Errorf("not JSON: {%s", reply)
	}
	path := filepath.Join(dir, fmt.Sprintf("reply-%d", n))
	return path, os.WriteFile(path, reply, 0o600)
}

// turnRequest is a client's move as it comes out of Caddy: each client has an
// address of its own.
func turnRequest(body []byte) func(int) []byte {
	return func(client int) []byte {
		return fmt.Appendf(nil, "POST /api/turn HTTP/1.1\r\n"+
			"Host: play.example.org\r\n"+
			"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n"+
			"Content-Length: %d\r\n"+
			"Accept: */*\r\n"+
			"Accept-Encoding: gzip, deflate, br\r\n"+
			"Accept-Language: ja,en;q=0.8\r\n"+
			"Content-Type: application/json\r\n"+
			"Origin: https://play.example.org\r\n"+
			"Referer: https://play.example.org/\r\n"+
			"Sec-Fetch-Dest: empty\r\n"+
			"Sec-Fetch-Mode: cors\r\n"+
			"Sec-Fetch-Site: same-origin\r\n"+
			"X-Forwarded-For: %s\r\n"+
			"X-Forwarded-Host: play.example.org\r\n"+
			"X-Forwarded-Proto: https\r\n"+
			"\r\n%s", len(body), clientAddress(client), body)
	}
}

// clientAddress is in the network that is for such benchmarks (RFC 2544).
func clientAddress(client int) string {
	return fmt.Sprintf("198.18.%d.%d", client>>8&0xff, client&0xff)
}
