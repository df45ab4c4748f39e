// Package servers measures whole servers from outside: processes with a core of
// their own, the processor time that the kernel books to them, and clients that
// cost little enough not to be what is measured.
package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// On two cores, the one is the server's, and the other that of its engine and its
// clients.
const (
	serverCore = 0
	otherCore  = 1
	anyCore    = -1
)

// onCore runs f on a thread of its own that may use only that core; what f starts
// inherits it.
func onCore(core int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if core == anyCore {
		return f()
	}
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("affinity: %w", err)
	}
	only.Set(core)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("core %d: %w", core, err)
	}
	defer unix.SchedSetaffinity(0, &before)
	return f()
}

// A child is a process that is measured.
type child struct {
	cmd *exec.Cmd
	log string // the file with its output
	// addr and admin are where it listens, if its log says so.
	addr, admin string
}

// start starts a server on a core and waits until it says where it serves.
func start(ctx context.Context, dir string, core int, env []string, program string, args ...string) (*child, error) {
	c, err := launch(dir, core, env, program, args...)
	if err != nil {
		return nil, err
	}
	if err := c.await(ctx); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// startAt starts a server on the servers' core that was told where to listen.
func startAt(ctx context.Context, dir, addr string, env []string, program string, args ...string) (*child, error) {
	c, err := launch(dir, serverCore, env, program, args...)
	if err != nil {
		return nil, err
	}
	c.addr = addr
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return c, nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			said, _ := os.ReadFile(c.log)
			c.stop()
			return nil, fmt.Errorf("%s did not come up: %w: %s", c.cmd, err, said)
		}
	}
}

// launch starts a program on a core. Its output goes to a file, as a service's does.
func launch(dir string, core int, env []string, program string, args ...string) (*child, error) {
	out, err := os.CreateTemp(dir, filepath.Base(program)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer out.Close()
	c := &child{cmd: exec.Command(program, args...), log: out.Name()}
	if err := appending(out); err != nil {
		return nil, err
	}
	c.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	return c, onCore(core, c.cmd.Start)
}

// appending has what is written to a file go to its end, also after it was emptied.
func appending(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETFL, unix.O_APPEND)
	return err
}

// await waits until the child has logged in JSON that it is "serving", and where.
func (c *child) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		raw, err := os.ReadFile(c.log)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(raw) {
			var said struct{ Msg, Addr, Admin string }
			if json.Unmarshal(line, &said) == nil && said.Msg == "serving" {
				c.addr, c.admin = said.Addr, said.Admin
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come up: %s", c.cmd, raw[max(0, len(raw)-2000):])
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// forget empties the log, so that a long run does not fill the disk.
func (c *child) forget() { os.Truncate(c.log, 0) }

// cpu returns the processor time that the process alone has used, its children
// not counted; in nanoseconds as the scheduler books them, not in ticks.
func (c *child) cpu() (time.Duration, error) { return processTime(c.cmd.Process.Pid) }

// processTime reads the processor clock of another process (clock_getcpuclockid(3)).
func processTime(pid int) (time.Duration, error) {
	const scheduled = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
		return 0, fmt.Errorf("processor clock of %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// A memory is what a process holds, in bytes.
type memory struct {
	resident  int64 // all of it
	most      int64 // the most that was ever resident
	anonymous int64 // what is its own, rather than pages of its binary
}

// memory returns what the process holds now.
func (c *child) memory() (memory, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return memory{}, err
	}
	kib := func(name string) int64 {
		_, after, _ := strings.Cut(string(raw), "\n"+name+":")
		n, _, _ := strings.Cut(strings.TrimSpace(after), " ")
		v, _ := strconv.ParseInt(n, 10, 64)
		return v << 10
	}
	m := memory{kib("VmRSS"), kib("VmHWM"), kib("RssAnon")}
	if m.resident == 0 {
		return m, fmt.Errorf("%s has ended", c.cmd)
	}
	return m, nil
}

// stop ends the process and whatever it has started.
func (c *child) stop() {
	c.cmd.Process.Signal(unix.SIGTERM)
	gone := make(chan struct{})
	go func() { // ends with the process, which is killed if need be
		c.cmd.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL)
		<-gone
	}
}

// errTooFewCores is why nothing can be measured on a small machine.
var errTooFewCores = errors.New("two cores are needed: one for the server, one for its clients")
