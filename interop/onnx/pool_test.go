package onnx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// poolWindow is a pooling of two axes with the extents of its output.
type poolWindow struct {
	kernel, stride int
	pads           []int
	ceil, out      int
	whole          bool // gomx's pooling has the windows
}

// pooledByHand pools planes of 7x7, elements outside left out.
func pooledByHand(x []float64, planes int, w poolWindow, mean bool) (want []float64) {
	for p := range planes {
		for o := range w.out * w.out {
			y, x0 := o/w.out*w.stride-w.pads[0], o%w.out*w.stride-w.pads[1]
			most, sum, n := math.Inf(-1), 0.0, 0.0
			for k := range w.kernel * w.kernel {
				r, c := y+k/w.kernel, x0+k%w.kernel
				if r < 0 || c < 0 || r >= 7 || c >= 7 {
					continue
				}
				v := x[p*49+r*7+c]
				most, sum, n = max(most, v), sum+v, n+1
			}
			if mean {
				most = sum / n
			}
			want = append(want, most)
		}
	}
	return want
}

// TestPoolingWithUnequalPadding compares pooling with loops. Where gomx's pooling has the same
// windows, the graph has no other operator.
func TestPoolingWithUnequalPadding(t *testing.T) {
	for _, w := range []poolWindow{
		{kernel: 3, stride: 2, pads: []int{1, 1, 0, 0}, out: 3},
		{kernel: 3, stride: 2, pads: []int{1, 1, 1, 1}, out: 4, whole: true},
		{kernel: 3, stride: 2, pads: []int{0, 0, 1, 1}, out: 3, whole: true},
		{kernel: 2, stride: 2, pads: []int{0, 0, 1, 1}, out: 4, whole: true},
		{kernel: 3, stride: 3, pads: []int{1, 1, 0, 0}, out: 2},
		{kernel: 2, stride: 2, pads: []int{0, 0, 0, 0}, ceil: 1, out: 4, whole: true},
		{kernel: 3, stride: 2, pads: []int{2, 2, 0, 0}, out: 4},
	} {
		for _, name := range []string{"MaxPool", "AveragePool"} {
			t.Run(fmt.Sprint(name, w.kernel, w.stride, w.pads, w.ceil), func(t *testing.T) {
				r := rand.New(rand.NewPCG(58, 0))
				b := built{opset: 19, outs: []string{"y"}, inputs: map[string]*nd.Array{
					"x": random(r, dtype.Float32, -1, 1, 2, 3, 7, 7)},
					nodes: []*onnxpb.NodeProto{node(t, "", name, []string{"x"}, []string{"y"},
						attrs{"kernel_shape": []int{w.kernel, w.kernel},
							"strides": []int{w.stride, w.stride}, "pads": w.pads, "ceil_mode": w.ceil})}}
				near(t, name, b.run(t)[0], pooledByHand(b.floats(t, "x")[0], 6, w, name != "MaxPool"))
				m, err := b.load(t)
				if err != nil {
					t.Fatal(err)
				}
				others := 0
				for _, n := range m.Symbol.Nodes() {
					if !n.IsVar() && n.Op.Name != "Pooling" {
						others++
					}
				}
				if w.whole && others > 0 {
					t.Errorf("%d operators beside the pooling, want none", others)
				}
			})
		}
	}
}
