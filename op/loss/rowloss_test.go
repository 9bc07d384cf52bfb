package loss_test

import (
	"fmt"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/nn"
)

// rowHeads are the heads that RowLoss can take over, with their gradients.
var rowHeads = []struct {
	head, grad op.Handle[loss.RegressionParams]
}{
	{loss.LinearRegressionOutput, loss.LinearRegressionGrad},
	{loss.LogisticRegressionOutput, loss.LogisticRegressionGrad},
	{loss.MAERegressionOutput, loss.MAERegressionGrad},
}

// rowApart computes a RowLoss by the operators that it stands for.
func rowApart(t *testing.T, head, grad op.Handle[loss.RegressionParams], noBias bool,
	in []op.Tensor) []op.Tensor {
	t.Helper()
	apply := func(o *op.Op, p any, in ...op.Tensor) []op.Tensor {
		t.Helper()
		out, err := optest.Runner{}.Apply(o, p, in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	layer := nn.FullyConnectedParams{NumHidden: 1, NoBias: noBias}
	z := apply(nn.FullyConnected.Op, layer, append([]op.Tensor{in[0], in[1]}, in[3:]...)...)
	p := loss.RegressionParams{GradScale: op.Some(1.0)}
	y := apply(head.Op, p, z[0], in[2])
	d := apply(grad.Op, p, y[0], in[2], y[0])
	return append(y[:1:1], apply(nn.FullyConnectedGrad.Op, layer, d[0], in[0], in[1])[1:]...)
}

func TestRowLoss(t *testing.T) {
	for i, h := range rowHeads {
		for _, s := range []struct{ rows, in int }{{1, 1}, {3, 7}, {21, 64}, {50, 333}} {
			for _, noBias := range []bool{false, true} {
				p, ok := loss.RowLossOf(h.head.Op, h.grad.Op, noBias)
				if !ok {
					t.Fatalf("%s cannot be joined", h.head.Name)
				}
				in := []op.Tensor{random(1, s.rows, s.in), random(2, 1, s.in), random(3, s.rows),
					random(4, 1)}
				if noBias {
					in = in[:3]
				}
				optest.Run(t, loss.RowLoss.Op, optest.Case{Name: fmt.Sprintf("%d-%d-%d-%v", i,
					s.rows, s.in, noBias), Params: p, In: in,
					Want: rowApart(t, h.head, h.grad, noBias, in), Train: true})
			}
		}
	}
	if _, ok := loss.RowLossOf(loss.LinearRegressionOutput.Op, loss.MAERegressionGrad.Op,
		false); ok {
		t.Error("the gradient of another head can be joined")
	}
}

func TestRowLossInfersShapes(t *testing.T) {
	p, _ := loss.RowLossOf(loss.LinearRegressionOutput.Op, loss.LinearRegressionGrad.Op, false)
	three := func() []dtype.Shape { return make([]dtype.Shape, 3) }
	runInfer(t, loss.RowLoss.Op,
		inferCase{name: "all", params: p, in: []dtype.Shape{{4, 3}, {1, 3}, {4}, nil}, out: three(),
			want: []dtype.Shape{{4, 3}, {1, 3}, {4}, {1}}},
		inferCase{name: "wrong weight", params: p, in: []dtype.Shape{{4, 3}, {2, 3}, {4}, {1}},
			out: three(), err: "weight"},
		inferCase{name: "wrong data", params: p, in: []dtype.Shape{{4, 2}, {1, 3}, {4}, {1}},
			out: three(), err: "data: shape (4, 2), want 4 rows of 3"},
		inferCase{name: "wrong label", params: p, in: []dtype.Shape{{4, 3}, {1, 3}, {5}, {1}},
			out: three(), err: "label: shape (5,), want one number for each of 4 rows"},
	)
}
