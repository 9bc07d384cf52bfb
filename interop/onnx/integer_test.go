package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// zeros of weights: some take the numbers out of the range of int8.
var zerosOfWeights = map[string]*nd.Array{
	"int8": nd.FromSlice([]int8{0}), "int8 moved": nd.FromSlice([]int8{-7}),
	"int8 by channel":  nd.FromSlice([]int8{3, 0, -2, 1, 0, 9}),
	"uint8":            nd.FromSlice([]uint8{128}),
	"uint8 by channel": nd.FromSlice([]uint8{90, 128, 255, 0, 131, 7}),
}

// quantizedOps counts the operators of quantized products in a graph.
func quantizedOps(s *sym.Symbol) int {
	n := 0
	for _, node := range s.Nodes() {
		if !node.IsVar() && slices.Contains([]string{"_contrib_quantized_conv",
			"_contrib_quantized_fully_connected"}, node.Op.Name) {
			n++
		}
	}
	return n
}

// sameIntegers imports a model with constant weights, which uses kernels of integers, and with
// weights that are inputs, which computes in float32; both must give the same. It returns the
// result.
func sameIntegers(t *testing.T, name string, b built, fixed ...string) []float64 {
	t.Helper()
	want := b.run(t)[0]
	b.fixed = fixed
	m, err := b.load(t)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if quantizedOps(m.Symbol) == 0 {
		t.Errorf("%s: the graph has no quantized product", name)
	}
	got := evaluate(t, m.Symbol, m.Values(b.inputs))[0]
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", name, got[:8], want[:8])
	}
	return got
}

// TestMatMulInteger multiplies bytes with constant weights.
func TestMatMulInteger(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 0))
	const rows, k, n = 6, 40, 6
	for name, zero := range zerosOfWeights {
		for _, typ := range []dtype.Type{dtype.Uint8, dtype.Int8} {
			b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
				"x": integers(r, typ, 2, 3, k), "zx": scalar(77, typ),
				"w": integers(r, zero.DType(), k, n), "zw": zero}, nodes: []*onnxpb.NodeProto{
				plain(t, "MatMulInteger", []string{"x", "w", "zx", "zw"}, "y")}}
			v := b.floats(t, "x", "w", "zw")
			got := sameIntegers(t, fmt.Sprint(name, typ), b, "w", "zw")
			for i := range rows * n {
				want := 0.0
				for q := range k {
					want += (v[0][i/n*k+q] - 77) * (v[1][q*n+i%n] - v[2][i%n%len(v[2])])
				}
				if got[i] != want {
					t.Fatalf("%s, %v: got %g at row %d, column %d, want %g", name, typ, got[i], i/n,
						i%n, want)
				}
			}
		}
	}
}

// TestConvInteger convolves bytes with constant weights: padding counts as the zero point.
func TestConvInteger(t *testing.T) {
	r := rand.New(rand.NewPCG(72, 0))
	for name, zero := range zerosOfWeights {
		for _, a := range []attrs{{}, {"pads": []int{1, 1, 1, 1}}, {"pads": []int{0, 1, 2, 1},
			"strides": []int{2, 1}}, {"auto_pad": "SAME_UPPER", "dilations": []int{2, 1}}} {
			for _, typ := range []dtype.Type{dtype.Uint8, dtype.Int8} {
				b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
					"x": integers(r, typ, 2, 4, 9, 7), "zx": scalar(31, typ),
					"w": integers(r, zero.DType(), 6, 4, 3, 3), "zw": zero},
					nodes: []*onnxpb.NodeProto{node(t, "", "ConvInteger", []string{"x", "w", "zx",
						"zw"}, []string{"y"}, a)}}
				sameIntegers(t, fmt.Sprint(name, typ, a), b, "w", "zw")
			}
		}
	}
}

