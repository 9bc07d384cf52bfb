package exec

import (
	"math"
	"regexp"

	"gomx/dtype"
	"gomx/op"
)

// Monitor looks at values inside a graph while it runs: every output of an operator whose name,
// such as conv1_output, matches the pattern. Backward operators are called conv1_backward and so
// on.
//
// While an executor has a monitor its graph runs as it was composed: nothing is fused, every value
// is plain. Operators that only give memory another shape do not run and are not seen.
type Monitor struct {
	// Pattern says which outputs; nil means all.
	Pattern *regexp.Regexp
	// Call is called by the goroutine that has computed the value, so by several at once where
	// parts of the graph run side by side. An error fails the run and names the operator.
	Call func(Observation) error
}

// Observation is one value that a monitor sees. Its memory is valid during the call only.
type Observation struct {
	Name  string
	Value op.Tensor
	Train bool
	// place of the run in the random stream: runs are counted from 1, or from where Seek has put
	// the executor
	Run uint64
}

// Norm returns the Euclidean norm of float32 values divided by the root of their number, the
// statistic that MXNet's Monitor shows; NaN for other element types.
func (o Observation) Norm() float64 {
	if o.Value.DType != dtype.Float32 || o.Value.Layout != nil {
		return math.NaN()
	}
	sum, list := 0.0, op.Slice[float32](o.Value)
	for _, v := range list {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(max(len(list), 1)))
}

// SetMonitor makes m look at the runs that follow; nil ends that. The graph is compiled anew.
func (ex *Executor) SetMonitor(m *Monitor) {
	if ex.closed {
		return
	}
	ex.forget()
	ex.config.Monitor = m
}

// watched lists for every step the names of its outputs that a monitor wants to see, empty for
// others; nil without a monitor.
func (p *program) watched(m *Monitor) [][]string {
	if m == nil || m.Call == nil {
		return nil
	}
	list := make([][]string, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		for j := range s.Call.Out {
			name := s.Node.Entry(j).String()
			if m.Pattern != nil && !m.Pattern.MatchString(name) {
				name = ""
			}
			list[i] = append(list[i], name)
		}
	}
	return list
}

// observe shows the outputs of step i, which c holds, to the monitor.
func (b *bound) observe(i int, c *op.Call, number uint64) error {
	s := &b.p.Steps[i]
	for j, name := range b.watch[i] {
		if name == "" || c.Out[j].Data == nil {
			continue
		}
		if err := b.monitor.Call(Observation{name, c.Out[j], b.p.Train, number}); err != nil {
			return op.WithOp(err, s.Node.Op.Name, s.Node.Name, s.Node.Site)
		}
	}
	return nil
}
