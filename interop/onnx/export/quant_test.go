package export_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/interop/onnx"
	"gomx/interop/onnx/internal/onnxpb"
	dataio "gomx/io"
	nd "gomx/ndarray"
	"gomx/quantize"
	sym "gomx/symbol"
)

// integerNetwork is a network whose layers compute with integers.
type integerNetwork struct{ model }

// convolutions is a network with data of both signs, a batch norm, a pooling, a residual sum, a join
// and a depthwise convolution.
func convolutions() *sym.Symbol {
	conv := func(name string, x *sym.Symbol, filters, kernel, stride, group int) *sym.Symbol {
		return sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{kernel, kernel},
			Stride: []int{stride, stride}, Pad: []int{kernel / 2, kernel / 2}, NumFilter: filters,
			NumGroup: group}, sym.Name(name))
	}
	x := sym.BatchNorm(conv("stem", sym.Var("data"), 8, 3, 1, 1), sym.BatchNormParams{},
		sym.Name("norm"))
	x = sym.Pooling(sym.Relu(x), sym.PoolingParams{Kernel: []int{2, 2}, Stride: []int{2, 2}},
		sym.Name("pool"))
	y := sym.Relu(conv("a", x, 8, 3, 1, 8))
	x = sym.Relu(sym.ElemwiseAdd(conv("b", y, 8, 1, 1, 1), x))
	x = sym.Concat([]*sym.Symbol{sym.Relu(conv("c", x, 8, 3, 1, 1)), sym.Relu(conv("d", x, 8, 1, 1,
		1))}, sym.ConcatParams{})
	x = conv("e", conv("f", x, 8, 3, 2, 1), 8, 3, 1, 1) // e reads numbers of both signs
	return sym.FullyConnected(sym.Flatten(x), sym.FullyConnectedParams{NumHidden: 6},
		sym.Name("last"))
}

// dense is a network of dense layers, one of which reads numbers of both signs.
func dense() *sym.Symbol {
	fc := func(name string, x *sym.Symbol, n int) *sym.Symbol {
		return sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: n}, sym.Name(name))
	}
	return fc("three", fc("two", sym.Relu(fc("one", sym.Var("data"), 24)), 16), 6)
}

// parameters draws the parameters of a symbol.
func parameters(t *testing.T, s *sym.Symbol, shape dtype.Shape) *checkpoint.Model {
	t.Helper()
	args, _, aux, err := s.InferShape(map[string]dtype.Shape{"data": shape})
	if err != nil {
		t.Fatal(err)
	}
	m := &checkpoint.Model{Symbol: s, Args: map[string]*nd.Array{}, Aux: map[string]*nd.Array{}}
	rng := rand.New(rand.NewPCG(31, 0))
	draw := func(low, high float64, shape dtype.Shape) *nd.Array {
		v := make([]float32, shape.Size())
		for i := range v {
			v[i] = float32(low + (high-low)*rng.Float64())
		}
		return nd.FromSlice(v, shape...)
	}
	for i, name := range s.Arguments() {
		if name == "data" {
			continue
		}
		r := 0.3
		if len(args[i]) > 1 {
			r = math.Sqrt(3 / float64(args[i][1:].Size()))
		}
		m.Args[name] = draw(-r, r, args[i])
	}
	for i, name := range s.AuxStates() {
		m.Aux[name] = draw(0.5, 1.5, aux[i])
	}
	return m
}

