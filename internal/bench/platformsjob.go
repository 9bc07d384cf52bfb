package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/wire"
	"gomx/launch"
)

// platformSide is the result of a job in one system.
type platformSide struct {
	Rate     float64    `json:"rate"`           // samples per second, of all workers
	Seconds  float64    `json:"seconds"`        // measured time
	Loss     float64    `json:"loss,omitempty"` // after the warm-up steps, mean over the workers
	Accuracy float64    `json:"accuracy"`       // at the same time as Loss
	Workers  int        `json:"workers"`        // number of worker processes
	Worker   processUse `json:"worker"`         // average of a worker process
	Server   processUse `json:"server"`         //
	// Network is the bytes per second that a worker sends and receives; gomx only.
	Network float64 `json:"network,omitzero"`
}

// platformJobTime is the longest time of a job; Spark takes minutes to begin.
const platformJobTime = 10 * time.Minute

// platformRun collects the output of the workers of a job while their processes are sampled.
type platformRun struct {
	watch *processWatch

	mu     sync.Mutex
	checks int
	begun  int
	ended  int
	from   time.Time // time when the last worker began to measure
	to     time.Time // time when the first worker ended
	side   platformSide
	err    error
}

func newPlatformRun() *platformRun {
	return &platformRun{watch: watchProcesses(100 * time.Millisecond)}
}

// line parses one line of a worker: check with loss and accuracy, begin, or end with seconds and
// samples.
func (r *platformRun) line(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what, rest, _ := strings.Cut(strings.TrimSpace(text), "\t")
	var a, b float64
	read := func() bool {
		if _, err := fmt.Sscanf(rest, "%g\t%g", &a, &b); err != nil && r.err == nil {
			r.err = fmt.Errorf("line %q of a worker: %w", text, err)
		}
		return r.err == nil
	}
	switch what {
	case "check":
		if read() {
			r.checks++
			r.side.Loss += a
			r.side.Accuracy += b
		}
	case "begin":
		r.begun++
		r.from = time.Now()
	case "end":
		if !read() {
			return
		}
		if !(a > 0 && b > 0) {
			r.err = fmt.Errorf("a worker measured %g samples in %g s, want both above 0", b, a)
			return
		}
		if r.ended++; r.ended == 1 {
			r.to = time.Now()
		}
		r.side.Rate += b / a
		r.side.Seconds = max(r.side.Seconds, a)
	}
}

// over reports whether all workers have ended; workers is their number.
func (r *platformRun) over(workers int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil || r.ended == workers
}

// finish returns the result; workers is their number. No worker may print any more.
func (r *platformRun) finish(workers int) (platformSide, error) {
	r.watch.close()
	s := r.side
	s.Workers = workers
	switch {
	case r.err != nil:
		return s, r.err
	case r.ended != workers || r.begun != workers:
		return s, fmt.Errorf("%d workers have finished, want %d", r.ended, workers)
	}
	if r.checks > 0 {
		s.Loss /= float64(r.checks)
		s.Accuracy /= float64(r.checks)
	}
	s.Worker, s.Server = r.watch.use("worker", r.from, r.to), r.watch.use("server", r.from, r.to)
	return s, nil
}

// runPlatform runs a job of gomx with package launch; this program is the scheduler, the server and
// the workers.
func runPlatform(ctx context.Context, p *platformPlan) (platformSide, error) {
	exe, err := os.Executable()
	if err != nil {
		return platformSide{}, err
	}
	plan, err := json.Marshal(p)
	if err != nil {
		return platformSide{}, err
	}
	dir, err := os.MkdirTemp("", "gomx-platform-")
	if err != nil {
		return platformSide{}, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, platformJobTime)
	defer cancel()
	r := newPlatformRun()
	var said bytes.Buffer
	l := launch.Local{Program: []string{exe, PlatformCommand, string(plan)}, Workers: p.Workers,
		Servers: 1, Restarts: -1, Dir: dir,
		Stdout: &workerOutput{line: r.line}, Stderr: &said,
		Started: func(n wire.Node, pid int) { r.watch.add(n.String(), pid) }}
	var traffic networkWatch
	asking, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { traffic.run(asking, dir) })
	err = l.Run(ctx)
	stop()
	wg.Wait()
	side, missing := r.finish(p.Workers)
	if err != nil {
		return side, fmt.Errorf("%w: %s", err, lastLine(said.String()))
	}
	side.Network = traffic.rate(r.from, r.to)
	return side, missing
}

// networkWatch samples the number of bytes that a worker has sent and received, as gomx top does.
type networkWatch struct {
	list []networkSample
}

type networkSample struct {
	at    time.Time
	bytes uint64
}

// run samples until ctx ends.
func (w *networkWatch) run(ctx context.Context, dir string) {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		addr, err := os.ReadFile(filepath.Join(dir, "status-worker-0"))
		if err != nil {
			continue // the worker has not begun yet
		}
		if st, err := kvstore.ReadStatus(ctx, string(addr)); err == nil && st.Transport != nil {
			w.list = append(w.list, networkSample{time.Now(), st.Transport.SentBytes +
				st.Transport.ReceivedBytes})
		}
	}
}

// rate returns the bytes per second between two instants, 0 without samples.
func (w *networkWatch) rate(from, to time.Time) float64 {
	var first, last *networkSample
	for i := range w.list {
		s := &w.list[i]
		if s.at.Before(from) || s.at.After(to) {
			continue
		}
		if first == nil {
			first = s
		}
		last = s
	}
	if first == last {
		return 0
	}
	return float64(last.bytes-first.bytes) / last.at.Sub(first.at).Seconds()
}
