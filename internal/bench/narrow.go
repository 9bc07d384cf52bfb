package bench

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/initializer"
	"gomx/interop/onnx/export"
	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/quantize"
	sym "gomx/symbol"
)

// Sizes of the suite narrow, the same as in peers/narrow.py.
const (
	narrowSide    = 224
	narrowSamples = 8 // images of the calibration
)

// The time of a turn, and the pause before it, in which the threads of the peers go to sleep.
const (
	narrowTurn  = 150 * time.Millisecond
	narrowPause = 30 * time.Millisecond
)

// Greatest distances of the outputs from those in float32, relative to the norm of these.
var narrowErrors = map[dtype.Type]float64{dtype.BFloat16: 0.05, dtype.Int8: 0.3}

// narrowPeers are the peers of the suite with the types that they compute in. The processes of
// MXNet get two threads; its default is half of the processors.
var (
	narrowPeers = map[string][]dtype.Type{"openvino": {dtype.BFloat16, dtype.Int8},
		"ort": {dtype.Int8}, "torch": {dtype.BFloat16}, "mxnet": {dtype.BFloat16, dtype.Int8}}
	narrowEnv = map[string][]string{"mxnet": {"OMP_NUM_THREADS=2"}}
)

// narrowNets are the networks of the suite.
var narrowNets = []struct {
	name string
	make func(classes int) *sym.Symbol
}{
	{"resnet50_v1", func(n int) *sym.Symbol { return resnet(true, []int{3, 4, 6, 3}, n) }},
	{"vgg16", vgg16},
	{"mobilenet1_0", mobilenet},
}

// Choices of the suite narrow.
var (
	narrowBatches = []int{1, 32}
	narrowTypes   = []dtype.Type{dtype.BFloat16, dtype.Int8}
)

// narrowed is a network of the suite with its parameters, and the folder that peers read.
type narrowed struct {
	dir, name string
	model     *checkpoint.Model // float32
	int8      *checkpoint.Model // made at the first use
}

// newNarrowed makes a network with random parameters and writes it for the peers: as a model of
// ONNX, and as a checkpoint for MXNet.
func newNarrowed(dir, name string, net *sym.Symbol) (*narrowed, error) {
	scores := sym.FromEntries(net.Entries()[0].Node.In[0]) // without the softmax
	mod := module.New(scores)
	data := []dataio.Desc{{Name: "data", Shape: nd.Shape{1, 3, narrowSide, narrowSide}}}
	if err := mod.Bind(data, nil, module.ForInference()); err != nil {
		return nil, err
	}
	err := mod.InitParams(initializer.Xavier{RndType: "gaussian", FactorType: "in", Magnitude: 2})
	if err != nil {
		return nil, err
	}
	n := &narrowed{dir: dir, name: name, model: mod.Model()}
	err = export.Save(n.path(".onnx"), n.model, export.Inputs{"data": data[0].Shape})
	if err != nil {
		return nil, err
	}
	return n, n.model.Save(n.path(""), 0)
}

// path returns the name of a file of the network.
func (n *narrowed) path(end string) string { return filepath.Join(n.dir, n.name+end) }

// close removes the files, which may be large.
func (n *narrowed) close() {
	list, _ := filepath.Glob(n.path("*"))
	for _, path := range list {
		os.Remove(path)
	}
	trim()
}

// narrowImages returns images of a batch, the same for all networks.
func narrowImages(batch int, seed uint64) *nd.Array {
	return nd.Normal(0, 1, nd.Shape{batch, 3, narrowSide, narrowSide}, nd.Seed(seed))
}

// runs binds a model for images x and returns a call, whose outputs it returns too.
func runs(ctx context.Context, m *checkpoint.Model, x *nd.Array,
	opts ...module.Option) (func() error, *nd.Array, error) {
	mod := module.New(m.Symbol, opts...)
	data := []dataio.Desc{{Name: "data", Shape: x.Shape()}}
	if err := mod.Bind(data, nil, module.ForInference()); err != nil {
		return nil, nil, err
	}
	if err := mod.SetParams(m.Args, m.Aux); err != nil {
		return nil, nil, err
	}
	b := &dataio.Batch{Data: []*nd.Array{x}}
	run := func() error {
		if err := mod.Forward(b, false); err != nil {
			return err
		}
		return mod.Outputs()[0].Wait(ctx)
	}
	err := run()
	return run, mod.Outputs()[0], err
}

