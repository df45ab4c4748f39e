package servers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kiribashiri/bench/measure"
)

// A bare pipe is an engine with nothing in front of it: what it can do at most.
type bare struct {
	core   int // of whoever drives it
	engine []string
	line   []byte // what comes after {"id":17, newline included
	ahead  int    // how many lines are in the pipe beyond the one being played; 0 is lockstep
	lasts  time.Duration
}

// run drives the engine and returns the rate and the round trip.
func (b *bare) run(ctx context.Context) (measure.Sample, error) {
	var s measure.Sample
	err := onCore(b.core, func() (err error) {
		s, err = b.drive(ctx)
		return err
	})
	return s, err
}

func (b *bare) drive(ctx context.Context) (measure.Sample, error) {
	var toEngine, fromEngine [2]int
	if err := errors.Join(unix.Pipe2(toEngine[:], unix.O_CLOEXEC), unix.Pipe2(fromEngine[:], unix.O_CLOEXEC)); err != nil {
		return nil, err
	}
	stdin, stdout := os.NewFile(uintptr(toEngine[0]), "stdin"), os.NewFile(uintptr(fromEngine[1]), "stdout")
	cmd := exec.CommandContext(ctx, b.engine[0], b.engine[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
	err := cmd.Start()
	stdin.Close()
	stdout.Close()
	out, in := rawPipe(toEngine[1]), bufio.NewReaderSize(rawPipe(fromEngine[0]), 64<<10)
	defer unix.Close(fromEngine[0])
	if err != nil {
		unix.Close(toEngine[1])
		return nil, err
	}
	defer cmd.Wait()
	defer unix.Close(toEngine[1])

	id := 0
	var line []byte
	write := func() error {
		id++
		line = append(fmt.Appendf(line[:0], `{"id":%d,`, id), b.line...)
		_, err := out.Write(line)
		return err
	}
	read := func() error {
		_, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return errors.New("a reply is longer than the buffer")
		}
		return err
	}
	if err := errors.Join(write(), read()); err != nil { // it is up
		return nil, err
	}
	for range b.ahead {
		if err := write(); err != nil {
			return nil, err
		}
	}
	var trips []float64
	began := time.Now()
	took := time.Duration(0)
	for took < b.lasts {
		sent := time.Now()
		if err := errors.Join(write(), read()); err != nil {
			return nil, err
		}
		now := time.Now()
		trips = append(trips, float64(now.Sub(sent))/float64(time.Microsecond))
		took = now.Sub(began)
	}
	for range b.ahead {
		if err := read(); err != nil {
			return nil, err
		}
	}
	slices.Sort(trips)
	return measure.Sample{
		"rate": float64(len(trips)) / took.Seconds(),
		"p50":  measure.Quantile(trips, 0.5),
	}, nil
}

// engineLine is what the server writes for a request's body, but for the id.
func engineLine(body []byte) []byte {
	line, _, _ := bytes.Cut(body, []byte(`,"browserId"`))
	return append(bytes.TrimPrefix(bytes.Clone(line), []byte("{")), "}\n"...)
}

// A rawPipe is a pipe's end whose calls block the thread, as a C program's would:
// the least that a round trip can cost.
type rawPipe int

func (p rawPipe) Read(buffer []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(p), uintptr(unsafe.Pointer(unsafe.SliceData(buffer))), uintptr(len(buffer)))
	switch {
	case errno != 0:
		return 0, fmt.Errorf("read from the engine: %w", errno)
	case n == 0:
		return 0, io.ErrUnexpectedEOF
	}
	return int(n), nil
}

func (p rawPipe) Write(line []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(p), uintptr(unsafe.Pointer(unsafe.SliceData(line))), uintptr(len(line)))
	if errno != 0 || int(n) != len(line) {
		return int(n), fmt.Errorf("wrote %d of %d bytes to the engine: %w", int(n), len(line), errno)
	}
	return int(n), nil
}
