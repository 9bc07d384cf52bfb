package loss_test

import (
	"math"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loss"
)

func TestSoftmaxCrossEntropy(t *testing.T) {
	want := float32(math.Log(4) + math.Log(2))
	optest.Run(t, loss.SoftmaxCrossEntropy.Op,
		optest.Case{Name: "values", In: []op.Tensor{logits(), vec(0, 1)},
			Want: []op.Tensor{vec(want)}, Const: []int{1},
			Heads: []op.Tensor{vec(2)}, WantGrad: []op.Tensor{values(dtype.Shape{2, 2}, -1.5, 1.5,
				1, -1), {}}},
		optest.Case{Name: "random", In: []op.Tensor{random(1, 4, 5), vec(0, 4, 2, 2)},
			Const: []int{1}},
	)
	e := float32(math.Log(2) - 3*math.Log(1e-8)) // one class, and three that do not exist
	optest.Run(t, loss.SoftmaxCrossEntropy.Op, optest.Case{Name: "labels that are no classes",
		NoDiff: true, Const: []int{1},
		In:   []op.Tensor{values(dtype.Shape{4, 2}, 1, 1, 2, 2, 3, 3, 4, 4), vec(-1, 2, 1, 1e9)},
		Want: []op.Tensor{vec(e)}, Heads: []op.Tensor{vec(2)},
		WantGrad: []op.Tensor{values(dtype.Shape{4, 2}, 1, 1, 1, 1, 1, -1, 1, 1), {}}})
	runInfer(t, loss.SoftmaxCrossEntropy.Op,
		inferCase{name: "batch from the label", in: []dtype.Shape{{-1, 3}, {4}},
			want: []dtype.Shape{{4, 3}, {4}}},
		inferCase{name: "three axes", in: []dtype.Shape{{2, 3, 4}, nil},
			err: "data: shape (2, 3, 4)"})
}

func TestSVMOutput(t *testing.T) {
	type P = loss.SVMOutputParams
	x := values(dtype.Shape{1, 3}, .5, .25, -2)
	heads := []op.Tensor{random(1, 1, 3)}
	optest.Run(t, loss.SVMOutput.Op,
		optest.Case{Name: "squared", Params: P{}, NoDiff: true, Twice: true, Const: []int{1},
			In: []op.Tensor{x, vec(0)}, Want: []op.Tensor{x}, Heads: heads,
			WantGrad: []op.Tensor{values(dtype.Shape{1, 3}, -1, 2.5, 0), {}}},
		optest.Case{Name: "linear", Params: P{UseLinear: true,
			RegularizationCoefficient: op.Some(2.0)}, NoDiff: true, Twice: true, Const: []int{1},
			In: []op.Tensor{x, vec(0)}, Heads: heads,
			WantGrad: []op.Tensor{values(dtype.Shape{1, 3}, -2, 2, 0), {}}},
	)
	runInfer(t, loss.SVMOutput.Op, inferCase{name: "label", params: P{}, in: []dtype.Shape{{4, 3},
		nil}, want: []dtype.Shape{{4, 3}, {4}}})
}

func TestSmoothL1(t *testing.T) {
	x := vec(-2, -.1, .2, 1)
	optest.Run(t, loss.SmoothL1.Op,
		optest.Case{Name: "default", Params: loss.SmoothL1Params{},
			In: []op.Tensor{vec(-2, -.1, .2, 3)}, Want: []op.Tensor{vec(1.5, .005, .02, 2.5)}},
		optest.Case{Name: "narrow", Params: loss.SmoothL1Params{Scalar: op.Some(2.0)},
			In: []op.Tensor{x}, Want: []op.Tensor{vec(1.875, .02, .08, .875)}},
	)
}

func TestSparseReg(t *testing.T) {
	p := loss.SparseRegParams{SparsenessTarget: op.Some(.5), Penalty: op.Some(.1),
		Momentum: op.Some(.5)}
	x := values(dtype.Shape{2, 2}, .2, .4, .4, .8)
	optest.Run(t, loss.SparseReg.Op,
		optest.Case{Name: "training", Params: p, Train: true, NoDiff: true,
			In: []op.Tensor{x, vec(.5, .4)}, Want: []op.Tensor{x},
			After: []op.Tensor{x, vec(.4, .5)}, Heads: []op.Tensor{values(dtype.Shape{2, 2}, 0, 0,
				1, 1)},
			WantGrad: []op.Tensor{values(dtype.Shape{2, 2}, .1*(.5/.6-.5/.4), 0, 1+.1*(.5/.6-.5/.4),
				1), {}}},
		optest.Case{Name: "inference", Params: p, NoDiff: true, In: []op.Tensor{x, vec(.5, .4)},
			Want: []op.Tensor{x}, After: []op.Tensor{x, vec(.5, .4)}},
	)
}