// quantized returns the network in integers, with ranges of some images.
func (n *narrowed) quantized(ctx context.Context) (*checkpoint.Model, error) {
	if n.int8 != nil {
		return n.int8, nil
	}
	x := narrowImages(narrowSamples, 5)
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{x},
		BatchSize: narrowSamples})
	if err != nil {
		return nil, err
	}
	r, err := quantize.Calibrate(ctx, n.model, it, quantize.Config{Mode: quantize.Naive})
	if err != nil {
		return nil, err
	}
	n.int8 = r.Model
	return n.int8, npy.SaveZip(n.path(".calibration.npz"), []checkpoint.Named{{Name: "data",
		Array: x}})
}

// prepare writes the images of a line with the outputs in float32 for the peers, and returns a call
// and the distance of its outputs from them.
func (n *narrowed) prepare(ctx context.Context, batch int, t dtype.Type) (func() error, float64,
	error) {
	x := narrowImages(batch, 7)
	_, want, err := runs(ctx, n.model, x)
	if err != nil {
		return nil, 0, err
	}
	err = npy.SaveZip(n.path(fmt.Sprintf(".bs%d.npz", batch)), []checkpoint.Named{{Name: "data",
		Array: x}, {Name: "output", Array: want}})
	if err != nil {
		return nil, 0, err
	}
	m, opts := n.model, []module.Option{module.MixedPrecision(t)}
	if t == dtype.Int8 {
		opts = nil
		if m, err = n.quantized(ctx); err != nil {
			return nil, 0, err
		}
	}
	run, got, err := runs(ctx, m, x, opts...)
	if err != nil {
		return nil, 0, err
	}
	d, err := relativeDistance(got, want)
	if err == nil && !(d <= narrowErrors[t]) {
		err = fmt.Errorf("the output differs from float32 by %.2g of its norm, want at most %v", d,
			narrowErrors[t])
	}
	return run, d, err
}

// relativeDistance is the norm of the difference of got and want, divided by the norm of want.
func relativeDistance(got, want *nd.Array) (float64, error) {
	a, err := got.AsType(dtype.Float32).Float32s()
	if err != nil {
		return 0, err
	}
	b, err := want.Float32s()
	if err != nil {
		return 0, err
	}
	d, n := 0.0, 0.0
	for i, v := range b {
		e := float64(a[i]) - float64(v)
		d, n = d+e*e, n+float64(v)*float64(v)
	}
	return math.Sqrt(d / n), nil
}

// runNarrow measures convolutional networks in bfloat16 and int8, in gomx and in the peers, call by
// call in turn. Each peer first compares its outputs with those of gomx in float32.
func runNarrow(ctx context.Context, c *Config) error {
	t, err := startTurns(ctx, c, "narrow.py", slices.Sorted(maps.Keys(narrowPeers)), narrowEnv)
	if err != nil {
		return err
	}
	defer t.close()
	t.least, t.pause = narrowTurn, narrowPause
	printHeader(c, "inference of images of 224x224")
	for _, net := range narrowNets {
		if err := t.narrowNet(ctx, net.name, net.make); err != nil {
			return err
		}
	}
	t.all.print(c.Out, c.Suite)
	return nil
}

// narrowNet measures the chosen lines of a network.
func (t *turns) narrowNet(ctx context.Context, name string, make func(int) *sym.Symbol) error {
	var n *narrowed
	for _, batch := range narrowBatches {
		for _, typ := range narrowTypes {
			line := fmt.Sprintf("narrow.%s.bs%d.%v", name, batch, typ)
			if !strings.Contains(line, t.Match) {
				continue
			}
			if n == nil {
				var err error
				if n, err = newNarrowed(t.ps.dir, name, make(1000)); err != nil {
					return fmt.Errorf("bench: %s: %w", name, err)
				}
				defer n.close()
			}
			if err := t.narrowLine(ctx, n, line, batch, typ); err != nil {
				return fmt.Errorf("bench: %s: %w", line, err)
			}
		}
	}
	return nil
}

// narrowLine measures one line, after the speed of the processor's units.
func (t *turns) narrowLine(ctx context.Context, n *narrowed, line string, batch int,
	typ dtype.Type) error {
	run, distance, err := n.prepare(ctx, batch, typ)
	if err != nil {
		return err
	}
	t.has = func(peer, _ string) bool { return slices.Contains(narrowPeers[peer], typ) }
	fma, amx := cpu.Rates(runtime.NumCPU())
	tiles := "no tiles"
	if amx > 0 {
		tiles = fmt.Sprintf("%.0f in tiles of bfloat16", amx)
	}
	fmt.Fprintf(t.Out, "# %s: the processor does %.0f GFLOP/s in fused multiply-adds, %s; error of "+
		"gomx %.2g\n", line, fma, tiles, distance)
	return t.measure(ctx, call{line, "images/s", batch, run})
}
