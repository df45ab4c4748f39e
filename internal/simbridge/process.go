package simbridge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"kiribashiri/internal/nonblock"
)

// A process is a running engine as its lane sees it: pipes, two signals and an
// end.
type process struct {
	pid    int
	stdin  writePipe
	stdout readPipe
	stderr *stderrLog // nil for an engine without one

	// terminate asks the process and its children to leave; kill does not ask.
	// After the end they do nothing.
	terminate, kill func()
	exited          chan struct{} // closed once it has ended and been reaped
	status          string        // how it ended; read it after exited
}

type writePipe interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

type readPipe interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *process) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// unread reports whether none of the n bytes last written to w has been read. A
// pipe that cannot tell says no.
func unread(w writePipe, n uint64) bool {
	left, err := ofPipe(w, unreadBytes)
	return err == nil && uint64(left) == n
}

// pipeSize returns how many bytes w holds while nobody reads, or 0 if it cannot tell.
func pipeSize(w writePipe) int {
	size, _ := ofPipe(w, pipeBytes)
	return size
}

// ofPipe asks the system for a number about a pipe of ours.
func ofPipe(w writePipe, number func(fd uintptr) (int, error)) (int, error) {
	file, ok := w.(syscall.Conn)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var of error
	if err := raw.Control(func(fd uintptr) { n, of = number(fd) }); err != nil {
		return 0, err
	}
	return n, of
}

// takeNow reads what r holds at this moment into b, and waits for nothing. A pipe
// that is not the system's holds nothing.
func takeNow(r readPipe, b []byte) (int, error) {
	pipe, ok := r.(*nonblock.Pipe)
	if !ok {
		return 0, nonblock.ErrNotReady
	}
	return pipe.ReadNow(b)
}

// startProcess starts the engine's program in a process group of its own, so that
// a terminal's Ctrl-C does not reach it and its children go when it goes. If the
// server dies, however it does, so does the engine (on Linux).
func startProcess(cfg *Config, reaper *reaper) (*process, error) {
	var ours, theirs [3]*os.File
	closeAll := func(files [3]*os.File) {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, fmt.Errorf("pipe: %w", err)
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...)
	cmd.Env = cfg.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	cmd.SysProcAttr = processAttributes()

	stdin, err := nonblock.NewPipe(ours[0])
	if err != nil {
		closeAll(ours)
		closeAll(theirs)
		return nil, fmt.Errorf("stdin: %w", err)
	}
	stdout, err := nonblock.NewPipe(ours[1])
	if err != nil {
		closeAll(ours)
		closeAll(theirs)
		return nil, fmt.Errorf("stdout: %w", err)
	}
	p := &process{
		stdin:  stdin,
		stdout: stdout,
		stderr: &stderrLog{file: ours[2]},
		exited: make(chan struct{}),
	}
	var mu sync.Mutex
	reaped := false // guarded by mu; from then on the pid may be somebody else's
	signal := func(sig syscall.Signal) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			if !reaped {
				signalGroup(p.pid, sig)
			}
		}
	}
	p.terminate, p.kill = signal(syscall.SIGTERM), signal(syscall.SIGKILL)

	started := make(chan error, 1)
	go func() { // ends when the process has ended
		// The kernel kills the engine when the thread that started it ends, so that
		// thread does nothing else until the engine is gone (golang/go#27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := reaper.started(func() (int, error) {
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			p.pid = cmd.Process.Pid
			return p.pid, nil
		})
		closeAll(theirs)
		if err != nil {
			started <- err
			return
		}
		sacrificeFirst(p.pid)
		started <- nil

		unreaped := waitUnreaped(p.pid)
		if !unreaped {
			cmd.Wait()
		}
		mu.Lock()
		signalGroup(p.pid, syscall.SIGKILL) // its children, while the pid is still its own
		if unreaped {
			cmd.Wait()
		}
		reaped = true
		mu.Unlock()
		reaper.ended(p.pid)
		p.status = cmd.ProcessState.String()
		close(p.exited)
		// What has left the group may hold the pipes open; read no longer than this.
		deadline := time.Now().Add(cfg.Limits.PipeLinger)
		ours[1].SetReadDeadline(deadline)
		ours[2].SetReadDeadline(deadline)
	}()
	if err := <-started; err != nil {
		closeAll(ours)
		return nil, &startError{err}
	}
	return p, nil
}

// A startError says that the engine's program could not be executed.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// isMistake reports whether a start failed because there is no such program, rather
// than because the machine had no room for another process.
func isMistake(err error) bool {
	if _, ok := errors.AsType[*startError](err); !ok {
		return false
	}
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, exec.ErrNotFound) ||
		errors.Is(err, exec.ErrDot) || errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.ENOTDIR)
}
