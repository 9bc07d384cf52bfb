// Customop declares the operator swish and uses it like an operator of the library: on arrays,
// under a tape, in a symbol, and in a network that learns the sine function. The program uses only
// exported packages, so it also builds in a module of its own.
package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"gomx/autograd"
	"gomx/dtype"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
	"gomx/optimizer"
	sym "gomx/symbol"
)

// most is the mean squared error of the learned function, at most.
const most = 0.01

// SwishParams are the parameters of Swish.
type SwishParams struct {
	Beta op.Opt[float64] `op:"beta" default:"1" doc:"slope of the gate"`
}

// Swish is x·sigmoid(βx), elementwise.
var Swish = op.Declare[SwishParams]("swish")

func init() {
	Swish.Define(op.Spec[SwishParams]{
		Traits: op.Traits{
			Doc:     "Swish computes x·sigmoid(βx) element by element (Ramachandran et al. 2017).",
			Inplace: [][2]int{{0, 0}},
		},
		Infer: op.SameShape[SwishParams],
		Grad:  swishGrad,
		Ref:   swish,
	})
}

// swish is the reference kernel.
func swish(p SwishParams, c *op.Call) error {
	if t := c.In[0].DType; t != dtype.Float32 {
		return op.Errorf("data", "element type %v, want float32", t)
	}
	x, y := op.Slice[float32](c.In[0]), op.Slice[float32](c.Out[0])
	for i, v := range x {
		y[i] = float32(float64(v) / (1 + math.Exp(-p.Beta.Value()*float64(v))))
	}
	return nil
}

// swishGrad builds the derivative βy + sigmoid(βx)·(1-βy) from operators of the library.
func swishGrad(g *op.Grad, p SwishParams) []op.Entry {
	none, beta := op.NoParams{}, prim.ScalarParams{Scalar: p.Beta.Value()}
	gate := prim.Sigmoid.Apply(none, prim.MulScalar.Apply(beta, g.In(0)))
	by := prim.MulScalar.Apply(beta, g.Out(0))
	rest := prim.ElemwiseMul.Apply(none, gate, prim.RMinusScalar.Apply(prim.ScalarParams{Scalar: 1},
		by))
	return []op.Entry{prim.ElemwiseMul.Apply(none, g.Head(0), prim.ElemwiseAdd.Apply(none, by,
		rest))}
}

func main() {
	imperative()
	if err := symbolic(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "customop:", err)
		os.Exit(1)
	}
}

// imperative applies swish to an array and differentiates it.
func imperative() {
	x := nd.FromSlice([]float32{-2, 0, 2})
	x.AttachGrad()
	y := nd.Apply(Swish, SwishParams{Beta: nd.Some(1.5)}, autograd.Train().Watch(x))
	y.Backward()
	fmt.Println(y)
	fmt.Println(x.Grad())
}

// network has one hidden layer with swish.
func network() *sym.Symbol {
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 16},
		sym.Name("fc1"))
	x = sym.Apply(Swish, SwishParams{}, x)
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 1}, sym.Name("fc2"))
	return sym.LinearRegressionOutput(x, sym.RegressionParams{}, sym.Name("line"))
}

// symbolic trains the network on points of the sine function.
func symbolic(ctx context.Context) error {
	x := nd.Arange(-3, 3, 0.05).Reshape(-1, 1)
	points, err := dataio.NDArrayIter(dataio.NDArrayConfig{
		Data: []*nd.Array{x}, Label: []*nd.Array{nd.Sin(x)}, LabelNames: []string{"line_label"},
		BatchSize: 20, Shuffle: true, Seed: 1})
	if err != nil {
		return err
	}
	mod := module.New(network(), module.Seed(1))
	err = mod.Fit(ctx, points, module.Epochs(100), module.Metric(metric.MSE()),
		module.Optimize(optimizer.Adam{LR: 0.02}), module.Init(initializer.Xavier{}))
	if err != nil {
		return err
	}
	score, err := mod.Score(ctx, points, metric.MSE())
	if err != nil {
		return err
	}
	if score[0].Value > most {
		return fmt.Errorf("mean squared error %.4f, want at most %v", score[0].Value, most)
	}
	fmt.Println("learnt a sine: true")
	return nil
}
