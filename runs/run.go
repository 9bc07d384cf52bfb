package runs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Run writes a run. Its methods may be called from any number of goroutines. An error of the disk
// ends the recording, not the training: Flush and Close return it. After Close nothing is recorded.
type Run struct {
	dir    string
	config config
	log    *journal
	board  *board // nil without TensorBoard
	begun  time.Time

	mu     sync.Mutex
	tags   []string
	ids    map[string]Tag
	hyper  map[string]any
	hist   Histogram // scratch
	end    bool
	closed error // the result of Close
}

// Tag is the number of a curve's name in a run.
type Tag int

// Point is a value of a curve.
type Point struct {
	Tag   Tag
	Value float64
}

// Open begins to write a run into a folder, which is made, or continues a run there. A folder that
// another process of this machine writes into is an error.
func Open(dir string, opts ...Option) (*Run, error) {
	c := config{trace: 10}
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	switch {
	case dir == "":
		return nil, errors.New("runs: the folder's name is empty, want one such as runs/lenet")
	case c.from < 0:
		return nil, fmt.Errorf("runs: From(%d), want 0 or more", c.from)
	case c.rank < 0:
		return nil, fmt.Errorf("runs: Rank(%d), want 0 or more", c.rank)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	f, err := openEnd(filepath.Join(dir, FileName(c.rank)))
	if err != nil {
		return nil, err
	}
	r := &Run{dir: dir, config: c, log: newJournal(f), begun: time.Now(), ids: map[string]Tag{},
		hyper: map[string]any{}}
	if c.board {
		if r.board, err = openBoard(&c, dir); err != nil {
			return nil, errors.Join(err, r.log.close())
		}
	}
	host, _ := os.Hostname() // a run without it is as good
	r.json(kindBegin, Begin{c.from, r.begun, os.Getpid(), host, os.Args, c.rank})
	r.Hyper(c.hyper)
	return r, nil
}

// FileName returns the name of the file of a worker of a job, or of a run without a job, rank 0.
func FileName(rank int) string {
	if rank == 0 {
		return "events.gomx"
	}
	return fmt.Sprintf("events-worker-%d.gomx", rank)
}

// openEnd opens a file of events at the end of its last complete record, cuts off the rest, and
// locks it.
func openEnd(path string) (f *os.File, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("runs: %s: %w", path, err), f.Close())
		}
	}()
	if err := lock(f); err != nil {
		return f, fmt.Errorf("another process writes this run; give each a folder of its own: %w",
			err)
	}
	end, err := endOf(f)
	if err != nil {
		return f, err
	}
	if err := f.Truncate(end); err != nil {
		return f, err
	}
	if _, err := f.Seek(end, 0); err != nil {
		return f, err
	}
	if end == 0 {
		_, err = f.Write(header())
	}
	return f, err
}

// endOf returns the end of the last complete record of a file.
func endOf(f *os.File) (int64, error) {
	r, err := newReader(f)
	if err != nil || r.at == 0 {
		return 0, err // of a foreign file; or the file has no whole header yet
	}
	for {
		more, err := r.frame()
		if err != nil || !more {
			// records behind damage cannot be found: the file goes on before it
			return r.at, nil
		}
	}
}

// Dir returns the folder of the run.
func (r *Run) Dir() string { return r.dir }

// HistogramsDue reports whether histograms are to be recorded at a step; see Histograms.
func (r *Run) HistogramsDue(step int64) bool {
	return r.config.histograms > 0 && step%r.config.histograms == 0
}

// TraceDue reports whether the trace of a step is to be recorded; see Trace.
func (r *Run) TraceDue(step int64) bool { return r.config.trace > 0 && step == r.config.trace }

// Tag returns the number of a curve's name, for Add.
func (r *Run) Tag(name string) Tag {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tag(name)
}

// tag is Tag. mu is held.
func (r *Run) tag(name string) Tag {
	t, ok := r.ids[name]
	if !ok {
		t = Tag(len(r.tags))
		r.tags, r.ids[name] = append(r.tags, name), t
		if !r.end {
			b := r.log.begin()
			at := len(b)
			b = append(beginFrame(b, kindTag), name...)
			endFrame(b, at)
			r.log.commit(b)
		}
	}
	return t
}

// Scalar records a value of a curve at a step.
func (r *Run) Scalar(name string, step int64, value float64) {
	r.Add(step, Point{r.Tag(name), value})
}

// Add records values of several curves at a step. It allocates nothing in the steady state. A tag
// of another run is a mistake of the caller, and panics.
func (r *Run) Add(step int64, points ...Point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range points {
		if p.Tag < 0 || int(p.Tag) >= len(r.tags) {
			panic(fmt.Sprintf("runs: Add with tag %d, the run has %d", p.Tag, len(r.tags)))
		}
	}
	if r.end || len(points) == 0 {
		return
	}
	now := time.Now().UnixNano()
	b := r.log.begin()
	at := len(b)
	b = binary.AppendVarint(beginFrame(b, kindScalars), step)
	b = binary.LittleEndian.AppendUint64(b, uint64(now))
	for _, p := range points {
		b = binary.AppendUvarint(b, uint64(p.Tag))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Value))
	}
	endFrame(b, at)
	r.log.commit(b)
	if r.board != nil {
		r.board.scalars(step, now, points, r.tags)
	}
}

// Histogram records the distribution of numbers at a step.
func (r *Run) Histogram(name string, step int64, values []float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end {
		return
	}
	tag, h := r.tag(name), &r.hist
	h.count(values)
	h.Step, h.Time = step, time.Now().UnixNano()
	b := r.log.begin()
	at := len(b)
	b = binary.AppendVarint(beginFrame(b, kindHistogram), step)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.Time))
	b = binary.AppendUvarint(b, uint64(tag))
	for _, v := range [...]float64{h.Min, h.Max, h.Sum, h.Squares} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, h.Count), h.Other)
	for _, n := range h.Counts {
		b = binary.AppendUvarint(b, n)
	}
	endFrame(b, at)
	r.log.commit(b)
	if r.board != nil {
		r.board.histogram(name, h)
	}
}

// Flush waits until everything recorded so far is in the files, and returns the first error of all
// writes. Afterwards a crash of the process loses none of it.
func (r *Run) Flush() error {
	err := r.log.flush()
	if r.board != nil {
		err = errors.Join(err, r.board.log.flush())
	}
	return err
}

// Close records the end of the run, unless it has failed, and closes the files. Further calls return
// the same error.
func (r *Run) Close() error { return r.close(true) }

// Abort is Close for a run that ends early: the board shows it as one that has not ended.
func (r *Run) Abort() error { return r.close(false) }

func (r *Run) close(complete bool) error {
	if complete {
		r.note(noteEnd, 0, time.Since(r.begun).Seconds())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end {
		return r.closed
	}
	r.end = true
	r.closed = r.log.close()
	if r.board != nil {
		r.closed = errors.Join(r.closed, r.board.log.close())
	}
	return r.closed
}

// json records a value as a record of a kind.
func (r *Run) json(k kind, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // all types here can be marshalled
	}
	b := r.log.begin()
	at := len(b)
	b = append(beginFrame(b, k), text...)
	endFrame(b, at)
	r.log.commit(b)
}
