package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Profile records the operations that an engine runs and their times, between Engine.StartProfile
// and Stop. It may be used by any number of goroutines.
type Profile struct {
	e     *Engine
	start time.Time

	mu     sync.Mutex
	events []event
}

// event is one entry of a profile; its times are nanoseconds since the start.
type event struct {
	name  string
	kind  eventKind
	lane  Lane
	track int // worker, or -1 for a pusher's goroutine
	uses  []Use
	at    int64
	dur   int64
	value float64
}

type eventKind uint8

const (
	opEvent eventKind = iota
	scopeEvent
	counterEvent
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
	p.events = append(p.events, v)
	p.mu.Unlock()
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
		if v.kind == counterEvent {
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
		if v.kind != counterEvent {
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
