package rnn_test

import (
	"fmt"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/rnn"
)

// checkInfer infers the outputs of an operator from its inputs and compares with text or an error.
func checkInfer(t *testing.T, o *op.Op, attrs string, in []dtype.Shape, want, wantErr string) {
	t.Helper()
	m := map[string]string{}
	for _, f := range strings.Fields(attrs) {
		k, v, _ := strings.Cut(f, "=")
		m[k] = v
	}
	p, err := o.ParseParams(m)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]dtype.Shape, len(o.Outputs(p)))
	err = o.InferShape(p, in, out)
	switch {
	case wantErr == "" && err != nil:
		t.Errorf("got error %v", err)
	case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
		t.Errorf("got error %v, want %q", err, wantErr)
	case wantErr == "" && fmt.Sprint(in, out) != want:
		t.Errorf("got %v, want %s", fmt.Sprint(in, out), want)
	}
}

var (
	steps   = optest.F([]int{3, 2, 1}, 1, 2, 3, 4, 5, 6) // sequences 1 3 5 and 2 4 6
	lengths = optest.F([]int{2}, 1, 2)
)

func TestSequenceMask(t *testing.T) {
	type P = rnn.SequenceMaskParams
	optest.Run(t, rnn.SequenceMask.Op,
		optest.Case{Name: "all", Params: P{}, In: optest.Ops(steps), Want: optest.Ops(steps)},
		optest.Case{Name: "lengths", Params: P{UseSequenceLength: true, Value: -1}, In: optest.Ops(steps, lengths), Const: []int{1},
			Want: optest.Ops(optest.F([]int{3, 2, 1}, 1, 2, -1, 4, -1, -1))},
		optest.Case{Name: "longer than data", Params: P{UseSequenceLength: true}, In: optest.Ops(steps, optest.F([]int{2}, 9, 0)), Const: []int{1},
			Want: optest.Ops(optest.F([]int{3, 2, 1}, 1, 0, 3, 0, 5, 0))},
		optest.Case{Name: "axis 1", Params: P{UseSequenceLength: true, Axis: 1}, Const: []int{1},
			In:   optest.Ops(optest.F([]int{2, 3}, 1, 2, 3, 4, 5, 6), optest.Array(dtype.Float32, []int{2}, 0, 2)),
			Want: optest.Ops(optest.F([]int{2, 3}, 0, 0, 0, 4, 5, 0))},
		optest.Case{Name: "integers", Params: P{UseSequenceLength: true}, NoDiff: true,
			In:   optest.Ops(optest.Array(dtype.Int64, []int{2, 2}, 1, 2, 3, 4), optest.Array(dtype.Int64, []int{2}, 1, 2)),
			Want: optest.Ops(optest.Array(dtype.Int64, []int{2, 2}, 1, 2, 0, 4))},
	)
	optest.Run(t, rnn.SequenceMask.Op, optest.Case{Name: "gradient", Params: P{UseSequenceLength: true, Value: 7}, In: optest.Ops(steps, lengths),
		NoDiff: true, Heads: optest.Ops(optest.F([]int{3, 2, 1}, 1)), WantGrad: optest.Ops(optest.F([]int{3, 2, 1}, 1, 1, 0, 1, 0, 0))})
}

func TestSequenceReverse(t *testing.T) {
	type P = rnn.SequenceParams
	optest.Run(t, rnn.SequenceReverse.Op,
		optest.Case{Name: "all", Params: P{}, In: optest.Ops(steps), Want: optest.Ops(optest.F([]int{3, 2, 1}, 5, 6, 3, 4, 1, 2))},
		optest.Case{Name: "lengths", Params: P{UseSequenceLength: true}, In: optest.Ops(steps, lengths), Const: []int{1},
			Want: optest.Ops(optest.F([]int{3, 2, 1}, 1, 4, 3, 2, 5, 6))},
		optest.Case{Name: "half", Params: P{UseSequenceLength: true}, NoDiff: true,
			In:   optest.Ops(optest.Array(dtype.Float16, []int{2, 1, 2}, 1, 2, 3, 4), optest.Array(dtype.Float16, []int{1}, 2)),
			Want: optest.Ops(optest.Array(dtype.Float16, []int{2, 1, 2}, 3, 4, 1, 2))},
	)
}

func TestSequenceLast(t *testing.T) {
	type P = rnn.SequenceParams
	optest.Run(t, rnn.SequenceLast.Op,
		optest.Case{Name: "all", Params: P{}, In: optest.Ops(steps), Want: optest.Ops(optest.F([]int{2, 1}, 5, 6))},
		optest.Case{Name: "lengths", Params: P{UseSequenceLength: true}, In: optest.Ops(steps, lengths), Const: []int{1},
			Want: optest.Ops(optest.F([]int{2, 1}, 1, 4))},
		optest.Case{Name: "axis 1", Params: P{UseSequenceLength: true, Axis: 1}, Const: []int{1},
			In:   optest.Ops(optest.F([]int{2, 3, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), optest.F([]int{2}, 3, 1)),
			Want: optest.Ops(optest.F([]int{2, 2}, 5, 6, 7, 8))},
	)
}

func TestSequenceErrors(t *testing.T) {
	tests := []struct {
		name    string
		op      *op.Op
		attrs   string
		lengths []float64
		err     string
	}{
		{"last of nothing", rnn.SequenceLast.Op, "True", []float64{0, 1}, "sequence_length: 0 for sequence 0, want 1 to 3"},
		{"reversing too much", rnn.SequenceReverse.Op, "True", []float64{1, 4}, "sequence_length: 4 for sequence 1, want 0 to 3"},
		{"negative", rnn.SequenceMask.Op, "True", []float64{1, -4}, "sequence_length: -4 for sequence 1"},
	}
	for _, tt := range tests {
		p, err := tt.op.ParseParams(map[string]string{"use_sequence_length": tt.attrs})
		if err != nil {
			t.Fatal(err)
		}
		_, err = optest.Runner{}.Apply(tt.op, p, optest.Ops(steps, optest.F([]int{2}, tt.lengths...)))
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got error %v, want %q", tt.name, err, tt.err)
		}
	}
}

func TestSequenceInference(t *testing.T) {
	last, reverse := rnn.SequenceLast.Op, rnn.SequenceReverse.Op
	checkInfer(t, last, "use_sequence_length=True", []dtype.Shape{{4, -1, 2}, {3}}, "[(4, 3, 2) (3,)] [(3, 2)]", "")
	checkInfer(t, last, "axis=2", []dtype.Shape{{4, 3, 2}}, "", "axis: 2, want 0 or 1")
	checkInfer(t, last, "", []dtype.Shape{{4}}, "", "data: shape (4,), want at least 2 axes")
	checkInfer(t, reverse, "axis=1", []dtype.Shape{{4, 3}}, "", "axis: 1, want 0")
	checkInfer(t, reverse, "use_sequence_length=True", []dtype.Shape{{4, 3}, {4}}, "", "sequence_length: shape (4,), want (3,)")
}
