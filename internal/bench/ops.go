package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	nd "gomx/ndarray"
	"gomx/op"
)

// single is one operator on operands of one size, as in peers/ops.py.
type single struct {
	name  string // name of the line, after "ops."
	op    string // MXNet's name of the operator
	in    []operand
	attrs string // attributes, as in "axis=1 keepdims=True"
	train bool   // run in training mode
}

// operand is an input: random numbers from low to high, or integers below limit.
type operand struct {
	shape     nd.Shape
	low, high float64
	limit     int
}

// signed returns an operand of numbers in [-1, 1).
func signed(shape ...int) operand { return operand{shape: shape, low: -1, high: 1} }

func positive(shape ...int) operand { return operand{shape: shape, low: 0.1, high: 1} }

func below(limit int, shape ...int) operand { return operand{shape: shape, limit: limit} }

// weight returns an operand of small numbers, so that recurrent states stay finite.
func weight(shape ...int) operand { return operand{shape: shape, low: -0.1, high: 0.1} }

func (s operand) array(rng *rand.Rand) *nd.Array {
	if s.limit == 0 {
		return nd.Uniform(s.low, s.high, s.shape)
	}
	list := make([]float32, s.shape.Size())
	for i := range list {
		list[i] = float32(rng.IntN(s.limit))
	}
	return nd.FromSlice(list, s.shape...)
}

// operators ports peers/ops.py: single operators on the sizes of ResNet-50, BERT-base and an LSTM
// of 650 cells, and on 4096×4096 elements. The outputs are allocated before.
func operators() ([]Workload, error) {
	var list []Workload
	for _, s := range singles() {
		list = append(list, Workload{Name: "ops." + s.name, Unit: "ms/op", Run: s.run})
	}
	return list, nil
}

// singles lists the operators.
func singles() []single {
	var list []single
	for _, part := range [][]single{resnetOps(), bertOps(), lstmOps(), largeOps(), moreLargeOps()} {
		list = append(list, part...)
	}
	return list
}

// run measures milliseconds per call.
func (s *single) run(ctx context.Context) (float64, error) {
	step, free, err := s.prepare()
	if err != nil {
		return 0, err
	}
	defer free()
	if err := nd.WaitAll(ctx); err != nil { // making the operands takes longer than most operators
		return 0, err
	}
	start := time.Now()
	for range 2 {
		if err := step(); err != nil {
			return 0, err
		}
	}
	if err := nd.WaitAll(ctx); err != nil {
		return 0, err
	}
	n := int(0.1 / time.Since(start).Seconds())
	t, err := best(ctx, max(1, min(n, 2000)), func() { err = step() }, nd.WaitAll)
	return t * 1e3, err
}

// prepare makes the operands. step computes the operator once, and free frees the arrays.
func (s *single) prepare() (step func() error, free func(), err error) {
	o := op.Lookup(s.op)
	if o == nil {
		return nil, nil, fmt.Errorf("unknown operator %s", s.op)
	}
	attrs := map[string]string{}
	for _, kv := range strings.Fields(s.attrs) {
		key, value, _ := strings.Cut(kv, "=")
		attrs[key] = value
	}
	params, err := o.ParseParams(attrs)
	if err != nil {
		return nil, nil, err
	}
	params = o.WithCount(params, len(s.in))
	rng := rand.New(rand.NewPCG(1, 3))
	var all, in, out []*nd.Array
	for _, x := range s.in {
		in = append(in, x.array(rng))
	}
	all = append(all, in...)
	if s.updates() {
		out = in[:1]
	} else if out, err = nd.Invoke(o, params, in, nil); err != nil {
		return nil, nil, err
	} else {
		all = append(all, out...)
	}
	if s.train {
		in[0] = nd.NewTape(true).Watch(in[0])
		all = append(all, in[0])
	}
	free = func() {
		for _, a := range all {
			a.Close()
		}
	}
	return func() error { return nd.InvokeInto(o, params, in, out) }, free, nil
}

// updates reports whether the operator overwrites the weight with the new one.
func (s *single) updates() bool { return strings.HasSuffix(s.op, "_update") }
