package module_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"gomx/device"
	"gomx/dtype"
	"gomx/initializer"
	"gomx/internal/cluster"
	dataio "gomx/io"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// workerModules trains a job of workers that make their modules themselves, and returns the
// modules.
func workerModules(t *testing.T, workers, epochs int, open func(rank int) (*module.Module,
	dataio.Iter)) []*module.Module {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := cluster.Start(cluster.Config{Workers: workers, Servers: 2, Replicas: 2})
	var mu sync.Mutex
	out := make([]*module.Module, workers)
	err := c.Work(ctx, func(ctx context.Context, rank int) error {
		m, data := open(rank)
		mu.Lock()
		out[rank] = m
		mu.Unlock()
		if err := m.Fit(ctx, data, module.Epochs(epochs), module.Init(initializer.Xavier{}),
			module.Optimize(storeOptimizer), module.Store("dist_sync")); err != nil {
			return err
		}
		return m.Wait(ctx)
	})
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFitOverDevicesOnServers: workers with two devices each add up the gradients of these, then
// those of the workers; auxiliary states are the means over the devices, then over the workers.
func TestFitOverDevicesOnServers(t *testing.T) {
	const workers, devices, epochs = 2, 2, 2
	share := func(rank int) *dataio.Table {
		p := manySamples(t, 12*5)
		if err := p.Shard(rank, workers); err != nil {
			t.Fatal(err)
		}
		return p
	}
	one := newOneAfterTheOther(t, auxNet(), device.CPU(), devices, 12, storeOptimizer)
	one.Updater().SetRescale(1.0 / (12 * workers))
	_, aux := one.Params()
	parts := []*dataio.Table{share(0), share(1)}
	for range epochs {
		for _, p := range parts {
			if err := p.Reset(); err != nil {
				t.Fatal(err)
			}
		}
		for range parts[0].Batches() {
			before, change, sum := map[string]*nd.Array{}, map[string]*nd.Array{},
				map[string]*nd.Array{}
			for name, a := range aux {
				before[name] = one.states[0][name].Copy()
				change[name] = nd.Zeros(a.Shape())
			}
			for _, p := range parts {
				for name, a := range before {
					for k := range devices {
						a.CopyInto(one.states[k][name])
					}
				}
				b, err := p.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, grads := one.gradients(t, b)
				for name, g := range grads {
					if sum[name] == nil {
						sum[name] = g
					} else {
						sum[name] = sum[name].Add(g)
					}
				}
				one.settle()
				for name, a := range aux {
					change[name] = change[name].Add(a.Sub(before[name]).MulScalar(1.0 / workers))
				}
			}
			for name := range aux {
				for k := range devices {
					before[name].Add(change[name]).CopyInto(one.states[k][name])
				}
			}
			one.update(t, sum)
		}
	}
	one.settle()
	args, _ := one.Params()
	wantArgs, wantAux := floats(t, args), floats(t, aux)
	for rank, m := range workerModules(t, workers, epochs, func(rank int) (*module.Module,
		dataio.Iter) {
		return module.New(auxNet(), module.Seed(uint64(5+rank)), module.On(processors(devices)...)),
			share(rank)
	}) {
		args, aux := m.Params()
		compareParams(t, []map[string][]float32{floats(t, args)}, wantArgs)
		for name, got := range floats(t, aux) {
			if !slices.Equal(got, wantAux[name]) {
				t.Errorf("worker %d: %s is %v, want %v", rank, name, got, wantAux[name])
			}
		}
	}
}

// overflowing is an iterator over batches of 4 samples, of which those that are named have a number
// that half precision has not.
func overflowing(t *testing.T, rank int, bad ...int) *dataio.Table {
	t.Helper()
	const n = 20
	x, y := make([]float32, n*5), make([]float32, n)
	for i := range x {
		x[i] = float32((i*7+rank)%13)/6 - 1
	}
	for i := range y {
		y[i] = float32((i + rank) % 3)
	}
	for _, b := range bad {
		x[b*4*5+7+rank] = 1e6
	}
	it, err := dataio.NDArrayIter(dataio.NDArrayConfig{Data: []*nd.Array{nd.FromSlice(x, n, 5)},
		Label: []*nd.Array{nd.FromSlice(y)}, BatchSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := it.Shard(0, 1); err != nil { // it is this worker's share already
		t.Fatal(err)
	}
	return it
}

// scaledParts computes gradients in half precision by modules whose loss scales are fixed, one per
// scale, which have their parameters in common.
type scaledParts struct {
	net     func() *sym.Symbol
	byScale map[float64]*module.Module
	master  *module.Module
}

func (s *scaledParts) module(t *testing.T, scale float64) *module.Module {
	t.Helper()
	m := s.byScale[scale]
	if m == nil {
		m = module.New(s.net(), module.Seed(5), module.MixedPrecision(dtype.Float16),
			module.LossScale(module.Scaling{Initial: scale, Fixed: true}))
		for _, err := range []error{
			m.Bind([]dataio.Desc{{Name: "data", Shape: dtype.Shape{4, 5}}},
				[]dataio.Desc{{Name: "softmax_label", Shape: dtype.Shape{4}}}),
			m.InitParams(initializer.Xavier{}), m.InitOptimizer(storeOptimizer)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		s.byScale[scale] = m
		if s.master == nil {
			s.master = m
		}
	}
	if m != s.master {
		args, aux := s.master.Params()
		if err := m.SetParams(args, aux); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestOverflowOfOneWorker: a worker whose gradients overflow adds nothing to the round, halves its
// scale and stays in step with the others.
func TestOverflowOfOneWorker(t *testing.T) {
	const epochs, scale = 2, 512.0
	data := func(rank int) *dataio.Table {
		return overflowing(t, rank, [][]int{{3}, {1, 3}, nil}[rank]...) // in batch 3 both overflow
	}
	const workers = 3
	parts := &scaledParts{net: storeNet, byScale: map[float64]*module.Module{}}
	iters, scales, skipped := make([]*dataio.Table, workers), make([]float64, workers),
		make([]int, workers)
	for rank := range iters {
		iters[rank], scales[rank] = data(rank), scale
	}
	master := parts.module(t, scale)
	master.Updater().SetRescale(1.0 / (4 * workers))
	args, _ := master.Params()
	for range epochs {
		for _, it := range iters {
			if err := it.Reset(); err != nil {
				t.Fatal(err)
			}
		}
		for range iters[0].Batches() {
			sum := map[string]*nd.Array{}
			for name, a := range args {
				sum[name] = nd.Zeros(a.Shape())
			}
			for rank, it := range iters {
				b, err := it.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				m := parts.module(t, scales[rank])
				if err := m.ForwardBackward(b); err != nil {
					t.Fatal(err)
				}
				list := []*nd.Array{}
				for _, g := range m.Grads() {
					list = append(list, g)
				}
				if v, err := nd.MultiAllFinite(list,
					nd.MultiAllFiniteParams{}).Float32s(); err != nil || v[0] == 0 {
					scales[rank] /= 2
					skipped[rank]++
					continue
				}
				for name, g := range m.Grads() {
					sum[name] = sum[name].Add(g)
				}
			}
			for i, name := range master.ParamNames() {
				if err := master.Updater().Update(i, args[name], sum[name]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if skipped[0] != epochs || skipped[1] != 2*epochs || skipped[2] != 0 {
		t.Fatalf("batches skipped in one process: %v", skipped)
	}
	want := floats(t, args)
	for rank, m := range workerModules(t, workers, epochs, func(rank int) (*module.Module,
		dataio.Iter) {
		return module.New(storeNet(), module.Seed(uint64(5+rank)),
				module.MixedPrecision(dtype.Float16),
				module.LossScale(module.Scaling{Initial: scale})),
			data(rank)
	}) {
		args, _ := m.Params()
		compareParams(t, []map[string][]float32{floats(t, args)}, want)
		if m.Skipped() != skipped[rank] || m.LossScale() != scales[rank] {
			t.Errorf("worker %d: %d batches skipped and a scale of %v, want %d and %v", rank,
				m.Skipped(), m.LossScale(), skipped[rank], scales[rank])
		}
	}
}

// TestOverflowOnOneDevice: no device's parameters change when the gradients of one overflow, and
// all have the same scale.
func TestOverflowOnOneDevice(t *testing.T) {
	m := module.New(storeNet(), module.Seed(5), module.On(processors(2)...),
		module.MixedPrecision(dtype.Float16), module.LossScale(module.Scaling{Initial: 256}))
	it := overflowing(t, 0, 1) // row 1 of batch 1 is the first device's
	if err := m.Fit(t.Context(), it, module.Init(initializer.Xavier{}),
		module.Optimize(storeOptimizer), module.OnBatch(func(e *module.BatchEnd) error {
			want := 256.0
			if e.Batch >= 1 {
				want = 128
			}
			if m.LossScale() != want {
				t.Errorf("batch %d: a scale of %v, want %v", e.Batch, m.LossScale(), want)
			}
			return nil
		})); err != nil {
		t.Fatal(err)
	}
	if m.Skipped() != 1 {
		t.Errorf("%d batches skipped, want 1", m.Skipped())
	}
	args, _ := m.Params()
	for name, v := range floats(t, args) {
		for _, x := range v {
			if x != x {
				t.Fatalf("%s has NaN", name)
			}
		}
	}
}

// TestScaleOfAllDevices begins with a scale at which gradients overflow on both devices: it is
// halved on both until they do not.
func TestScaleOfAllDevices(t *testing.T) {
	m := module.New(storeNet(), module.Seed(5), module.On(processors(2)...),
		module.MixedPrecision(dtype.Float16), module.LossScale(module.Scaling{Initial: 1 << 24}))
	if err := m.Fit(t.Context(), overflowing(t, 0), module.Epochs(12),
		module.Init(initializer.Xavier{}), module.Optimize(storeOptimizer)); err != nil {
		t.Fatal(err)
	}
	if n := m.Skipped(); n == 0 || n > 24 || m.LossScale() != math.Ldexp(1, 24-n) {
		t.Errorf("%d batches skipped, and a scale of %v, want some, each of which halves the scale",
			n, m.LossScale())
	}
}