// quantized makes a network of integers.
func quantized(t *testing.T, s *sym.Symbol, shape dtype.Shape, mode quantize.Mode) *integerNetwork {
	t.Helper()
	x := nd.Normal(0, 1, shape, nd.Seed(5))
	data, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{x}, BatchSize: shape[0]})
	if err != nil {
		t.Fatal(err)
	}
	r, err := quantize.Calibrate(context.Background(), parameters(t, s, shape), data,
		quantize.Config{Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Layers {
		if !l.Quantized && mode != quantize.None {
			t.Errorf("layer %s is not quantized: %s", l.Name, l.Reason)
		}
	}
	return &integerNetwork{model{Model: *r.Model, inputs: map[string]*nd.Array{"data": x}}}
}

// kinds counts the nodes of a file by operator.
func kinds(t *testing.T, file []byte) map[string]int {
	t.Helper()
	var m onnxpb.ModelProto
	if err := proto.Unmarshal(file, &m); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, n := range m.Graph.Node {
		count[n.GetOpType()]++
	}
	return count
}

// products counts quantized products.
func products(s *sym.Symbol) int {
	n := 0
	for _, node := range s.Nodes() {
		if !node.IsVar() && slices.Contains([]string{"_contrib_quantized_conv",
			"_contrib_quantized_fully_connected"}, node.Op.Name) {
			n++
		}
	}
	return n
}

// integerNetworks are networks of integers by name.
func integerNetworks(t *testing.T) map[string]*integerNetwork {
	t.Helper()
	list := map[string]*integerNetwork{}
	for _, mode := range []quantize.Mode{quantize.Naive, quantize.None} {
		list[fmt.Sprint("convolutions ", mode)] = quantized(t, convolutions(),
			dtype.Shape{3, 3, 12, 10}, mode)
		list[fmt.Sprint("dense ", mode)] = quantized(t, dense(), dtype.Shape{5, 12}, mode)
	}
	const columns = 64
	weights := func(name string, c quantize.WeightConfig) {
		r, err := quantize.Weights(parameters(t, dense(), dtype.Shape{5, columns}), c)
		if err != nil {
			t.Fatal(err)
		}
		x := nd.Normal(0, 1, nd.Shape{5, columns}, nd.Seed(5))
		list[name] = &integerNetwork{model{Model: *r.Model,
			inputs: map[string]*nd.Array{"data": x}}}
	}
	weights("weights of 8 bits", quantize.WeightConfig{Bits: 8})
	weights("weights of 4 bits", quantize.WeightConfig{Bits: 4, Group: 32})
	return list
}

// TestIntegers exports networks of integers and imports them again.
func TestIntegers(t *testing.T) {
	for name, n := range integerNetworks(t) {
		t.Run(name, func(t *testing.T) {
			file, err := n.exported()
			if err != nil {
				t.Fatal(err)
			}
			count := kinds(t, file)
			t.Log(count)
			in, err := onnx.Parse(file)
			if err != nil {
				t.Fatal(err)
			}
			layers := products(n.Symbol)
			if got := products(in.Symbol); got != layers {
				t.Errorf("%d quantized products after import, want %d", got, layers)
			}
			if strings.Contains(name, "naive") && (count["Conv"]+count["Gemm"] != layers ||
				count["ConvInteger"]+count["MatMulInteger"] > 0) {
				t.Errorf("nodes %v, want %d Conv and Gemm", count, layers)
			}
			want, err := n.run()
			if err != nil {
				t.Fatal(err)
			}
			got, err := n.model.imported(file)
			if err != nil {
				t.Fatal(err)
			}
			n.within(t, got, want)
		})
	}
}

// within compares outputs: they may differ by a step of the integers before the last layer.
func (n *integerNetwork) within(t *testing.T, got, want []*nd.Array) {
	t.Helper()
	a, err := numbers(got[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := numbers(want[0])
	if err != nil {
		t.Fatal(err)
	}
	off, size := 0.0, 0.0
	for i := range b {
		off, size = max(off, math.Abs(a[i]-b[i])), max(size, math.Abs(b[i]))
	}
	t.Logf("difference %.3g of %.3g", off, size)
	if !(off <= size/127) || size < 0.1 || len(a) != len(b) {
		t.Errorf("difference %g of numbers up to %g, want at most a step of int8", off, size)
	}
}

// TestIntegersRuntime runs networks of integers with ONNX Runtime.
func TestIntegersRuntime(t *testing.T) {
	r := newRuntime(t)
	list := integerNetworks(t)
	var names []string
	for name, n := range list {
		file, err := n.exported()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.add(&n.model, file); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	r.run(t)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			want, err := list[name].run()
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.outputs(i)
			if err != nil {
				t.Fatal(err)
			}
			list[name].within(t, got, want)
		})
	}
}

// integerOperators are single operators on integers of known ranges, made real numbers again, or
// the sums of products.
func integerOperators() map[string]*sym.Symbol {
	integers := func(name, typ string, high float64) *sym.Symbol {
		return sym.ContribQuantizeV2(sym.Var(name), sym.QuantizeV2Params{OutType: typ,
			MinCalibRange: sym.Some(-high), MaxCalibRange: sym.Some(high)}, sym.Name(name+"_q"))
	}
	real := func(q *sym.Symbol) *sym.Symbol {
		return sym.ContribDequantize(q.At(0), q.At(1), q.At(2), sym.DequantizeParams{})
	}
	a, b, u := integers("a", "int8", 2), integers("b", "int8", 3), integers("u", "uint8", 2)
	pool := func(p sym.PoolingParams) *sym.Symbol {
		return real(sym.ContribQuantizedPooling(u.At(0), u.At(1), u.At(2), p))
	}
	window := sym.PoolingParams{Kernel: []int{2, 3}, Stride: []int{2, 2}, Pad: []int{1, 1},
		PoolType: "avg"}
	inside := window
	inside.CountIncludePad = sym.Some(false)
	weight, bias := integers("w", "int8", 1), integers("c", "int8", 2)
	product := func(q *sym.Symbol, dense bool) *sym.Symbol {
		opts := []sym.Option{sym.With("weight", weight.At(0)), sym.With("bias", bias.At(0))}
		if dense {
			return sym.ContribQuantizedFullyConnected(q.At(0), q.At(1), q.At(2), weight.At(1),
				weight.At(2), bias.At(1), bias.At(2), sym.FullyConnectedParams{NumHidden: 5}, opts...)
		}
		return sym.ContribQuantizedConv(q.At(0), q.At(1), q.At(2), weight.At(1), weight.At(2),
			bias.At(1), bias.At(2), sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
				Stride: []int{2, 1}, NumFilter: 5}, opts...)
	}
	sums := func(q *sym.Symbol) *sym.Symbol {
		return sym.Cast(q.At(0), sym.CastParams{DType: dtype.Float32})
	}
	return map[string]*sym.Symbol{
		"sum": real(sym.ContribQuantizedElemwiseAdd(a.At(0), b.At(0), a.At(1), a.At(2), b.At(1),
			b.At(2), sym.QuantizedAddParams{MinCalibRange: sym.Some(-4.0),
				MaxCalibRange: sym.Some(4.0)})),
		"rectifier": real(sym.ContribQuantizedAct(a.At(0), a.At(1), a.At(2),
			sym.ActivationParams{ActType: "relu"})),
		"join": real(sym.ContribQuantizedConcat([]*sym.Symbol{a.At(0), b.At(0), a.At(1), a.At(2),
			b.At(1), b.At(2)}, sym.QuantizedConcatParams{NumArgs: 2})),
		"flat":        real(sym.ContribQuantizedFlatten(a.At(0), a.At(1), a.At(2))),
		"average":     pool(window),
		"inside":      pool(inside),
		"all":         pool(sym.PoolingParams{GlobalPool: true, Kernel: []int{1, 1}, PoolType: "avg"}),
		"convolution": sums(product(u, false)),
		"dense":       sums(product(a, true)),
		"dense bytes": sums(product(u, true)),
		"embedding": real(sym.ContribQuantizedEmbedding(sym.Var("ids"), weight.At(1), weight.At(2),
			sym.EmbeddingParams{InputDim: 5, OutputDim: 4}, sym.With("weight", weight.At(0)))),
	}
}

