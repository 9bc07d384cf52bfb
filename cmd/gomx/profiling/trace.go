package profiling

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gomx/launch/profile"
)

// traceFile writes events of several processes in the Chrome trace event format.
type traceFile struct {
	w     *bufio.Writer
	err   error
	some  bool
	lanes map[string]int // threads by process, lane and worker
}

func newTraceFile(w io.Writer) *traceFile {
	t := &traceFile{w: bufio.NewWriterSize(w, 1<<20), lanes: map[string]int{}}
	t.text(`{"displayTimeUnit":"ms","traceEvents":[` + "\n")
	return t
}

func (t *traceFile) text(s string) {
	if t.err == nil {
		_, t.err = t.w.WriteString(s)
	}
}

// put writes one entry.
func (t *traceFile) put(v map[string]any) {
	b, err := json.Marshal(v)
	if t.err == nil {
		t.err = err
	}
	if t.some {
		t.text(",\n")
	}
	t.some = true
	t.text(string(b))
}

// thread returns the thread of a place where events run, and names it at its first use.
func (t *traceFile) thread(process int, name string) int {
	key := fmt.Sprint(process, " ", name)
	id, ok := t.lanes[key]
	if !ok {
		id = len(t.lanes) + 1
		t.lanes[key] = id
		t.put(map[string]any{"name": "thread_name", "ph": "M", "pid": process, "tid": id,
			"args": map[string]any{"name": name}})
	}
	return id
}

// event writes an event of a process.
func (t *traceFile) event(process int, e *profile.Event) {
	v := map[string]any{"name": e.Name, "ph": "X", "pid": process, "ts": float64(e.At) / 1e3,
		"dur": float64(e.Dur) / 1e3}
	switch e.Kind {
	case profile.Counter:
		v["ph"], v["args"] = "C", map[string]any{"value": e.Value}
		delete(v, "dur")
	case profile.Scope:
		v["tid"], v["cat"] = t.thread(process, "program"), "scope"
	default:
		name := "program"
		if e.Worker >= 0 {
			name = fmt.Sprintf("%s worker %d", e.Lane, e.Worker)
		}
		v["tid"], v["cat"] = t.thread(process, name), "operation"
		if e.Kind == profile.Kernel {
			v["cat"] = "operator"
			v["args"] = map[string]any{"operator": e.Op, "bytes": e.Bytes, "FLOPs": e.FLOPs}
		}
	}
	t.put(v)
}

// process names a process.
func (t *traceFile) process(number int, h *profile.Head) {
	t.put(map[string]any{"name": "process_name", "ph": "M", "pid": number, "args": map[string]any{
		"name": fmt.Sprintf("%s (%d)", strings.Join(h.Program, " "), h.PID)}})
}

// close ends the file.
func (t *traceFile) close() error {
	t.text("\n]}\n")
	if t.err == nil {
		t.err = t.w.Flush()
	}
	return t.err
}
