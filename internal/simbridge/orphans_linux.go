package simbridge

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A reaper knows the engines among this process's children. The others are
// orphans: what an engine has started and left behind becomes a child of process
// 1, and so of the server where that is process 1, as in a container. There it has
// to reap them, or their entries stay in the kernel's table for ever; and it must
// not reap an engine, whose end somebody waits for.
//
// Nothing else in the server starts processes.
type reaper struct {
	mu      sync.Mutex   // held while an engine is started, until it stands in engines
	engines map[int]bool // by pid, until they have been reaped
}

func newReaper() *reaper { return &reaper{engines: make(map[int]bool)} }

// started runs start, which starts an engine and returns its pid.
func (r *reaper) started(start func() (pid int, err error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := start()
	if err == nil {
		r.engines[pid] = true
	}
	return err
}

// ended says that an engine has been reaped.
func (r *reaper) ended(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.engines, pid)
}

// reapOrphans reaps them until ctx is done, if this is process 1.
func (r *reaper) reapOrphans(ctx context.Context) {
	if os.Getpid() != 1 {
		return
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, unix.SIGCHLD)
	defer signal.Stop(ends)
	for {
		r.reapNow()
		select {
		case <-ends:
		case <-ctx.Done():
			return
		}
	}
}

// reapNow asks after every process, because waiting for any child at all would
// take engines too. One that is no child of ours, or lives, is left as it is.
func (r *reaper) reapNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	processes, _ := os.ReadDir("/proc") // every container has it
	for _, entry := range processes {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && !r.engines[pid] {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}
