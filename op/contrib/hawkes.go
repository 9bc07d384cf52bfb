package contrib

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// Hawkes computes the log-likelihood of Hawkes processes.
var Hawkes = op.Declare[op.NoParams]("_contrib_hawkesll")

// hawkesGrad is the gradient of Hawkes: from the gradient of the log-likelihood and the inputs to
// the gradients of lda, alpha and beta.
var hawkesGrad = op.Declare[op.NoParams]("_contrib_backward_hawkesll")

// The inputs of Hawkes.
const (
	hawkesLda = iota
	hawkesAlpha
	hawkesBeta
	hawkesState
	hawkesLags
	hawkesMarks
	hawkesLength
	hawkesMaxTime
	hawkesInputs
)

func init() {
	names := []string{"lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time"}
	inputs := make([]op.Input, hawkesInputs)
	for i, n := range names {
		inputs[i].Name = n
	}
	Hawkes.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Multi: true,
			Doc: `ContribHawkesll is the log-likelihood of univariate Hawkes processes.

Each of K marks is a process of its own with the intensity
λ(t) = lda + alpha·Σ_(t_i < t) beta·exp(-beta·(t - t_i)), which decays exponentially. Of N
sequences, lda (N, K) is the background intensity, state (N, K) the sum of exp(-beta·t) at the start; alpha (K) is the branching ratio and
beta (K) the decay. lags (N, T) are times between events, marks (N, T, int32) their processes; the
first valid_length (N) of each sequence count, and it was observed up to max_time (N).

The outputs are the log-likelihood of each sequence (N) and the states at max_time (N, K). As in
MXNet gradients flow from the log-likelihood to lda, alpha and beta only.`,
			Once: "it is not provided",
		},
		Inputs:  func(op.NoParams) []op.Input { return inputs },
		Outputs: func(op.NoParams) []string { return []string{"output", "out_state"} },
		Infer:   inferHawkes,
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			return hawkesType(p, in, out)
		},
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			n := hawkesGrad.Node(p, append([]op.Entry{g.Head(0)}, g.Node.In...)...)
			return append([]op.Entry{n.Entry(0), n.Entry(1), n.Entry(2)},
				make([]op.Entry, hawkesInputs-3)...)
		},
		Ref: hawkes,
	})
	hawkesGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "it is a gradient itself"},
		Inputs: func(op.NoParams) []op.Input {
			return append([]op.Input{{Name: "out_grad"}}, inputs...)
		},
		Outputs: func(op.NoParams) []string { return names[:3] },
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			for i := range out {
				if err := op.Same(names[i], &in[1+i], &out[i]); err != nil {
					return err
				}
			}
			forward := []dtype.Shape{in[0], nil}
			if err := inferHawkes(p, in[1:], forward); err != nil {
				return err
			}
			in[0] = forward[0]
			for i := range out {
				out[i] = in[1+i].Clone()
			}
			return nil
		},
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			return hawkesType(p, in[1:], append(in[:1:1], out...), in[:1], out)
		},
		Ref: hawkesBackward,
	})
}

// hawkesType infers int32 marks and one floating-point type for all other operands: in are the
// inputs of Hawkes, more all others, which then are stored in the lists of back.
func hawkesType(p op.NoParams, in, more []dtype.Type, back ...[]dtype.Type) error {
	marks := in[hawkesMarks]
	if marks != dtype.Unknown && marks != dtype.Int32 {
		return op.Errorf("marks", "element type %v, want int32", marks)
	}
	in[hawkesMarks] = dtype.Unknown
	err := op.FloatType(p, in, more)
	in[hawkesMarks] = dtype.Int32
	for _, list := range back {
		copy(list, more)
		more = more[len(list):]
	}
	return err
}

func inferHawkes(_ op.NoParams, in, out []dtype.Shape) error {
	sequences, marks, events := -1, -1, -1
	rows := []struct {
		name  string
		s     *dtype.Shape
		sizes []*int
	}{
		{"lda", &in[hawkesLda], []*int{&sequences, &marks}},
		{"alpha", &in[hawkesAlpha], []*int{&marks}},
		{"beta", &in[hawkesBeta], []*int{&marks}},
		{"state", &in[hawkesState], []*int{&sequences, &marks}},
		{"lags", &in[hawkesLags], []*int{&sequences, &events}},
		{"marks", &in[hawkesMarks], []*int{&sequences, &events}},
		{"valid_length", &in[hawkesLength], []*int{&sequences}},
		{"max_time", &in[hawkesMaxTime], []*int{&sequences}},
		{"output", &out[0], []*int{&sequences}},
		{"out_state", &out[1], []*int{&sequences, &marks}},
	}
	for range 2 {
		for _, r := range rows {
			want := make(dtype.Shape, len(r.sizes))
			for i, n := range r.sizes {
				want[i] = *n
			}
			if err := op.Require(r.name, r.s, want); err != nil {
				return err
			}
			for i, n := range r.sizes {
				*n = (*r.s)[i]
			}
		}
	}
	return nil
}