// integerOperator gives a symbol of integerOperators values.
func integerOperator(name string, s *sym.Symbol) *model {
	m := &model{inputs: map[string]*nd.Array{}}
	m.Symbol = s
	shapes := map[string]nd.Shape{"a": {2, 3, 4, 4}, "b": {2, 3, 4, 4}, "u": {2, 3, 5, 6},
		"w": {5, 3, 3, 3}, "c": {5}}
	switch name {
	case "dense":
		shapes["w"] = nd.Shape{5, 48}
	case "dense bytes":
		shapes["w"] = nd.Shape{5, 90}
	case "embedding":
		shapes["w"] = nd.Shape{5, 4}
		m.inputs["ids"] = nd.FromSlice([]float32{3, 0, -1, 4, 7, 2}, 2, 3)
	}
	for i, input := range s.Arguments() {
		if shape := shapes[input]; shape != nil {
			limit := 2.0
			if input == "w" { // ONNX Runtime's kernels of AVX2 add pairs of products in 16 bits
				limit = 0.5
			}
			m.inputs[input] = nd.Uniform(-limit, limit, shape, nd.Seed(uint64(40+i)))
		}
	}
	return m
}

// step is the difference that results may have where halves are rounded: 1 for sums, and the
// largest step of any range for real numbers.
func step(s *sym.Symbol) tolerance {
	if products(s) > 0 {
		return tolerance{1, 0}
	}
	return tolerance{4.001 / 127.5, 0}
}

// TestIntegerOperators exports operators on integers. Results are equal up to a step.
func TestIntegerOperators(t *testing.T) {
	for name, s := range integerOperators() {
		m := integerOperator(name, s)
		file, err := m.exported()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := m.run()
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.imported(file)
		if err == nil {
			err = compare(got, want, step(m.Symbol))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIntegerOperatorsRuntime runs them with ONNX Runtime.
func TestIntegerOperatorsRuntime(t *testing.T) {
	r := newRuntime(t)
	var names []string
	list := integerOperators()
	for name, s := range list {
		m := integerOperator(name, s)
		file, err := m.exported()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := r.add(m, file); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	r.run(t)
	for i, name := range names {
		want, err := integerOperator(name, list[name]).run()
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.outputs(i)
		if err == nil {
			err = compare(got, want, step(list[name]))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
