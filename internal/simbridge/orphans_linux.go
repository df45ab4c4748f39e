package simbridge

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A family knows the engines among this process's children. The others are
// orphans: what an engine has started and left behind becomes a child of process
// 1, and so of the server where that is process 1, as in a container. There it has
// to reap them, or their entries stay in the kernel's table for ever; and it must
// not reap an engine, whose end somebody waits for.
//
// Nothing else in the server starts processes.
type family struct {
	mu      sync.Mutex   // held while an engine is started, until it stands in engines
	engines map[int]bool // by pid, until they have been reaped
}

func newFamily() *family { return &family{engines: make(map[int]bool)} }

// born runs start, which starts an engine and returns its pid.
func (f *family) born(start func() (pid int, err error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	pid, err := start()
	if err == nil {
		f.engines[pid] = true
	}
	return err
}

// buried says that an engine has been reaped.
func (f *family) buried(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.engines, pid)
}

// reapOrphans reaps them until ctx is done, if this is process 1.
func (f *family) reapOrphans(ctx context.Context) {
	if os.Getpid() != 1 {
		return
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, unix.SIGCHLD)
	defer signal.Stop(ends)
	for {
		f.reapNow()
		select {
		case <-ends:
		case <-ctx.Done():
			return
		}
	}
}

// reapNow asks after every process, because waiting for any child at all would
// take engines too. One that is no child of ours, or lives, is left as it is.
func (f *family) reapNow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	processes, _ := os.ReadDir("/proc") // every container has it
	for _, entry := range processes {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && !f.engines[pid] {
			unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}