// hawkesData are the operands of Hawkes as numbers.
type hawkesData struct {
	lda, alpha, beta, state, lags []float64
	marks, lengths                []int64
	maxTime                       []float64
	k, t                          int // marks, events
}

func newHawkesData(in []op.Tensor) (hawkesData, error) {
	d := hawkesData{lda: loop.Floats(in[hawkesLda]), alpha: loop.Floats(in[hawkesAlpha]),
		beta: loop.Floats(in[hawkesBeta]), state: loop.Floats(in[hawkesState]),
		lags: loop.Floats(in[hawkesLags]), marks: loop.Ints(in[hawkesMarks]),
		maxTime: loop.Floats(in[hawkesMaxTime]), k: in[hawkesAlpha].Shape[0],
		t: in[hawkesLags].Shape[1]}
	for i, n := range loop.Floats(in[hawkesLength]) {
		if !(n <= float64(d.t)) {
			return d, op.Errorf("valid_length", "element %d is %v, want at most %d", i, n, d.t)
		}
		d.lengths = append(d.lengths, int64(max(0, math.Ceil(n))))
		for j := range d.lengths[i] {
			if m := d.marks[i*d.t+int(j)]; m < 0 || m >= int64(d.k) {
				return d, op.Errorf("marks", "element (%d, %d) is %d, want 0 to %d", i, j, m, d.k-1)
			}
		}
	}
	return d, nil
}

// each visits the events of sequence i: f gets the index of the event's process among all
// sequences, the mark, and the time since the last event of that process. rest is called for each
// process with the time from its last event to the end.
func (d hawkesData) each(i int, f, rest func(at, mark int, lag float64)) {
	last, now := make([]float64, d.k), 0.0
	for j := range int(d.lengths[i]) {
		m := int(d.marks[i*d.t+j])
		now += d.lags[i*d.t+j]
		f(i*d.k+m, m, now-last[m])
		last[m] = now
	}
	for m, t := range last {
		rest(i*d.k+m, m, d.maxTime[i]-t)
	}
}

func hawkes(_ op.NoParams, c *op.Call) error {
	d, err := newHawkesData(c.In)
	if err != nil {
		return err
	}
	ll := make([]float64, len(d.lengths))
	for i := range ll {
		expected := func(at, m int, lag float64) (decay, events float64) {
			decay = math.Exp(-d.beta[m] * lag)
			return decay, d.lda[at]*lag + d.alpha[m]*d.state[at]*(1-decay)
		}
		d.each(i, func(at, m int, lag float64) {
			decay, events := expected(at, m, lag)
			ll[i] += math.Log(d.lda[at]+d.alpha[m]*d.beta[m]*d.state[at]*decay) - events
			d.state[at] = 1 + d.state[at]*decay
		}, func(at, m int, lag float64) {
			decay, events := expected(at, m, lag)
			ll[i] -= events
			d.state[at] *= decay
		})
	}
	for k, v := range [][]float64{ll, d.state} {
		if c.Out[k].Data != nil {
			loop.Store(c.Out[k], 0, v)
		}
	}
	return nil
}

func hawkesBackward(_ op.NoParams, c *op.Call) error {
	d, err := newHawkesData(c.In[1:])
	if err != nil {
		return err
	}
	head := loop.Floats(c.In[0])
	slope := make([]float64, len(d.state)) // derivative of the state by beta
	dlda, dalpha, dbeta := make([]float64, len(d.lda)), make([]float64, d.k), make([]float64, d.k)
	for i, h := range head {
		compensate := func(at, m int, lag float64) (decay float64) {
			decay = math.Exp(-d.beta[m] * lag)
			dlda[at] -= h * lag
			dalpha[m] -= h * d.state[at] * (1 - decay)
			dbeta[m] -= h * d.alpha[m] * (slope[at]*(1-decay) + d.state[at]*lag*decay)
			return decay
		}
		d.each(i, func(at, m int, lag float64) {
			decay := compensate(at, m, lag)
			excited := d.beta[m] * d.state[at] * decay
			lda := d.lda[at] + d.alpha[m]*excited
			dlda[at] += h / lda
			dalpha[m] += h * excited / lda
			dbeta[m] += h * d.alpha[m] * decay *
				(d.state[at]*(1-d.beta[m]*lag) + d.beta[m]*slope[at]) / lda
			slope[at] = decay * (slope[at] - lag*d.state[at])
			d.state[at] = 1 + d.state[at]*decay
		}, func(at, m int, lag float64) { compensate(at, m, lag) })
	}
	for k, v := range [][]float64{dlda, dalpha, dbeta} {
		if c.Out[k].Data != nil {
			loop.Store(c.Out[k], 0, v)
		}
	}
	return nil
}
