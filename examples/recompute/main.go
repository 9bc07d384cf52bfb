// Recompute trades time for memory in the training of a deep network (Chen et al., Training Deep
// Nets with Sublinear Memory Cost, 2016): the backward part computes values of the forward part
// again instead of keeping them. Gradients stay the same, bit for bit.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"slices"
	"time"

	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// most is the share of the planned memory that must be enough.
const most = 0.4

func main() {
	layers := flag.Int("layers", 24, "residual layers of the network")
	batch := flag.Int("batch", 32, "pictures of a step")
	flag.Parse()
	share, err := run(context.Background(), *layers, *batch)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("share of the memory %.3f, and the same gradients\n", share)
	if share > most {
		log.Fatalf("want at most %v", most)
	}
}

// network adds the result of a convolution to its input, layer by layer.
func network(layers int) *sym.Symbol {
	conv := func(x *sym.Symbol, name string) *sym.Symbol {
		return sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: 16, NoBias: true}, sym.Name(name))
	}
	x := conv(sym.Var("data"), "first")
	for i := range layers {
		y := sym.BatchNorm(x, sym.BatchNormParams{}, sym.Name(fmt.Sprint("norm", i))).At(0)
		x = sym.ElemwiseAdd(x, conv(sym.Relu(y), fmt.Sprint("conv", i)))
	}
	x = sym.Pooling(x, sym.PoolingParams{GlobalPool: true, PoolType: "avg"})
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 10}, sym.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, sym.Name("softmax"))
}

// step is the result of a training step.
type step struct {
	bytes int64 // planned memory
	again int   // operators that are computed twice
	took  time.Duration
	grad  []float32 // of the first layer
}

// train makes a step with values of the forward part recomputed until the share of the planned
// memory is reached.
func train(ctx context.Context, net *sym.Symbol, batch int, share float64) (s step, err error) {
	ex, err := net.SimpleBind(sym.BindConfig{Recompute: share,
		Shapes: map[string]nd.Shape{"data": {batch, 3, 32, 32}, "softmax_label": {batch}}})
	if err != nil {
		return s, err
	}
	defer ex.Close()
	names := net.Arguments()
	for i, name := range names {
		a := ex.Args[name]
		a.Set(nd.Normal(0, 0.1, a.Shape(), nd.Seed(uint64(i+1))))
	}
	ex.Args["softmax_label"].Set(nd.Zeros(nd.Shape{batch}))
	for range 2 { // the first step fills caches
		start := time.Now()
		if err := ex.Forward(true); err != nil {
			return s, err
		}
		if err := ex.Backward(); err != nil {
			return s, err
		}
		if err := nd.WaitAll(ctx); err != nil {
			return s, err
		}
		s.took = time.Since(start)
	}
	use, err := ex.MemoryUse(true)
	if err != nil {
		return s, err
	}
	s.bytes, s.again = use.Arena, use.Recomputed
	s.grad, err = ex.Grads["first_weight"].Float32s()
	return s, err
}

// run returns the least share of the memory with which a step has the same gradients.
func run(ctx context.Context, layers, batch int) (float64, error) {
	net := network(layers)
	var whole step
	least := 1.0
	for _, share := range []float64{0, 0.75, 0.5, 0.25} {
		s, err := train(ctx, net, batch, share)
		if err != nil {
			return 0, err
		}
		if share == 0 {
			whole = s
		}
		if !slices.Equal(s.grad, whole.grad) {
			return 0, fmt.Errorf("share %v: the gradients differ", share)
		}
		fmt.Printf("share %.2f: %6.1f MiB, %3d operators twice, %v\n", share,
			float64(s.bytes)/(1<<20), s.again, s.took.Round(time.Millisecond))
		least = min(least, float64(s.bytes)/float64(whole.bytes))
	}
	return least, nil
}
