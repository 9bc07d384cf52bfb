package module_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"gomx/dtype"
	"gomx/initializer"
	dataio "gomx/io"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// portion is what one of several devices has of an iterator's batches.
type portion struct {
	dataio.Iter
	k, n int
}

func (p portion) BatchSize() int { return p.Iter.BatchSize() / p.n }

func (p portion) ProvideData() []dataio.Desc  { return p.descs(p.Iter.ProvideData()) }
func (p portion) ProvideLabel() []dataio.Desc { return p.descs(p.Iter.ProvideLabel()) }

func (p portion) descs(list []dataio.Desc) []dataio.Desc {
	out := slices.Clone(list)
	for i := range out {
		out[i].Shape = out[i].Shape.Clone()
		out[i].Shape[0] /= p.n
	}
	return out
}

func (p portion) Next(ctx context.Context) (*dataio.Batch, error) {
	b, err := p.Iter.Next(ctx)
	if err != nil {
		return nil, err
	}
	cut := func(list []*nd.Array) []*nd.Array {
		out := make([]*nd.Array, len(list))
		for i, a := range list {
			n := a.Shape()[0] / p.n
			out[i] = a.Slice(p.k*n, (p.k+1)*n)
		}
		return out
	}
	return &dataio.Batch{Data: cut(b.Data), Label: cut(b.Label), Bucket: b.Bucket}, nil
}

// TestBucketsOverDevices: networks that change from batch to batch are computed on two devices as
// one does with the parts, whether the module or a store updates the parameters. In the store those
// that a network lacks take part with gradients of zero.
func TestBucketsOverDevices(t *testing.T) {
	deep := func(bucket any) (*sym.Symbol, error) { return counts(max(5, bucket.(int))) }
	bucketing := func(gen module.SymGen, devices int) *module.BucketingModule {
		m, err := module.NewBucketing(gen, 12, module.Seed(5), module.On(processors(devices)...))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	halves := func() []dataio.Iter {
		return []dataio.Iter{portion{counting(), 0, 2},
			portion{counting(), 1, 2}}
	}
	want := oneProcess(t, bucketing(deep, 1).Module, 3, halves())
	m, it, rows, wantRows := bucketing(deep, 2), counting(), 0, 0
	if err := m.Fit(t.Context(), it, module.Epochs(3), module.Init(initializer.Xavier{}),
		module.Optimize(storeOptimizer), module.Metric(metric.Perplexity(metric.IgnoreLabel(-1))),
		module.OnBatch(func(*module.BatchEnd) error { rows += m.Outputs()[0].Shape()[0]; return nil })); err != nil {
		t.Fatal(err)
	}
	args, _ := m.Params()
	compareParams(t, []map[string][]float32{floats(t, args)}, want)
	for b, err := range it.Epoch() {
		if err != nil {
			t.Fatal(err)
		}
		wantRows += 3 * b.Data[0].Size()
	}
	if rows != wantRows {
		t.Errorf("outputs of %d rows, want %d", rows, wantRows)
	}
	want = oneProcess(t, bucketing(counts, 1).Module, 3, halves())
	got := fitJob(t, 1, 3, func(int) (fitter, dataio.Iter) {
		return bucketing(counts, 2),
			counting()
	})
	compareParams(t, got, want)
}

// TestLayoutsOverDevices splits batches where the attribute __layout__ has the N, passes on whole
// what has none, and takes gradients of outputs.
func TestLayoutsOverDevices(t *testing.T) {
	layout := func(l string) sym.Option { return sym.Attr("__layout__", l) }
	x, mask := sym.Var("data", layout("TNC")), sym.Var("mask", layout("TC"))
	y := sym.BroadcastMul(x, sym.ExpandDims(mask, sym.ExpandDimsParams{Axis: 1}), layout("TNC"))
	net := sym.Group(y, sym.Sum(sym.Square(x), sym.ReduceParams{}, sym.Name("sum")))
	const steps, batch, wide = 3, 4, 5
	values := func(n int, f float32) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = f * float32(i%7-3)
		}
		return v
	}
	var got [2]map[string][]float32
	for i, devices := range []int{1, 2} {
		m := module.New(net, module.On(processors(devices)...))
		seen := map[string]int{}
		var mu sync.Mutex
		m.Monitor(&sym.Monitor{Call: func(o sym.Observation) error {
			mu.Lock()
			defer mu.Unlock()
			seen[o.Name]++
			return nil
		}})
		b := &dataio.Batch{Data: []*nd.Array{nd.FromSlice(values(steps*batch*wide, 1), steps, batch,
			wide), nd.FromSlice(values(steps*wide, 0.5), steps, wide)}}
		for _, err := range []error{
			m.Bind([]dataio.Desc{{Name: "data", Shape: dtype.Shape{steps, batch, wide}},
				{Name: "mask", Shape: dtype.Shape{steps, wide}}}, nil, module.WithInputGrads()),
			m.InitParams(nil), m.Forward(b, true),
			m.Backward(nd.FromSlice(values(steps*batch*wide, 2), steps, batch, wide),
				nd.FromSlice([]float32{3, 3}[:devices]))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		outs := m.Outputs()
		got[i] = floats(t, map[string]*nd.Array{"product": outs[0], "sums": outs[1].Sum(),
			"gradient": m.InputGrads()[0]})
		if want := (dtype.Shape{devices}); !outs[1].Shape().Equal(want) {
			t.Errorf("%d devices: outputs without a batch have shape %v, want %v", devices,
				outs[1].Shape(), want)
		}
		mu.Lock()
		if seen["sum_output"] != devices {
			t.Errorf("%d devices: the monitor has seen %v", devices, seen)
		}
		mu.Unlock()
	}
	for name, w := range got[0] {
		if !slices.Equal(got[1][name], w) {
			t.Errorf("%s of two devices is %v, want %v", name, got[1][name], w)
		}
	}
}
