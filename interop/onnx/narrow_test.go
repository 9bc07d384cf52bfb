package onnx_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"gomx/interop/onnx"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// decoded returns the numbers of all elements of a format, by their bits.
func decoded(t *testing.T, code onnxpb.TensorProto_DataType, n int) []float64 {
	t.Helper()
	raw := make([]byte, n)
	for i := range raw {
		if raw[i] = byte(i); n < 256 { // 4 bits: two elements in each byte
			raw[i] = byte(2*i) | byte(2*i+1)<<4
		}
	}
	dims := []int64{int64(n)}
	if n < 256 {
		dims[0], raw = int64(n), raw[:n/2]
	}
	data, err := proto.Marshal(&onnxpb.TensorProto{DataType: proto.Int32(int32(code)), Dims: dims,
		RawData: raw})
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := onnx.Tensor(data)
	if err != nil {
		t.Fatal(err)
	}
	list, err := numbers(a)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// nearest searches all numbers of a format for the nearest one; of two the one with even bits.
func nearest(list []float64, x float64) float64 {
	best := -1
	for i, v := range list {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		d := math.Abs(v - x)
		if best < 0 || d < math.Abs(list[best]-x) ||
			d == math.Abs(list[best]-x) && i%2 == 0 {
			best = i
		}
	}
	return list[best]
}

// TestNarrowFormats compares conversions to formats of 4 and 8 bits with a search.
func TestNarrowFormats(t *testing.T) {
	const seed = 31
	r := rand.New(rand.NewPCG(seed, 0))
	for code, f := range map[onnxpb.TensorProto_DataType]struct {
		n    int
		most float64
	}{
		onnxpb.TensorProto_INT4: {16, 7}, onnxpb.TensorProto_UINT4: {16, 15},
		onnxpb.TensorProto_FLOAT8E4M3FN:   {256, 448},
		onnxpb.TensorProto_FLOAT8E4M3FNUZ: {256, 240},
		onnxpb.TensorProto_FLOAT8E5M2:     {256, 57344},
		onnxpb.TensorProto_FLOAT8E5M2FNUZ: {256, 57344},
	} {
		list := decoded(t, code, f.n)
		most := math.Inf(-1)
		for _, v := range list {
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				most = max(most, v)
			}
		}
		if most != f.most {
			t.Errorf("%v: the largest number is %g, want %g", code, most, f.most)
		}
		x := []float32{0, float32(f.most), float32(2 * f.most), float32(-2 * f.most)}
		for range 200 {
			x = append(x, float32(r.NormFloat64()*math.Exp2(float64(r.IntN(20)-12))))
		}
		for i := range list[1:] { // ties
			if m := (list[i] + list[i+1]) / 2; math.Abs(m) <= f.most {
				x = append(x, float32(m))
			}
		}
		got := single(t, 21, "Cast", []string{"x"}, []string{"y"}, attrs{"to": int(code)},
			map[string]*nd.Array{"x": nd.FromSlice(x)}).run(t)[0]
		for i, v := range x {
			if want := nearest(list, float64(v)); got[i] != want {
				t.Errorf("seed %d: %v of %g: got %g, want %g", seed, code, v, got[i], want)
			}
		}
	}
}

// TestFormatsOfOutputs demands that a model names the formats that wider types hold.
func TestFormatsOfOutputs(t *testing.T) {
	m, err := single(t, 21, "Cast", []string{"x"}, []string{"y"},
		attrs{"to": int(onnxpb.TensorProto_INT4)},
		map[string]*nd.Array{"x": nd.FromSlice([]float32{1})}).load(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Outputs[0].Format; got != "INT4" {
		t.Errorf("format %q, want INT4", got)
	}
}
