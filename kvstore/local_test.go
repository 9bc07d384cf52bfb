package kvstore_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

func open(t *testing.T, name string, opts ...kvstore.Option) *kvstore.KV {
	t.Helper()
	s, err := kvstore.Open(t.Context(), name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func values(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	v, err := a.Float32s()
	must(t, err)
	return v
}

func TestPushReplaces(t *testing.T) {
	for _, name := range []string{"local", "device"} {
		s := open(t, name)
		w := nd.FromSlice([]float32{1, 2, 3})
		must(t, s.Init(t.Context(), "w", w))
		out := nd.Zeros(nd.Shape{3})
		must(t, s.Pull("w", 0, out))
		if got := values(t, out); !slices.Equal(got, []float32{1, 2, 3}) {
			t.Errorf("%s: pulled %v after Init", name, got)
		}
		for devices := 1; devices <= 5; devices++ {
			var grads []*nd.Array
			for d := range devices {
				grads = append(grads, nd.FromSlice([]float32{float32(d), 1, 10}))
			}
			must(t, s.Push("w", 0, grads...))
			must(t, s.Pull("w", 0, out))
			n := float32(devices)
			if got, want := values(t, out), []float32{n * (n - 1) / 2, n,
				10 * n}; !slices.Equal(got, want) {
				t.Errorf("%s, %d devices: %v, want %v", name, devices, got, want)
			}
		}
	}
}

// TestOptimizerOnStore compares with an updater beside plain arrays, and saves and loads the states
// midway.
func TestOptimizerOnStore(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	o := optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.01}
	first := open(t, "local")
	w := nd.FromSlice([]float32{1, -2, 3, 4})
	must(t, first.Init(t.Context(), "w_weight", w), first.SetOptimizer(t.Context(), o))
	u, err := optimizer.NewUpdater(o, nil)
	must(t, err)
	s, out := first, nd.Zeros(nd.Shape{4})
	for step := range 6 {
		if step == 3 {
			states, err := s.OptimizerStates(t.Context())
			must(t, err)
			must(t, s.Pull("w_weight", 0, out))
			s = open(t, "device")
			must(t, s.Init(t.Context(), "w_weight", out), s.SetOptimizer(t.Context(), o),
				s.SetOptimizerStates(t.Context(), states))
		}
		g := make([]float32, 4)
		for i := range g {
			g[i] = float32(rng.NormFloat64())
		}
		a, b := nd.FromSlice(g), nd.FromSlice([]float32{1, 1, 1, 1})
		must(t, s.PushPull("w_weight", 0, []*nd.Array{a, b}, []*nd.Array{out}),
			u.Update(0, w, a.Add(b)))
		if got, want := values(t, out), values(t, w); !slices.Equal(got, want) {
			t.Fatalf("step %d: %v, want %v", step, got, want)
		}
	}
}

// TestCompressedSum compares with residuals kept by hand.
func TestCompressedSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, m := range []compress.Method{{Kind: compress.TwoBit, Threshold: 0.25},
		{Kind: compress.OneBit}, {Kind: compress.TopK, Ratio: 0.2}, {Kind: compress.Half}} {
		s := open(t, "device")
		must(t, s.Init(t.Context(), "w", nd.Zeros(nd.Shape{5, 7})), s.SetCompression(m))
		const devices, n = 3, 35
		var residual [devices][n]float32
		out := nd.Zeros(nd.Shape{5, 7})
		for step := range 4 {
			want := make([]float32, n)
			var grads []*nd.Array
			for d := range devices {
				g := make([]float32, n)
				for i := range g {
					g[i] = float32(rng.NormFloat64())
				}
				payload, err := m.Append(nil, g, residual[d][:])
				must(t, err, compress.Add(want, m.Kind, payload))
				grads = append(grads, nd.FromSlice(g, 5, 7))
			}
			must(t, s.Push("w", 0, grads...), s.Pull("w", 0, out))
			for _, g := range grads {
				g.Close() // the operations that read it are pending
			}
			// kernels may add in float64
			near := func(a, b float32) bool {
				return math.Abs(float64(a-b)) <= 1e-6*(1+math.Abs(float64(b)))
			}
			if got := values(t, out); !slices.EqualFunc(got, want, near) {
				t.Fatalf("%v, step %d: %v, want %v", m.Kind, step, got, want)
			}
		}
	}
}

func TestMisuse(t *testing.T) {
	ctx := context.Background()
	s := open(t, "local")
	a, b := nd.Zeros(nd.Shape{2}), nd.Zeros(nd.Shape{3})
	must(t, s.Init(ctx, "w", a))
	_, unknown := kvstore.Open(ctx, "dist")
	_, negative := kvstore.Open(ctx, "local", kvstore.Staleness(-1))
	_, states := s.OptimizerStates(ctx)
	_, jobless := kvstore.Open(ctx, "dist_sync")
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"unknown store", unknown, `"dist"`},
		{"negative staleness", negative, "-1"},
		{"no job", jobless, "no job"},
		{"twice", s.Init(ctx, "w", a), `"w"`},
		{"nil", s.Init(ctx, "v", nil), `"v"`},
		{"unknown key", s.Push("v", 0, a), `"v"`},
		{"shape", s.Push("w", 0, b), "(3,)"},
		{"no arrays", s.Pull("w", 0), "no arrays"},
		{"nil array", s.Pull("w", 0, nil), "nil"},
		{"no optimizer", states, "SetOptimizer"},
		{"compression", s.SetCompression(compress.Method{Threshold: -1}), "-1"},
		{"optimizer", s.SetOptimizer(ctx, optimizer.SGD{LR: -1}), "-1"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one about %s", c.name, c.err, c.want)
		}
	}
}

func TestPushAllocates(t *testing.T) {
	s := open(t, "local")
	must(t, s.Init(t.Context(), "w", nd.Zeros(nd.Shape{1000})), s.SetOptimizer(t.Context(),
		optimizer.SGD{LR: 0.1, Momentum: 0.9}))
	g, out := nd.Ones(nd.Shape{1000}), nd.Zeros(nd.Shape{1000})
	grads, outs := []*nd.Array{g}, []*nd.Array{out}
	step := func() {
		must(t, s.PushPull("w", 0, grads, outs), out.Wait(t.Context()))
	}
	step()
	if n := testing.AllocsPerRun(100, step); n > 8 {
		t.Errorf("%v allocations per step", n)
	}
}
