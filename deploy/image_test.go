//go:build linux && !race

package deploy_test

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program returns the path of a program that a test needs. Where it is missing the
// test is skipped; where everything has to be checked, it fails.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	return path
}

// output runs a command to its end and returns what it writes to stdout.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// eventually claims that something becomes true within twenty seconds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s still not: %s", what)
		}
	}
}

// A builder makes images from Dockerfiles, asking no registry: what stands for the
// base with Go in it has this machine's Go, and everything else of its /usr.
type builder struct {
	t       *testing.T
	storage []string
	volumes []string
}

func newBuilder(t *testing.T) *builder {
	t.Helper()
	program(t, "buildah")
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("only root can build images in a chroot")
		}
		t.Skip("only root can build images in a chroot")
	}
	dir := t.TempDir()
	b := &builder{
		t:       t,
		storage: []string{"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs"},
		volumes: []string{"--volume", "/usr:/usr:ro", "--volume", output(t, "", "go", "env", "GOROOT") + ":/usr/local/go:ro",
			"--volume", output(t, "", "go", "env", "GOMODCACHE") + ":/go/pkg/mod", "--volume", output(t, "", "go", "env", "GOCACHE") + ":/cache"},
	}
	t.Cleanup(func() { b.do("rm", "--all") })

	base := filepath.Join(dir, "base")
	for _, name := range []string{"usr", "tmp"} {
		if err := os.MkdirAll(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	container := b.do("from", "scratch")
	b.do("copy", container, base, "/")
	for _, entry := range []string{"PATH=/usr/local/go/bin:/usr/bin:/bin", "GOPATH=/go", "GOCACHE=/cache", "GOPROXY=off"} {
		b.do("config", "--env", entry, container)
	}
	go126 := matches(t, `(?m)^FROM (\S+) AS build$`, "../Dockerfile")
	for _, name := range append(go126, "docker.io/library/python:3-slim") {
		b.do("commit", "--format", "docker", container, name)
	}
	return b
}

func (b *builder) do(command string, args ...string) string {
	b.t.Helper()
	return output(b.t, "", "buildah", append(append(append([]string{}, b.storage...), command), args...)...)
}

// build makes an image of a directory with a Dockerfile.
func (b *builder) build(dir, name string, more ...string) {
	b.t.Helper()
	args := append(append(more, b.volumes...), "--pull-never", "--isolation", "chroot", "--format", "docker", "--tag", name, dir)
	b.do("bud", args...)
}

// An image is what its users see of it.
type image struct {
	User        string
	Entrypoint  []string
	Cmd         []string
	Env         []string
	StopSignal  string
	Healthcheck struct{ Test []string }
	Exposed     map[string]struct{} `json:"ExposedPorts"`
}

func (b *builder) inspect(name string) image {
	b.t.Helper()
	var all struct{ Docker struct{ Config image } }
	if err := json.Unmarshal([]byte(b.do("inspect", "--type", "image", name)), &all); err != nil {
		b.t.Fatal(err)
	}
	return all.Docker.Config
}

// files returns the image's directory and the size of each file in it.
func (b *builder) files(name string) (root string, sizes map[string]int64) {
	b.t.Helper()
	root = b.do("mount", b.do("from", "--pull-never", name))
	sizes = make(map[string]int64)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		sizes[strings.TrimPrefix(path, root)] = info.Size()
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return root, sizes
}

func TestImage(t *testing.T) {
	b := newBuilder(t)
	b.build("..", "kiribashiri", "--build-arg", "VERSION=v1.2.3", "--build-arg", "COMMIT=fe0128e4a1b2c3d4")

	got := b.inspect("kiribashiri")
	if got.User != "65532:65532" || got.StopSignal != "SIGTERM" || len(got.Cmd) != 0 ||
		!reflect.DeepEqual(got.Entrypoint, []string{"/server"}) ||
		!reflect.DeepEqual(got.Healthcheck.Test, []string{"CMD", "/server", "health"}) {
		t.Errorf("the image is %+v", got)
	}
	if _, ok := got.Exposed["8787/tcp"]; !ok || len(got.Exposed) != 1 || !strings.Contains(strings.Join(got.Env, " "), "KIRI_ADDR=0.0.0.0:8787") {
		t.Errorf("the image serves %v with %v", got.Exposed, got.Env)
	}
	root, sizes := b.files("kiribashiri")
	var whole int64
	for _, size := range sizes {
		whole += size
	}
	if !maps.Equal(sizes, map[string]int64{"/server": sizes["/server"], "/LICENSE": sizes["/LICENSE"], "/THIRD_PARTY_LICENSES": sizes["/THIRD_PARTY_LICENSES"]}) ||
		whole > 15_000_000 {
		t.Errorf("the image has the files %v, want a /server, the licences and nothing else, of at most 15 MB", sizes)
	}
	if got := output(t, "", filepath.Join(root, "server"), "version"); got != "v1.2.3 (fe0128e4a1b2)" {
		t.Errorf("it calls itself %s", got)
	}
	binary, err := elf.Open(filepath.Join(root, "server"))
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	for _, part := range binary.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Error("the binary is not static")
		}
	}

	testOwnEngine(t, b, got)
}

