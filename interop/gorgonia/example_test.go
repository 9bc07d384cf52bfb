package gorgonia_test

import (
	"context"
	"fmt"

	interop "gomx/interop/gorgonia"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A line is fitted: Gorgonia declares the model and has the result, gomx does the work.
func ExampleFromGraph() {
	const samples = 8
	g := G.NewGraph()
	x := G.NewMatrix(g, tensor.Float32, G.WithShape(samples, 1), G.WithName("x"))
	y := G.NewMatrix(g, tensor.Float32, G.WithShape(samples, 1), G.WithName("y"))
	w := G.NewMatrix(g, tensor.Float32, G.WithShape(1, 1), G.WithName("w"), G.WithInit(G.Zeroes()))
	b := G.NewVector(g, tensor.Float32, G.WithShape(1), G.WithName("b"), G.WithInit(G.Zeroes()))
	line := G.Must(G.BroadcastAdd(G.Must(G.Mul(x, w)), b, nil, []byte{0}))
	loss := G.Must(G.Mean(G.Must(G.Square(G.Must(G.Sub(line, y))))))

	net, weights, err := interop.FromGraph(loss)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(net.Arguments())
	mod := module.New(net, module.Data("x"), module.Labels("y"))
	if err := mod.SetParams(weights, nil); err != nil {
		fmt.Println(err)
		return
	}
	err = mod.Fit(context.Background(), onLine(samples), module.Epochs(200),
		module.Optimize(optimizer.SGD{LR: 0.2, Common: optimizer.Common{Rescale: 1}}),
		module.Metric(metric.Loss()))
	if err != nil {
		fmt.Println(err)
		return
	}
	trained, _ := mod.Params()
	if err := interop.ToGraph(context.Background(), trained, loss); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("y = %.2fx + %.2f\n", w.Value().Data(), b.Value().Data())
	// Output:
	// [x w b y]
	// y = [2.00]x + [1.00]
}

// onLine provides points of y = 2x + 1.
func onLine(batch int) *dataio.Table {
	x, y := make([]float32, 2*batch), make([]float32, 2*batch)
	for i := range x {
		x[i] = float32(i)/float32(batch) - 1
		y[i] = 2*x[i] + 1
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{BatchSize: batch,
		Data: []*nd.Array{nd.FromSlice(x, len(x), 1)}, DataNames: []string{"x"},
		Label: []*nd.Array{nd.FromSlice(y, len(y), 1)}, LabelNames: []string{"y"}})
	if err != nil {
		panic(err)
	}
	return it
}

// What has no counterpart is named.
func ExampleFromGraph_unsupported() {
	g := G.NewGraph()
	x := G.NewMatrix(g, tensor.Float64, G.WithShape(2, 3), G.WithName("x"))
	_, _, err := interop.FromGraph(G.Must(G.At(x, 0, 1)))
	fmt.Println(err)
	// Output: gorgonia: node "At([0 1])(%0)", operation "At([0 1])": cannot be converted; the documentation of the package lists the operations that can
}

// Gorgonia's functions work on the memory of an array.
func ExampleLend() {
	a := nd.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	d, back, err := interop.Lend(context.Background(), a)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := tensor.Mul(d, d, tensor.UseUnsafe()); err != nil {
		fmt.Println(err)
		return
	}
	back()
	fmt.Println(a.Float32s())
	// Output: [1 4 9 16] <nil>
}

func ExampleFromDense() {
	d := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6}))
	if err := d.T(); err != nil {
		fmt.Println(err)
		return
	}
	a, err := interop.FromDense(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a)
	// Output:
	// [[1. 4.]
	//  [2. 5.]
	//  [3. 6.]]
	// <Array 3x2 float64 cpu(0)>
}
