package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"gomx/launch/profile"
)

// Profile records the operations that an engine runs and their times, between Engine.StartProfile
// and Stop. It may be used by any number of goroutines.
type Profile struct {
	e     *Engine
	start time.Time

	file *os.File // that events go to; nil: they are kept

	mu     sync.Mutex
	events []event
	line   []byte // scratch
}

// event is one entry of a profile; its times are nanoseconds since the start.
type event struct {
	name   string
	kind   eventKind
	lane   Lane
	track  int // worker, or -1 for a pusher's goroutine
	uses   []Use
	at     int64
	dur    int64
	value  float64
	kernel work
}

type eventKind uint8

const (
	opEvent eventKind = iota
	scopeEvent
	counterEvent
	kernelEvent
)

// StartProfile starts recording and returns the record. It stops a profile that is being recorded.
// Without a profile the cost per operation is a nanosecond.
func (e *Engine) StartProfile() *Profile {
	p := &Profile{e: e, start: time.Now()}
	e.profile.Store(p)
	return p
}

// Stop ends the recording; the record stays readable.
func (p *Profile) Stop() { p.e.profile.CompareAndSwap(p, nil) }

func (p *Profile) now() int64 { return int64(time.Since(p.start)) }

func (p *Profile) add(v event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		p.write(&v)
		return
	}
	p.events = append(p.events, v)
}

// begin returns the entry of an operation that starts now.
func (p *Profile) begin(o *oper) event {
	return event{name: o.name, lane: o.spec.laneOf(), track: o.run.Worker, uses: usesOf(o),
		at: p.now()}
}

// end records an entry that began earlier.
func (p *Profile) end(v event) {
	v.dur = p.now() - v.at
	p.add(v)
}

// measure runs the body of a synchronous operation.
func (p *Profile) measure(o *oper) error {
	v := p.begin(o)
	defer func() { p.end(v) }()
	return o.spec.fn(&o.run)
}

// Scope records an activity of the program itself, until the returned function is called.
func (p *Profile) Scope(name string) (end func()) {
	v := event{name: name, kind: scopeEvent, at: p.now()}
	return func() { p.end(v) }
}

// Counter records the value of something at this moment, for instance of memory in use.
func (p *Profile) Counter(name string, value float64) {
	p.add(event{name: name, kind: counterEvent, at: p.now(), value: value})
}

// snapshot returns the events recorded so far.
func (p *Profile) snapshot() []event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.events[:len(p.events):len(p.events)]
}