func TestCTCLoss(t *testing.T) {
	type P = loss.CTCLossParams
	x := random(1, 4, 2, 3)
	label := values(dtype.Shape{2, 2}, 1, 2, 2, 0)
	optest.Run(t, loss.CTCLoss.Op,
		optest.Case{Name: "blank first", Params: P{}, In: []op.Tensor{x, label}, Const: []int{1}},
		optest.Case{Name: "blank last", Params: P{BlankLabel: "last"},
			In: []op.Tensor{x, values(dtype.Shape{2, 2}, 1, 1, 0, -1)}, Const: []int{1}},
		optest.Case{Name: "lengths", Params: P{UseDataLengths: true, UseLabelLengths: true},
			In: []op.Tensor{x, label, vec(3, 4), vec(2, 1)}, Const: []int{1, 2, 3}},
		optest.Case{Name: "does not fit", Params: P{}, In: []op.Tensor{random(2, 2, 1, 3),
			values(dtype.Shape{1, 2}, 1, 1)}, Const: []int{1}, Want: []op.Tensor{vec(0)}},
	)
}

// spell sums the probabilities of all paths that read as label once repetitions and then blanks
// are dropped.
func spell(p [][]float64, label []int, blank int) float64 {
	var walk func(t, last int, rest []int) float64
	walk = func(t, last int, rest []int) float64 {
		if t == len(p) {
			if len(rest) == 0 {
				return 1
			}
			return 0
		}
		sum := 0.0
		for k, q := range p[t] {
			switch {
			case k == blank || k == last:
				sum += q * walk(t+1, k, rest)
			case len(rest) > 0 && k == rest[0]:
				sum += q * walk(t+1, k, rest[1:])
			}
		}
		return sum
	}
	return walk(0, -1, label)
}

func TestCTCLossAgainstAllPaths(t *testing.T) {
	x := random(3, 5, 1, 3)
	var p [][]float64
	for s := range 5 {
		row, sum := make([]float64, 3), 0.0
		for k := range row {
			row[k] = math.Exp(float64(op.Slice[float32](x)[s*3+k]))
			sum += row[k]
		}
		for k := range row {
			row[k] /= sum
		}
		p = append(p, row)
	}
	for _, label := range [][]int{{}, {1}, {1, 2}, {2, 2}, {1, 2, 1}} {
		in := []float32{0, 0, 0}
		for i, l := range label {
			in[i] = float32(l)
		}
		optest.Run(t, loss.CTCLoss.Op, optest.Case{Params: loss.CTCLossParams{},
			In: []op.Tensor{x, op.TensorOf(in, 1, 3)}, Const: []int{1},
			Want: []op.Tensor{vec(float32(-math.Log(spell(p, label, 0))))}})
	}
}

func TestCTCLossOfIntegerLabels(t *testing.T) {
	x, lengths := random(1, 4, 2, 3), vec(2, 1)
	run := func(label, lengths op.Tensor) []op.Tensor {
		out, err := optest.Runner{}.Apply(loss.CTCLoss.Op, loss.CTCLossParams{UseLabelLengths: true,
			BlankLabel: "first"}, []op.Tensor{x, label, lengths})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := run(values(dtype.Shape{2, 2}, 1, 2, 2, 0), lengths)
	got := run(optest.Array(dtype.Int32, []int{2, 2}, 1, 2, 2, 0), optest.Array(dtype.Int64,
		[]int{2}, 2, 1))
	for i := range want {
		if d := optest.Diff(got[i], want[i], optest.Tolerance{}); d != "" {
			t.Errorf("output %d: %s", i, d)
		}
	}
}

func TestCTCLossRejects(t *testing.T) {
	p, err := loss.CTCLoss.Normalize(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = optest.Runner{}.Apply(loss.CTCLoss.Op, p, []op.Tensor{random(1, 4, 1, 3),
		values(dtype.Shape{1, 1}, 7)})
	if err == nil || !strings.Contains(err.Error(), "label: 7 in sample 0, want a class below 3") {
		t.Errorf("got error %v", err)
	}
	runInfer(t, loss.CTCLoss.Op,
		inferCase{name: "no classes", in: []dtype.Shape{{2, 1, 0}, {1, 2}}, out: make([]dtype.Shape,
			2), err: "no classes"},
		inferCase{name: "too many labels", in: []dtype.Shape{{2, 1, 3}, {1, 3}},
			out: make([]dtype.Shape, 2), err: "more labels than data of shape (2, 1, 3) has steps"},
		inferCase{name: "batch", in: []dtype.Shape{{2, -1, 3}, {5, 1}}, out: make([]dtype.Shape, 2),
			want: []dtype.Shape{{2, 5, 3}, {5, 1}}})
}
