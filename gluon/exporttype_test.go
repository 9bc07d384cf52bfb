package gluon_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// words is a network that reads numbers of words, and numbers beside them.
type words struct {
	Table *nn.Embedding
	Out   *nn.Dense
}

func (w *words) call(in []*nd.Array) []*nd.Array {
	y := w.Table.Forward(in[0]).AsType(in[1].DType()).Add(in[1])
	return []*nd.Array{w.Out.Forward(y), in[0].AddScalar(1)}
}

// typedNetworks are networks with arguments of several element types.
var typedNetworks = map[string]struct {
	make  func() *gluon.Net
	names []string
	in    func() []*nd.Array
	half  bool // parameters in float16
}{
	"embedding": {func() *gluon.Net {
		return gluon.New(nn.Sequential{&nn.Embedding{Rows: 7, Units: 3}, &nn.Dense{Units: 2}})
	}, []string{"words"}, func() []*nd.Array {
		return []*nd.Array{nd.FromSlice([]int32{0, 6, 2, 3, 3, 1}, 2, 3)}
	}, false},
	"two types": {func() *gluon.Net {
		w := &words{&nn.Embedding{Rows: 5, Units: 3}, &nn.Dense{Units: 2, KeepAxes: true}}
		return gluon.Wrap(w, w.call)
	}, []string{"words", "beside"}, func() []*nd.Array {
		return []*nd.Array{nd.FromSlice([]int32{4, 1}, 2), nd.Uniform(-1, 1, nd.Shape{2, 3},
			nd.Seed(3))}
	}, false},
	"float16 products": {func() *gluon.Net { // which MXNet's kernels for processors have not
		return gluon.New(nn.Sequential{&nn.Dense{Units: 4, Activation: "relu"}, &nn.BatchNorm{},
			&nn.Dense{Units: 2}})
	}, []string{"data"}, func() []*nd.Array {
		return []*nd.Array{nd.Uniform(-1, 1, nd.Shape{3, 5}, nd.Seed(3)).AsType(dtype.Float16)}
	}, true},
	"float16": {func() *gluon.Net {
		return gluon.New(nn.Sequential{&nn.LayerNorm{}, &nn.PReLU{}, nn.Activation("tanh"),
			&nn.MaxPool1D{}})
	}, []string{"data"}, func() []*nd.Array {
		return []*nd.Array{nd.Uniform(-1, 1, nd.Shape{1, 3, 5}, nd.Seed(3)).AsType(dtype.Float16)}
	}, true},
	"float64": {func() *gluon.Net {
		return gluon.New(gluon.Func(func(x *nd.Array) *nd.Array { return x.Square().Sum() }))
	}, []string{"data"}, func() []*nd.Array {
		return []*nd.Array{nd.FromSlice([]float64{1, 1e-9}, 1, 2)}
	}, false},
}

// importTyped is a program of MXNet that runs exported networks.
const importTyped = `
import json, sys, mxnet as mx
from mxnet import gluon
folder = sys.argv[1]
case = json.load(open(folder + '/case.json'))
params = folder + '/net-0000.params' if case['params'] else None
net = gluon.SymbolBlock.imports(folder + '/net-symbol.json', case['names'], params)
out = net(*[mx.nd.array(v, dtype=t) for v, t in case['in']])
out = out if isinstance(out, list) else [out]
json.dump([[o.dtype.__name__, o.astype('float64').reshape(-1).asnumpy().tolist()] for o in out],
          open(folder + '/out.json', 'w'))
`

// Arguments have the element types of InputAs, or of the last call. The imported network has the
// types of the file, and computes the same, here and in MXNet.
func TestExportTypes(t *testing.T) {
	for name, c := range typedNetworks {
		for _, how := range []string{"named", "called"} {
			t.Run(name+" "+how, func(t *testing.T) {
				net, in := c.make(), c.in()
				ok(t, net.Init(initializer.Xavier{}))
				if c.half {
					net.Params().Cast(dtype.Float16)
				}
				want := net.Call(in...)
				var opts []gluon.ExportOption
				names := c.names
				if how == "named" {
					for i, a := range in {
						opts = append(opts, gluon.InputAs(c.names[i], a.DType(), a.Shape()...))
					}
				} else {
					if names = []string{"data"}; len(in) > 1 {
						names = []string{"data0", "data1"}
					}
					net.Hybridize(gluon.NoFusion())
					net.Call(in...)
				}
				dir := t.TempDir()
				ok(t, net.Export(filepath.Join(dir, "net"), 0, opts...))
				again, err := gluon.Import(filepath.Join(dir, "net-symbol.json"), names,
					filepath.Join(dir, "net-0000.params"))
				ok(t, err)
				for name, p := range net.Params().All() {
					if got := again.Params().Get(name); got == nil || got.DType != p.DType {
						t.Errorf("imported parameter %v, want %v", got, p)
					}
				}
				got := again.Call(in...)
				for i, y := range want {
					if got[i].DType() != y.DType() || !slices.Equal(doubles(t, got[i]),
						doubles(t, y)) {
						t.Errorf("output %d: %v, want %v", i, got[i], y)
					}
				}
				if *mxnetPython != "" && name != "float16 products" {
					besideMXNet(t, dir, names, in, want, len(net.Params().Names()) > 0)
				}
			})
		}
	}
}

// doubles returns the values of an array of any type.
func doubles(t *testing.T, a *nd.Array) []float64 {
	t.Helper()
	v, err := a.Float64s()
	ok(t, err)
	return v
}

// besideMXNet compares the outputs of an exported network with MXNet's.
func besideMXNet(t *testing.T, dir string, names []string, in, want []*nd.Array, params bool) {
	t.Helper()
	var given []any
	for _, a := range in {
		var rows any = doubles(t, a)
		if s := a.Shape(); len(s) > 1 {
			rows = slices.Collect(slices.Chunk(doubles(t, a), s[len(s)-1]))
			if len(s) == 3 {
				rows = []any{rows}
			}
		}
		given = append(given, []any{rows, a.DType().String()})
	}
	text, err := json.Marshal(map[string]any{"names": names, "in": given, "params": params})
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "case.json"), text, 0o600))
	p := exec.CommandContext(t.Context(), *mxnetPython, "-c", importTyped, dir)
	var out bytes.Buffer
	p.Stdout, p.Stderr = &out, &out
	if err := p.Run(); err != nil {
		t.Fatalf("MXNet: %v\n%s", err, out.String())
	}
	text, err = os.ReadFile(filepath.Join(dir, "out.json"))
	ok(t, err)
	var theirs [][2]any
	ok(t, json.Unmarshal(text, &theirs))
	for i, y := range want {
		if theirs[i][0] != y.DType().String() {
			t.Errorf("MXNet's output %d is %v, want %v", i, theirs[i][0], y.DType())
		}
		tolerance := 1e-5
		if y.DType() == dtype.Float16 {
			tolerance = 2e-3
		}
		for k, v := range doubles(t, y) {
			if got := theirs[i][1].([]any)[k].(float64); math.Abs(got-v) > tolerance {
				t.Errorf("MXNet's output %d: number %d is %v, want %v", i, k, got, v)
			}
		}
	}
}
