package module_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gomx/initializer"
	"gomx/internal/cluster"
	"gomx/internal/conformance"
	"gomx/kvstore"
	"gomx/module"
	nd "gomx/ndarray"
)

// TestClipGolden compares nd.ClipGlobalNorm with MXNet's clip_global_norm.
func TestClipGolden(t *testing.T) {
	g, err := conformance.Open("../../shared/golden/gluon/utils")
	if err != nil {
		t.Skip("no golden data")
	}
	defer g.Close()
	var index struct {
		Cases []struct {
			ID, Function, File string
			Max                float64 `json:"max_norm"`
			Norm               float64
			Inputs, Outputs    []conformance.Ref
		}
	}
	if err := g.Part("utils.json", &index); err != nil {
		t.Fatal(err)
	}
	clipped := 0
	for _, c := range index.Cases {
		if c.Function != "clip_global_norm" {
			continue
		}
		clipped++
		in, err := g.Arrays(c.File, c.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		out, err := g.Arrays(c.File, c.Outputs)
		if err != nil {
			t.Fatal(err)
		}
		var list []*nd.Array
		for _, a := range in {
			list = append(list, nd.FromSlice(conformance.Elements[float32](a), a.Shape...))
		}
		norm, err := nd.ClipGlobalNorm(list, c.Max)
		if err != nil || math.Abs(norm-c.Norm) > 1e-6*c.Norm {
			t.Errorf("%s: norm %v, %v, want %v", c.ID, norm, err, c.Norm)
		}
		for i, a := range list {
			alike(t, c.ID, floats(t, map[string]*nd.Array{"": a})[""],
				conformance.Elements[float32](out[i]), 1e-6)
		}
	}
	if clipped == 0 {
		t.Error("no case of clip_global_norm")
	}
}

// alike compares numbers with a tolerance relative to the largest.
func alike(t *testing.T, what string, got, want []float32, tol float64) {
	t.Helper()
	most := 0.0
	for _, v := range want {
		most = max(most, math.Abs(float64(v)))
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tol*most) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

const clipLimit = 0.3

// clipByHand trains with a loop that waits for the gradients and scales them itself. It returns the
// parameters and the numbers of batches whose gradients were scaled and were not.
func clipByHand(t *testing.T, epochs int, opts ...module.Option) (params map[string][]float32,
	clipped, whole int) {
	t.Helper()
	m, it := module.New(storeNet(), append(opts, module.Seed(5))...), manySamples(t, 96)
	for _, err := range []error{m.Bind(it.ProvideData(), it.ProvideLabel()),
		m.InitParams(initializer.Xavier{}), m.InitOptimizer(storeOptimizer)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range epochs {
		if err := it.Reset(); err != nil {
			t.Fatal(err)
		}
		for range it.Batches() {
			b, err := it.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := m.ForwardBackward(b); err != nil {
				t.Fatal(err)
			}
			var grads []*nd.Array
			for _, g := range m.Grads() {
				grads = append(grads, g)
			}
			limit := clipLimit * float64(it.BatchSize())
			norm, err := nd.ClipGlobalNorm(grads, limit)
			if err != nil {
				t.Fatal(err)
			}
			if norm > limit {
				clipped++
			} else {
				whole++
			}
			if err := m.Update(); err != nil {
				t.Fatal(err)
			}
		}
	}
	args, _ := m.Params()
	return floats(t, args), clipped, whole
}

// TestFitClips compares Fit with a loop that measures and scales the gradients itself: on one
// device and on three, with a parameter that is not trained, and with a store in this process.
func TestFitClips(t *testing.T) {
	const epochs = 6
	for _, c := range []struct {
		name    string
		options []module.Option
		store   bool
	}{
		{name: "one device"},
		{name: "three devices", options: []module.Option{module.On(processors(3)...)}},
		{name: "fixed", options: []module.Option{module.Fixed("fc1_weight")}},
		{name: "store", store: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, clipped, whole := clipByHand(t, epochs, c.options...)
			if clipped == 0 || whole == 0 {
				t.Fatalf("%d batches clipped and %d not, want both", clipped, whole)
			}
			train := func(opts ...module.FitOption) map[string][]float32 {
				m := module.New(storeNet(), append(c.options, module.Seed(5))...)
				opts = append(opts, module.Epochs(epochs), module.Init(initializer.Xavier{}),
					module.Optimize(storeOptimizer))
				if c.store {
					kv, err := kvstore.Open(t.Context(), "local")
					if err != nil {
						t.Fatal(err)
					}
					defer kv.Close()
					opts = append(opts, module.StoreWith(kv))
				}
				if err := m.Fit(t.Context(), manySamples(t, 96), opts...); err != nil {
					t.Fatal(err)
				}
				args, _ := m.Params()
				return floats(t, args)
			}
			got, free := train(module.ClipGlobalNorm(clipLimit)), train()
			for name := range want {
				alike(t, name, got[name], want[name], 1e-5)
			}
			if v, w := got["fc2_weight"], free["fc2_weight"]; math.Abs(float64(v[0]-w[0])) < 1e-3 {
				t.Errorf("fc2_weight begins with %v with clipping, %v without: the limit is too "+
					"high to be tested", v[0], w[0])
			}
		})
	}
}

// Limits that mean nothing, and stores whose servers add up gradients, are mistakes.
func TestClipMisuse(t *testing.T) {
	for _, c := range []struct {
		want string
		opts []module.FitOption
	}{
		{"ClipGlobalNorm(0), want a positive number", []module.FitOption{module.ClipGlobalNorm(0)}},
		{"ClipGlobalNorm(-1), want a positive number",
			[]module.FitOption{module.ClipGlobalNorm(-1)}},
		{"ClipGlobalNorm(NaN), want a positive number",
			[]module.FitOption{module.ClipGlobalNorm(math.NaN())}},
		{"a store of several processes", []module.FitOption{module.ClipGlobalNorm(1),
			module.Store("dist_sync")}},
	} {
		err := module.New(storeNet()).Fit(t.Context(), manySamples(t, 24), c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job := cluster.Start(cluster.Config{Workers: 1, Servers: 1, Replicas: 1})
	err := job.Work(ctx, func(ctx context.Context, _ int) error {
		kv, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		err = module.New(storeNet()).Fit(ctx, manySamples(t, 24), module.ClipGlobalNorm(1),
			module.StoreWith(kv))
		if err == nil || !strings.Contains(err.Error(), "a store of several processes") {
			t.Errorf("got %v, want an error that names the store", err)
		}
		return kv.Close()
	})
	if err := errors.Join(err, job.Wait()); err != nil {
		t.Fatal(err)
	}
}
