package zoo_test

import (
	"math/rand/v2"
	"testing"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/predict"
	sym "gomx/symbol"
)

// narrowError is the most that outputs of a network in bfloat16 may differ from outputs in float32:
// the norm of the difference by the norm of the outputs.
const narrowError = 1e-2

// exported writes a network with new parameters to files and reads them again.
func exported(t *testing.T, net *gluon.Net, init initializer.Initializer,
	inputs ...gluon.ExportOption) *checkpoint.Model {
	t.Helper()
	prefix := t.TempDir() + "/net"
	ok(t, net.Init(init))
	ok(t, net.Export(prefix, 0, inputs...))
	m, err := checkpoint.Load(prefix, 0)
	ok(t, err)
	return m
}

// TestResNetNarrow compares ResNet-50 in bfloat16 with float32. Its graph converts the image and
// the result, and nothing between layers.
func TestResNetNarrow(t *testing.T) {
	net, err := zoo.Model("resnet50_v1", zoo.Classes(100))
	ok(t, err)
	shape := nd.Shape{2, 3, 64, 64}
	m := exported(t, net, initializer.Xavier{}, gluon.Input("data", shape...))
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, shape.Size())
	for i := range x {
		x[i] = r.Float32()*2 - 1
	}
	out := map[dtype.Type][]float32{}
	for _, p := range []dtype.Type{dtype.Float32, dtype.BFloat16} {
		k, err := predict.New(m, predict.Input("data", shape...), predict.Precision(p),
			predict.NarrowProducts(device.AllProducts))
		ok(t, err)
		y, err := k.Predict(t.Context(), nd.FromSlice(x, shape...))
		ok(t, err)
		out[p], err = y.Float32s()
		ok(t, err)
		k.Close()
	}
	if d := nettest.Distance(out[dtype.BFloat16], out[dtype.Float32], 0); !(d > 0 && d <= narrowError) {
		t.Errorf("relative distance %v of bfloat16 from float32, want at most %v", d, narrowError)
	}
	e, err := sym.Explain(m.Symbol, sym.BindConfig{Precision: dtype.BFloat16,
		Products: op.Some(device.AllProducts),
		Shapes:   map[string]nd.Shape{"data": shape}}, false)
	ok(t, err)
	if len(e.Casts) != 2 {
		t.Errorf("%d conversions of element types, want one at each end: %v", len(e.Casts), e.Casts)
	}
}

// TestBERTNarrow compares BERT in bfloat16 with float32. More layers do not convert more between
// element types.
func TestBERTNarrow(t *testing.T) {
	casts := map[int]int{}
	for _, layers := range []int{2, 4} {
		bert := zoo.NewBERT(zoo.BERTConfig{Vocab: 50, Units: 128, Heads: 4, Layers: layers,
			NoTokenTypes: true, NoPooler: true, NoDecoder: true})
		words, lengths := nd.Shape{2, 12}, nd.Shape{2}
		m := exported(t, bert.Net(), initializer.Normal{Sigma: 0.05},
			gluon.Input("words", words...), gluon.Input("lengths", lengths...))
		x := make([]float32, words.Size())
		for i := range x {
			x[i] = float32(i * 7 % 50)
		}
		out := map[dtype.Type][]float32{}
		for _, p := range []dtype.Type{dtype.Float32, dtype.BFloat16} {
			k, err := predict.New(m, predict.Input("words", words...),
				predict.Input("lengths", lengths...), predict.Precision(p),
				predict.NarrowProducts(device.AllProducts))
			ok(t, err)
			y, err := k.Predict(t.Context(), nd.FromSlice(x, words...),
				nd.FromSlice([]float32{12, 7}, 2))
			ok(t, err)
			out[p], err = y.Float32s()
			ok(t, err)
			k.Close()
		}
		if d := nettest.Distance(out[dtype.BFloat16], out[dtype.Float32], 0); !(d > 0 && d <= narrowError) {
			t.Errorf("%d layers: relative distance %v of bfloat16 from float32, want at most %v",
				layers, d, narrowError)
		}
		shapes := map[string]nd.Shape{"words": words, "lengths": lengths}
		for name, a := range m.Args {
			shapes[name] = a.Shape()
		}
		e, err := sym.Explain(m.Symbol, sym.BindConfig{Precision: dtype.BFloat16, Shapes: shapes,
			Products: op.Some(device.AllProducts)},
			false)
		ok(t, err)
		casts[layers] = len(e.Casts)
		t.Logf("%d layers: %d operators, conversions: %v", layers, e.Operators, e.Casts)
	}
	if casts[2] != casts[4] || casts[4] > 4 {
		t.Errorf("conversions of element types by number of layers: %v, want the same, at most 4",
			casts)
	}
}
