package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Two servers with one store are one limit, and the fields of their answers say so.
func TestServersShareBuckets(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	store := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := store.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		store.Process.Kill()
		store.Wait()
	})
	environ := []string{"KIRI_BUCKETS=valkey://" + addr, "KIRI_PER_IP_PER_SEC=0.01", "KIRI_PER_IP_BURST=2"}
	a, b := start(t, environ...), start(t, environ...)

	// On a busy machine an answer may be late, and a server decide alone: then the next
	// client, once the store is asked again.
	n := 0
	eventually(t, "what one server allows is taken at the other", func() bool {
		n++
		client := fmt.Sprintf("203.0.113.%d", n%250)
		if n > 250 || a.post("/api/new", client, "{}").status != 200 || a.post("/api/new", client, "{}").status != 200 {
			t.Fatal("a new client's two moves do not pass")
		}
		got := b.post("/api/new", client, "{}")
		return got.status == 429 && strings.HasPrefix(got.header.Get("RateLimit"), `"ip";r=0;t=`) &&
			got.header.Get("Retry-After") == "100" && got.header.Get("RateLimit") == `"ip";r=0;t=100`
	})

	store.Process.Kill()
	store.Wait()
	for i := range 5 { // the store's end is no player's trouble
		if got := b.post("/api/new", fmt.Sprintf("198.51.100.%d", i), "{}"); got.status != 200 {
			t.Errorf("without the store a move is answered %d %s", got.status, got.body)
		}
	}
	if got := b.get("/api/health"); got.status != 200 {
		t.Errorf("without the store health is %d", got.status)
	}
	c := start(t, environ...) // comes up without it
	if got := c.post("/api/new", "192.0.2.1", "{}"); got.status != 200 {
		t.Errorf("a server that never had its store answers %d", got.status)
	}
	for _, s := range []*running{a, b, c} {
		s.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, s := range []*running{a, b, c} {
		s.exits(0)
	}
}