// traceEvent is an entry of the Chrome trace event format.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Time  float64        `json:"ts"` // microseconds
	Dur   float64        `json:"dur,omitempty"`
	Cat   string         `json:"cat,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// WriteTrace writes the record in the Chrome trace event format, which ui.perfetto.dev opens: one
// process for each device, one thread for each worker.
func (p *Profile) WriteTrace(w io.Writer) error {
	pids := map[string]int{}
	out := []traceEvent{}
	pid := func(process string) int {
		id, ok := pids[process]
		if !ok {
			id = len(pids) + 1
			pids[process] = id
			out = append(out, traceEvent{Name: "process_name", Phase: "M", PID: id,
				Args: map[string]any{"name": process}})
		}
		return id
	}
	for _, v := range p.snapshot() {
		t := traceEvent{Name: v.name, Phase: "X", Time: float64(v.at) / 1e3, Dur: float64(v.dur) /
			1e3}
		switch v.kind {
		case opEvent:
			t.PID, t.TID, t.Cat = pid(v.lane.String()), v.track+1, "operation"
		case scopeEvent:
			t.PID, t.Cat = pid("program"), "scope"
		case counterEvent:
			t.PID, t.Phase, t.Args = pid("program"), "C", map[string]any{"value": v.value}
		case kernelEvent:
			t.PID, t.TID, t.Cat = pid(v.lane.String()), v.track+1, "operator"
			t.Args = map[string]any{"operator": v.kernel.op, "bytes": v.kernel.bytes,
				"FLOPs": v.kernel.flops}
		}
		out = append(out, t)
	}
	return json.NewEncoder(w).Encode(map[string]any{"traceEvents": out, "displayTimeUnit": "ms"})
}

// Row sums up all operations, or scopes, of one name.
type Row struct {
	Name            string
	Count           int
	Total, Min, Max time.Duration
}

// Mean returns the mean duration.
func (r Row) Mean() time.Duration { return r.Total / time.Duration(max(1, r.Count)) }

// Rows sums the record up by name, the longest total first.
func (p *Profile) Rows() []Row {
	at := map[string]int{}
	var rows []Row
	for _, v := range p.snapshot() {
		if v.kind == counterEvent || v.kind == kernelEvent {
			continue
		}
		d := time.Duration(v.dur)
		i, ok := at[v.name]
		if !ok {
			i = len(rows)
			at[v.name] = i
			rows = append(rows, Row{Name: v.name, Min: d})
		}
		r := &rows[i]
		r.Count++
		r.Total += d
		r.Min, r.Max = min(r.Min, d), max(r.Max, d)
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].Total > rows[j].Total })
	return rows
}

// Table formats Rows, times in microseconds.
func (p *Profile) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "name\tcount\ttotal\tmin\tmax\tmean\t\n")
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	for _, r := range p.Rows() {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t\n", r.Name, r.Count, us(r.Total),
			us(r.Min), us(r.Max), us(r.Mean()))
	}
	w.Flush() // to a strings.Builder, which does not fail
	return b.String()
}

// Span is one entry of a profile: an operation that ran or a scope of the program. Times count from
// the start of the profile.
type Span struct {
	Name       string
	Scope      bool // the program's own, without lane, worker and uses
	Lane       Lane
	Worker     int   // that ran the body, or -1 for the goroutine that pushed it or waited for it
	Uses       []Use // duplicates merged
	Start, End time.Duration
}

// Spans returns the operations and scopes recorded so far, in the order of their ends. Operations
// with conflicting uses end in the order of their pushes, so the list shows, with the uses, the
// waits between operations.
func (p *Profile) Spans() []Span {
	var spans []Span
	for _, v := range p.snapshot() {
		if v.kind == opEvent || v.kind == scopeEvent {
			spans = append(spans, Span{Name: v.name, Scope: v.kind == scopeEvent, Lane: v.lane,
				Worker: v.track, Uses: v.uses,
				Start: time.Duration(v.at), End: time.Duration(v.at + v.dur)})
		}
	}
	return spans
}

// usesOf returns the uses of o, duplicates merged.
func usesOf(o *oper) []Use {
	acc := o.Uses()
	uses := make([]Use, len(acc))
	for i := range acc {
		uses[i] = Use{varOf(acc[i].Var), Access(acc[i].Mode)}
	}
	return uses
}

// Started tells a running profile that the device has come to the work of a Queued operation. Its
// entry begins then, not when its body put the work on the queue. It is called at most once, before
// done.
func (r *Run) Started() {
	if p := r.op.eng.profile.Load(); p != nil && r.op.dev != nil {
		r.op.dev.started.Store(p.now())
	}
}

// Kernel is one run of an operator inside an operation. Operations of compiled graphs have many,
// operations of imperative programs one.
type Kernel struct {
	Node  string // of the graph; for an imperative operator its name
	Op    string
	Bytes int64 // read and written
	FLOPs int64 // a multiplication with an addition counts as two

	Lane       Lane
	Worker     int // that ran it, as in Span
	Start, End time.Duration
}

// Profile returns the profile that is being recorded, nil if there is none. Bodies of operations
// add their kernels to it.
func (r *Run) Profile() *Profile { return r.op.eng.profile.Load() }

// Profiling reports whether a profile of an engine is being recorded.
func Profiling(e *Engine) bool { return e.profile.Load() != nil }

// Now returns the time since the start of the profile.
func (p *Profile) Now() time.Duration { return time.Duration(p.now()) }

// Kernel records a kernel that has run from k.Start until now.
func (p *Profile) Kernel(k Kernel) {
	p.add(event{name: k.Node, kind: kernelEvent, lane: k.Lane, track: k.Worker, at: int64(k.Start),
		dur: p.now() - int64(k.Start), kernel: work{k.Op, k.Bytes, k.FLOPs}})
}

// work is the part of an event that only kernels have.
type work struct {
	op           string
	bytes, flops int64
}

// Kernels returns the kernels recorded so far, in the order of their ends. Kernels on devices with
// queues are not recorded: their time is the time of their operation.
func (p *Profile) Kernels() []Kernel {
	var list []Kernel
	for _, v := range p.snapshot() {
		if v.kind == kernelEvent {
			list = append(list, Kernel{v.name, v.kernel.op, v.kernel.bytes, v.kernel.flops, v.lane,
				v.track, time.Duration(v.at), time.Duration(v.at + v.dur)})
		}
	}
	return slices.Clip(list)
}

// recordAtStart begins a profile in a file if the process has been told to, by `gomx profile`. A
// program may end at any instant and in any way, so every event is written at once.
func recordAtStart(e *Engine) {
	p := &Profile{e: e, start: time.Now()}
	var err error
	// gomx profile reports that there is no file
	if p.file, err = profile.Create(p.start, e.Workers()); err == nil && p.file != nil {
		e.profile.Store(p)
	}
}

// write writes an event to the file. mu is held. A full disk ends the record, not the program.
func (p *Profile) write(v *event) {
	e := profile.Event{Name: v.name, Kind: int(v.kind), At: v.at, Dur: v.dur, Worker: v.track,
		Value: v.value, Op: v.kernel.op, Bytes: v.kernel.bytes, FLOPs: v.kernel.flops}
	if v.kind == opEvent || v.kind == kernelEvent {
		e.Lane = v.lane.String()
	}
	p.line = e.Append(p.line[:0])
	if _, err := p.file.Write(p.line); err != nil {
		p.e.profile.CompareAndSwap(p, nil)
	}
}
