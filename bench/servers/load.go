package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kiribashiri/bench/measure"
)

// A load is what clients do to a server: each has one connection, and sends its
// next request when it has the answer to the last.
type load struct {
	addr    string
	core    int
	clients int
	lasts   time.Duration
	request func(client int) []byte
	status  int // what every answer must have
	// clock is the server's processor time.
	clock func() (time.Duration, error)
}

// A toll is what came of a load.
type toll struct {
	ended         bool
	answers       int
	took          time.Duration
	before, after time.Duration // the server's clock
	busy          time.Duration // processor time of the clients themselves
	latencies     []time.Duration
}

// sample returns the toll as quantities: answers a second, quantiles of what they
// took in microseconds, the server's processor time an answer in microseconds, and
// the clients' share of their core.
func (t *toll) sample() measure.Sample {
	slices.Sort(t.latencies)
	sorted := make([]float64, len(t.latencies))
	for i, l := range t.latencies {
		sorted[i] = float64(l) / float64(time.Microsecond)
	}
	return measure.Sample{
		"rate":    float64(t.answers) / t.took.Seconds(),
		"p50":     measure.Quantile(sorted, 0.5),
		"p99":     measure.Quantile(sorted, 0.99),
		"cpu":     float64(t.after-t.before) / float64(time.Microsecond) / float64(t.answers),
		"clients": float64(t.busy) / float64(t.took),
	}
}

// A caller is one client's connection.
type caller struct {
	fd       int
	request  []byte
	sent     time.Time
	answered bool
	head     []byte // what has come of an answer's head, if not all of it has
	lacks    int    // how much of an answer's body is still to come
}

// run puts the load on the server. One thread does it all, without the runtime's
// help: what it takes away from the machine is as little as can be, and known.
func (l *load) run(ctx context.Context) (*toll, error) {
	var t *toll
	err := onCore(l.core, func() (err error) {
		t, err = l.drive(ctx)
		return err
	})
	return t, err
}

func (l *load) drive(ctx context.Context) (*toll, error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(poll)
	callers := make([]caller, 0, l.clients)
	defer func() {
		for _, c := range callers {
			unix.Close(c.fd)
		}
	}()
	for i := range l.clients {
		fd, err := dial(l.addr)
		if err != nil {
			return nil, err
		}
		callers = append(callers, caller{fd: fd, request: l.request(i)})
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
			return nil, err
		}
		if err := callers[i].ask(); err != nil { // at once: a server waits only so long for a request
			return nil, err
		}
	}

	t := &toll{latencies: make([]time.Duration, 0, 1<<20)}
	events := make([]unix.EpollEvent, 256)
	buffer := make([]byte, 64<<10)
	var began time.Time // when everybody had an answer, and the counting began
	var own time.Duration
	for missing, waiting := len(callers), len(callers); waiting > 0; {
		n, err := epollWait(poll, events)
		if err != nil {
			return nil, err
		}
		if n == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, event := range events[:n] {
			c := &callers[event.Fd]
			whole, err := c.hear(buffer, l.status)
			if err != nil {
				return nil, err
			}
			if !whole {
				continue
			}
			now := time.Now()
			switch {
			case t.ended: // what comes now is not counted
				waiting--
				continue
			case missing == 0:
				t.answers++
				t.took = now.Sub(began)
				t.latencies = append(t.latencies, now.Sub(c.sent))
			case !c.answered:
				c.answered = true
				if missing--; missing == 0 {
					began, own = now, threadTime()
					if t.before, err = l.clock(); err != nil {
						return nil, err
					}
				}
			}
			if t.took >= l.lasts {
				t.ended = true
				t.busy = threadTime() - own
				if t.after, err = l.clock(); err != nil {
					return nil, err
				}
				waiting--
				continue
			}
			if err := c.ask(); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func dial(addr string) (fd int, err error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return 0, err
	}
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("connect to %s: %w", addr, err)
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // so that no port is left waiting
	return fd, unix.SetNonblock(fd, true)
}

// ask sends the caller's request, which always fits an empty socket.
func (c *caller) ask() error {
	c.sent = time.Now()
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(c.fd), uintptr(unsafe.Pointer(unsafe.SliceData(c.request))), uintptr(len(c.request)))
	if errno != 0 || int(n) != len(c.request) {
		return fmt.Errorf("sent %d of %d bytes: %w", int(n), len(c.request), errno)
	}
	return nil
}

// hear reads what has come and reports whether the answer is whole.
func (c *caller) hear(buffer []byte, status int) (bool, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(c.fd), uintptr(unsafe.Pointer(unsafe.SliceData(buffer))), uintptr(len(buffer)))
	switch {
	case errno == unix.EAGAIN:
		return false, nil
	case errno != 0:
		return false, fmt.Errorf("read: %w", errno)
	case n == 0:
		return false, errors.New("the server has closed a connection")
	}
	got := buffer[:n]
	if c.lacks == 0 {
		if len(c.head) > 0 {
			c.head = append(c.head, got...)
			got = c.head
		}
		body, err := measureHead(got, status)
		if err != nil {
			return false, err
		}
		if body < 0 {
			c.head = append(c.head[:0], got...)
			return false, nil
		}
		c.head = c.head[:0]
		c.lacks = body
		return c.lacks == 0, nil
	}
	c.lacks -= len(got)
	return c.lacks == 0, nil
}

// measureHead checks an answer's head and returns how much of the body is not among
// the bytes, or -1 if the head is not whole.
func measureHead(got []byte, status int) (int, error) {
	head, body, whole := bytes.Cut(got, []byte("\r\n\r\n"))
	if !whole {
		return -1, nil
	}
	if len(head) < 12 || string(head[9:12]) != strconv.Itoa(status) {
		return 0, fmt.Errorf("not a %d: %s", status, got[:min(len(got), 1000)])
	}
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		const name = "content-length:"
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			length, err := strconv.Atoi(string(bytes.TrimSpace(line[len(name):])))
			return length - len(body), err
		}
	}
	return 0, fmt.Errorf("no Content-Length: %s", head)
}

// epollWait waits without telling the runtime, which would look for other work for
// this thread's core; so it must not wait for long.
func epollWait(poll int, events []unix.EpollEvent) (int, error) {
	const longest = 10 // milliseconds
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(poll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), longest, 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return 0, fmt.Errorf("epoll: %w", errno)
	}
	if errno == unix.EINTR {
		return 0, nil
	}
	return int(n), nil
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
