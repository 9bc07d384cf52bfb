package loss_test

import (
	"fmt"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/prim"
)

func TestBiasSoftmax(t *testing.T) {
	for _, s := range []dtype.Shape{{1, 1}, {3, 5}, {130, 10}, {37, 700}, {2, 3, 33}, {0, 4},
		{4, 0}} {
		n := s[len(s)-1]
		x, bias, label := random(1, s...), random(2, n), random(3, s[:len(s)-1]...)
		row := bias
		row.Shape = append(slices.Repeat(dtype.Shape{1}, len(s)-1), n)
		sum, err := optest.Runner{}.Apply(prim.BroadcastAdd.Op, op.NoParams{}, []op.Tensor{x, row})
		if err != nil {
			t.Fatal(err)
		}
		want, err := optest.Runner{}.Apply(loss.SoftmaxOutput.Op,
			loss.SoftmaxOutputParams{PreserveShape: true, GradScale: op.Some(1.0),
				Normalization: "null"}, []op.Tensor{sum[0], label})
		if err != nil {
			t.Fatal(err)
		}
		optest.Run(t, loss.BiasSoftmax.Op, optest.Case{Name: fmt.Sprint(s), Params: op.NoParams{},
			In: []op.Tensor{x, bias}, Want: want})
	}
}

func TestAlongLast(t *testing.T) {
	type P = loss.SoftmaxOutputParams
	for _, c := range []struct {
		p    P
		s    dtype.Shape
		want bool
	}{
		{P{}, dtype.Shape{3, 4}, true},
		{P{}, dtype.Shape{3, 4, 5}, false},
		{P{PreserveShape: true}, dtype.Shape{3, 4, 5}, true},
		{P{MultiOutput: true}, dtype.Shape{3, 4}, false},
		{P{}, nil, false},
	} {
		if got := c.p.AlongLast(c.s); got != c.want {
			t.Errorf("%+v of %v: %v, want %v", c.p, c.s, got, c.want)
		}
	}
}