// testOwnEngine builds what docs/WATCHING.md says, and runs the first of the two as
// a container would.
func testOwnEngine(t *testing.T, b *builder, base image) {
	recipes := codeBlocks(t, "../docs/WATCHING.md", "dockerfile")
	if len(recipes) != 2 {
		t.Fatalf("%d Dockerfiles in the document, want 2", len(recipes))
	}
	for i, name := range []string{"static", "scripted"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(recipes[i]), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "engine.py"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "adv-sim"), "../cmd/adv-sim")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b.build(dir, name)
		got := b.inspect(name)
		if env := strings.Join(got.Env, "\n"); !strings.Contains(env, "\nKIRI_SIM=") || !strings.Contains(env, "KIRI_ADDR=0.0.0.0:8787") {
			t.Errorf("%s: the environment is %q", name, got.Env)
		}
		got.Env, base.Env = nil, nil
		if !reflect.DeepEqual(got, base) {
			t.Errorf("%s is %+v\nwant %+v", name, got, base)
		}
	}

	c := b.run("static")
	// The health check, as a container's daemon asks it.
	eventually(t, "the health check passes", func() bool {
		check := exec.Command("nsenter", append([]string{"--target", strconv.Itoa(c.process()), "--pid", "--mount", "--root",
			"--setuid", "65532", "--setgid", "65532"}, base.Healthcheck.Test[1:]...)...)
		check.Env = c.env
		return check.Run() == nil
	})
	answer, err := http.Post("http://"+c.addr+"/api/new", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("a new game: status %d, want 200", answer.StatusCode)
	}
	// A new engine, which took the place of the old one's file, comes with no move lost.
	syscall.Kill(c.process(), syscall.SIGHUP)
	eventually(t, "the engine is replaced", func() bool { return strings.Contains(c.log.String(), "engine is replaced") })
	c.stops()
	if log := c.log.String(); !strings.Contains(log, "engine is up") || strings.Contains(log, "ERROR") {
		t.Errorf("the log is\n%s", log)
	}
}

// A container is an image that runs: process 1 of a namespace, in a directory that
// holds nothing but the image's files and /proc, without a right. It has this
// machine's network.
type container struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string
	env  []string
	log  *lockedBuffer
}

func (b *builder) run(name string) *container {
	b.t.Helper()
	root, _ := b.files(name)
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o555); err != nil { // as a daemon does
		b.t.Fatal(err)
	}
	c := &container{t: b.t, addr: freeAddr(b.t), log: new(lockedBuffer)}
	config := b.inspect(name)
	c.env = append(config.Env, "KIRI_ADDR="+c.addr, "KIRI_ADMIN_ADDR=")
	c.cmd = exec.Command("unshare", append([]string{"--pid", "--fork", "--kill-child", "--mount-proc", "--root", root,
		"--setuid", "65532", "--setgid", "65532"}, config.Entrypoint...)...)
	c.cmd.Env = c.env
	c.cmd.Stderr = c.log
	if err := c.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.cmd.Process.Kill() })
	return c
}

// process returns the pid of the container's process 1 as seen from here.
func (c *container) process() (pid int) {
	c.t.Helper()
	eventually(c.t, "the container has a process", func() bool {
		children := readFile(c.t, fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", c.cmd.Process.Pid))
		_, err := fmt.Sscan(children, &pid)
		return err == nil
	})
	return pid
}

// stops claims that the container ends well when it is asked to.
func (c *container) stops() {
	c.t.Helper()
	syscall.Kill(c.process(), syscall.SIGTERM)
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the container ends with %v\n%s", err, c.log)
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
