package runs

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"time"
)

// number is a float that JSON can hold: NaN and the infinities are texts.
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(fmt.Sprint(v))
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	var v float64
	if err := json.Unmarshal(text, &v); err == nil {
		*n = number(v)
		return nil
	}
	switch string(text) {
	case `"NaN"`:
		*n = number(math.NaN())
	case `"+Inf"`:
		*n = number(math.Inf(1))
	case `"-Inf"`:
		*n = number(math.Inf(-1))
	default:
		return fmt.Errorf("runs: %s is not a number", text)
	}
	return nil
}

// score is a final score in a file.
type score struct {
	Name  string `json:"name"`
	Value number `json:"value"`
}

// note records a value under a name, at a step.
func (r *Run) note(name string, step int64, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text, _ = json.Marshal(fmt.Sprint(v)) // of a text, which never fails
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end || len(text) > maxRecord-1024 {
		return
	}
	b := r.log.begin()
	at := len(b)
	b = binary.AppendUvarint(beginFrame(b, kindNote), uint64(len(name)))
	b = binary.AppendVarint(append(b, name...), step)
	b = binary.LittleEndian.AppendUint64(b, uint64(time.Now().UnixNano()))
	b = append(b, text...)
	endFrame(b, at)
	r.log.commit(b)
}

// Hyper records hyper-parameters: numbers, texts and truth values; of others the text. Later values
// replace earlier ones of the same name.
func (r *Run) Hyper(values map[string]any) {
	if len(values) == 0 {
		return
	}
	r.mu.Lock()
	for k, v := range values {
		r.hyper[k] = plain(v)
	}
	all := maps.Clone(r.hyper)
	r.mu.Unlock()
	r.note(noteHyper, 0, all)
}

// plain returns a value that JSON can hold.
func plain(v any) any {
	switch x := v.(type) {
	case string, bool, int, int64, uint64, uint, int32, uint32:
		return x
	case float64:
		return number(x)
	case float32:
		return number(x)
	}
	return fmt.Sprint(v)
}

// Score records a final score. A later one of the same name replaces it.
func (r *Run) Score(name string, value float64) {
	r.note(noteScore, 0, score{name, number(value)})
}

// Graph records the network.
func (r *Run) Graph(g *Graph) {
	r.note(noteGraph, 0, g)
	if r.board != nil {
		r.board.graph(g)
	}
}

// Memory records the plan of the memory.
func (r *Run) Memory(m *Memory) { r.note(noteMemory, 0, m) }

// Timeline records the trace of a step.
func (r *Run) Timeline(step int64, t *Timeline) { r.note(noteTimeline, step, t) }

// Event records something that has happened. Its time is now unless it is set.
func (r *Run) Event(step int64, e Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	r.note(noteEvent, step, e)
}

// Matrix records a confusion matrix.
func (r *Run) Matrix(step int64, m Matrix) { r.note(noteMatrix, step, m) }

// Samples records predictions of samples; they replace the ones before.
func (r *Run) Samples(step int64, list []Sample) {
	r.note(noteSamples, step, list)
	if r.board == nil {
		return
	}
	for i, s := range list {
		r.board.image(fmt.Sprintf("samples/%d", i), step, s.PNG)
	}
}
