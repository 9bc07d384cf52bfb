package gorgonia_test

import (
	"context"
	"testing"

	interop "gomx/interop/gorgonia"
	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// model is a Gorgonia model and the samples it learns.
type model struct {
	*builder
	x, y, loss *G.Node
	params     G.Nodes
	batches    [][2]*tensor.Dense
}

const (
	batchSize = 4
	classes   = 3
	steps     = 4
	rate      = 0.3
)

// classifier ends a model: softmax of scores and the cross entropy with the labels, which are
// vectors with a one.
func (m *model) classifier(scores *G.Node) {
	m.y = G.NewMatrix(m.g, m.dt, G.WithShape(batchSize, classes), G.WithName("y"))
	logp := m.must(G.Log(m.must(G.SoftMax(scores, 1))))
	m.loss = m.must(G.Neg(m.must(G.Mean(m.must(G.Sum(m.must(G.HadamardProd(m.y, logp)), 1))))))
	m.params = m.inputs
	shape := append([]int(nil), m.x.Shape()...)
	for range steps {
		label := make([]float64, batchSize*classes)
		for i := range batchSize {
			label[i*classes+m.rng.IntN(classes)] = 1
		}
		m.batches = append(m.batches, [2]*tensor.Dense{
			m.tensor(m.random(tensor.Shape(shape).TotalSize()), shape),
			m.tensor(label, []int{batchSize, classes})})
	}
}

// perceptron is a network of two dense layers with biases.
func perceptron(b *builder) *model {
	m := &model{builder: b, x: G.NewMatrix(b.g, b.dt, G.WithShape(batchSize, 6), G.WithName("x"))}
	hidden := b.must(G.Tanh(b.must(G.BroadcastAdd(b.must(G.Mul(m.x, b.input("w1", 6, 8))),
		b.input("b1", 8), nil, []byte{0}))))
	m.classifier(b.must(G.BroadcastAdd(b.must(G.Mul(hidden, b.input("w2", 8, classes))),
		b.input("b2", 1, classes), nil, []byte{0})))
	return m
}

// convnet is a network of two convolutions, max pooling and a dense layer.
func convnet(b *builder) *model {
	m := &model{builder: b, x: G.NewTensor(b.g, b.dt, 4, G.WithShape(batchSize, 1, 10, 10),
		G.WithName("x"))}
	window := func(x *G.Node, name string, filters, channels, pad int) *G.Node {
		c := b.must(G.Conv2d(x, b.input(name, filters, channels, 3, 3), tensor.Shape{3, 3},
			[]int{pad, pad}, []int{1, 1}, []int{1, 1}))
		c = b.must(G.BroadcastAdd(c, b.input(name+"_bias", 1, filters, 1, 1), nil, []byte{0, 2, 3}))
		return b.must(G.MaxPool2D(b.must(G.Rectify(c)), tensor.Shape{2, 2}, []int{0, 0},
			[]int{2, 2}))
	}
	features := window(window(m.x, "conv1", 3, 1, 1), "conv2", 4, 3, 0)
	size := features.Shape().TotalSize() / batchSize
	flat := b.must(G.Reshape(features, tensor.Shape{batchSize, size}))
	m.classifier(b.must(G.Mul(flat, b.input("fc", size, classes))))
	return m
}

// train takes one step per batch with Gorgonia, and returns the losses.
func (m *model) train() (losses []float64) {
	m.t.Helper()
	protect(m.t, func() {
		check := func(err error) {
			m.t.Helper()
			if err != nil {
				m.t.Fatalf("Gorgonia: %v", err)
			}
		}
		var read G.Value
		G.Read(m.loss, &read)
		_, err := G.Grad(m.loss, m.params...)
		check(err)
		vm := G.NewTapeMachine(m.g, G.BindDualValues(m.params...))
		defer vm.Close()
		solver := G.NewVanillaSolver(G.WithLearnRate(rate))
		for _, batch := range m.batches {
			check(G.Let(m.x, batch[0]))
			check(G.Let(m.y, batch[1]))
			check(vm.RunAll())
			losses = append(losses, floats(m.t, read)...)
			check(solver.Step(G.NodesToValueGrads(m.params)))
			vm.Reset()
		}
	})
	return losses
}

// fromDense returns a batch as an array.
func fromDense(t testing.TB, d *tensor.Dense) *nd.Array {
	t.Helper()
	a, err := interop.FromDense(d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTrainsLikeGorgonia takes the same steps with both engines: by hand, with an executor and the
// update operator, and by module. Then it hands the weights back.
func TestTrainsLikeGorgonia(t *testing.T) {
	for _, tt := range []struct {
		name      string
		build     func(*builder) *model
		dt        tensor.Dtype
		tolerance float64
	}{
		{"perceptron float64", perceptron, tensor.Float64, 1e-9},
		{"perceptron float32", perceptron, tensor.Float32, 1e-5},
		{"convnet float64", convnet, tensor.Float64, 1e-9},
		{"convnet float32", convnet, tensor.Float32, 1e-5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const seed = 3
			t.Logf("seed %d", seed)
			b := newBuilder(t, seed)
			b.dt, b.lo, b.hi = tt.dt, -0.5, 0.5
			var m *model
			protect(t, func() { m = tt.build(b) })
			net, weights, err := interop.FromGraph(m.loss)
			if err != nil {
				t.Fatal(err)
			}
			if len(weights) != len(m.params) {
				t.Fatalf("got weights %v, want %d", weights, len(m.params))
			}
			byHand, handLosses := m.byHand(net, weights)
			byModule, moduleLosses := m.byModule(net, weights)
			losses := m.train()
			near(t, "losses by hand", handLosses, losses, tt.tolerance)
			near(t, "losses by module", moduleLosses, losses, tt.tolerance)
			if losses[0] == losses[steps-1] {
				t.Errorf("the losses %v do not change", losses)
			}
			for _, p := range m.params {
				want := floats(t, p.Value())
				near(t, p.Name()+" by hand", array(t, byHand[p.Name()]), want, tt.tolerance)
				near(t, p.Name()+" by module", array(t, byModule[p.Name()]), want, tt.tolerance)
			}
			m.handBack(byModule)
		})
	}
}

// byHand trains with an executor and the update operator.
func (m *model) byHand(net *sym.Symbol, weights map[string]*nd.Array) (trained map[string]*nd.Array,
	losses []float64) {
	m.t.Helper()
	args := map[string]*nd.Array{}
	for name, w := range weights {
		args[name] = w.Copy()
	}
	ex, err := net.SimpleBind(sym.BindConfig{Args: args})
	if err != nil {
		m.t.Fatal(err)
	}
	defer ex.Close()
	for _, batch := range m.batches {
		ex.Args["x"].Set(fromDense(m.t, batch[0]))
		ex.Args["y"].Set(fromDense(m.t, batch[1]))
		if err := ex.Forward(true); err != nil {
			m.t.Fatal(err)
		}
		if err := ex.Backward(); err != nil {
			m.t.Fatal(err)
		}
		losses = append(losses, array(m.t, ex.Outputs()[0])...)
		for name, w := range args {
			nd.SGDUpdate(w, ex.Grads[name], nd.SGDUpdateParams{LR: rate})
		}
	}
	return args, losses
}

// byModule trains with a module.
func (m *model) byModule(net *sym.Symbol,
	weights map[string]*nd.Array) (trained map[string]*nd.Array, losses []float64) {
	m.t.Helper()
	mod := module.New(net, module.Data("x"), module.Labels("y"))
	batches := make([]*dataio.Batch, len(m.batches))
	for i, batch := range m.batches {
		batches[i] = &dataio.Batch{Data: []*nd.Array{fromDense(m.t, batch[0])},
			Label: []*nd.Array{fromDense(m.t, batch[1])}}
	}
	x, y := batches[0].Data[0], batches[0].Label[0]
	for _, do := range []func() error{
		func() error { return mod.SetParams(weights, nil) },
		func() error {
			return mod.Bind([]dataio.Desc{{Name: "x", Shape: x.Shape(), DType: x.DType()}},
				[]dataio.Desc{{Name: "y", Shape: y.Shape(), DType: y.DType()}})
		},
		func() error { return mod.InitParams(nil) },
		func() error {
			return mod.InitOptimizer(optimizer.SGD{LR: rate, Common: optimizer.Common{Rescale: 1}})
		},
	} {
		if err := do(); err != nil {
			m.t.Fatal(err)
		}
	}
	for _, batch := range batches {
		if err := mod.ForwardBackward(batch); err != nil {
			m.t.Fatal(err)
		}
		losses = append(losses, array(m.t, mod.Outputs()[0])...)
		if err := mod.Update(); err != nil {
			m.t.Fatal(err)
		}
	}
	trained, _ = mod.Params()
	return trained, losses
}

// handBack gives the trained weights to Gorgonia's nodes, and looks whether they have them.
func (m *model) handBack(trained map[string]*nd.Array) {
	m.t.Helper()
	for _, w := range trained {
		w.MulScalarInPlace(2)
	}
	if err := interop.ToGraph(context.Background(), trained, m.loss); err != nil {
		m.t.Fatal(err)
	}
	for _, p := range m.params {
		near(m.t, p.Name()+" handed back", floats(m.t, p.Value()), array(m.t, trained[p.Name()]), 0)
	}
}

// TestOtherBatchSizes binds a converted classifier to more samples than its graph has.
func TestOtherBatchSizes(t *testing.T) {
	const seed, samples = 5, 7
	t.Logf("seed %d", seed)
	for _, build := range []func(*builder) *model{perceptron, convnet} {
		m := build(newBuilder(t, seed))
		net, weights, err := interop.FromGraph(m.loss)
		if err != nil {
			t.Fatal(err)
		}
		shape := append(nd.Shape{samples}, m.x.Shape()[1:]...)
		weights["x"] = nd.FromSlice(m.random(shape.Size()), shape...)
		weights["y"] = nd.Ones(nd.Shape{samples, classes}, nd.As(weights["x"].DType()))
		x, y := weights["x"], weights["y"]
		whole := ours(t, net, weights, []float64{1}).value[0]
		mean := 0.0 // the loss is the mean of those of the samples
		for i := range samples {
			weights["x"], weights["y"] = x.Slice(i, i+1), y.Slice(i, i+1)
			mean += ours(t, net, weights, []float64{1}).value[0] / samples
		}
		near(t, "loss", []float64{whole}, []float64{mean}, 1e-12)
	}
}