// TestQLinearProducts rounds products to bytes.
func TestQLinearProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 0))
	b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
		"x": integers(r, dtype.Uint8, 2, 4, 9, 7), "sx": number(0.01), "zx": byteOf(100),
		"w": integers(r, dtype.Int8, 8, 2, 3, 3), "sw": nd.Uniform(0.001, 0.01, nd.Shape{8}),
		"zw": nd.FromSlice(make([]int8, 8)), "sy": number(0.2), "zy": byteOf(128),
		"b": nd.FromSlice([]int32{1, -200, 3, 40, 5, 6, -7, 8})},
		nodes: []*onnxpb.NodeProto{node(t, "", "QLinearConv", []string{"x", "sx", "zx", "w", "sw", "zw",
			"sy", "zy", "b"}, []string{"y"}, attrs{"pads": []int{1, 1, 1, 1}, "group": 2})}}
	sameIntegers(t, "QLinearConv", b, "w", "zw")
	b.nodes = []*onnxpb.NodeProto{plain(t, "QLinearMatMul", []string{"x", "sx", "zx", "w", "sw", "zw",
		"sy", "zy"}, "y")}
	b.inputs["x"], b.inputs["w"] = integers(r, dtype.Uint8, 5, 30), integers(r, dtype.Int8, 30, 7)
	b.inputs["sw"], b.inputs["zw"] = number(0.01), nd.FromSlice([]int8{0})
	delete(b.inputs, "b")
	sameIntegers(t, "QLinearMatMul", b, "w", "zw")
}

// TestKnownScales imports products of QLinear's kind whose scales and zero points are constants: the
// integers of the result are those of float32 operators, but for one step at halves.
func TestKnownScales(t *testing.T) {
	r := rand.New(rand.NewPCG(74, 0))
	for _, typ := range []dtype.Type{dtype.Uint8, dtype.Int8} {
		b := built{opset: 17, outs: []string{"y"}, inputs: map[string]*nd.Array{
			"x": integers(r, typ, 2, 4, 9, 7), "sx": number(0.01), "zx": scalar(100, typ),
			"w": integers(r, dtype.Int8, 8, 2, 3, 3), "sw": nd.Uniform(0.001, 0.01, nd.Shape{8}),
			"zw": nd.FromSlice(make([]int8, 8)), "sy": number(0.1), "zy": scalar(20, typ),
			"b": nd.FromSlice([]int32{1, -200, 3, 40, 5, 6, -7, 8})},
			nodes: []*onnxpb.NodeProto{node(t, "", "QLinearConv", []string{"x", "sx", "zx", "w", "sw",
				"zw", "sy", "zy", "b"}, []string{"y"}, attrs{"pads": []int{1, 1, 1, 1}, "group": 2})}}
		b.knownScales(t, fmt.Sprint("QLinearConv ", typ))
		b.inputs["x"], b.inputs["w"] = integers(r, typ, 5, 30), integers(r, dtype.Int8, 30, 8)
		delete(b.inputs, "b")
		b.nodes = []*onnxpb.NodeProto{plain(t, "QLinearMatMul", []string{"x", "sx", "zx", "w", "sw",
			"zw", "sy", "zy"}, "y")}
		b.knownScales(t, fmt.Sprint("QLinearMatMul ", typ))
		b.inputs["w"] = integers(r, dtype.Int8, 8, 30)
		b.inputs["b"] = nd.FromSlice([]int32{1, -200, 3, 40, 5, 6, -7, 8})
		b.nodes = []*onnxpb.NodeProto{node(t, "com.microsoft", "QGemm", []string{"x", "sx", "zx", "w",
			"sw", "zw", "b", "sy", "zy"}, []string{"y"}, attrs{"transB": 1})}
		b.knownScales(t, fmt.Sprint("QGemm ", typ))
	}
}

// knownScales imports the model with all inputs but x as constants.
func (b built) knownScales(t *testing.T, name string) {
	t.Helper()
	want := b.run(t)[0]
	b.fixed = nil
	for input := range b.inputs {
		if input != "x" {
			b.fixed = append(b.fixed, input)
		}
	}
	m, err := b.load(t)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if n := quantizedOps(m.Symbol); n != 1 {
		t.Errorf("%s: %d quantized products, want 1", name, n)
	}
	got := evaluate(t, m.Symbol, m.Values(b.inputs))[0]
	moved, inside := 0, 0
	for i := range want {
		if d := got[i] - want[i]; d > 1 || d < -1 {
			t.Fatalf("%s: got %g at element %d, want %g", name, got[i], i, want[i])
		} else if d != 0 {
			moved++
		}
		if v := want[i]; v != 0 && v != 255 && v != -128 && v != 127 {
			inside++
		}
	}
	if moved > len(want)/50 || inside < len(want)/4 {
		t.Errorf("%s: %d of %d integers differ, %d are no limits", name, moved, len(want), inside)
	}
}
