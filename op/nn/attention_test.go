package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/nn"
	"gomx/op/prim"
)

// attentionOf composes attention of one head of batch_dot and softmax.
func attentionOf(q, k, v op.Entry, scale float64) op.Entry {
	s := prim.BatchDot.Apply(prim.DotParams{TransposeB: true}, q, k)
	w := prim.Softmax.Apply(prim.SoftmaxParams{},
		prim.MulScalar.Apply(prim.ScalarParams{Scalar: scale}, s))
	return prim.BatchDot.Apply(prim.DotParams{}, w, v)
}

func TestAttention(t *testing.T) {
	type P = nn.ScaledAttentionParams
	q, k, v := random(1, 2, 3, 8), random(2, 2, 5, 4), random(3, 2, 5, 4)
	lengths, positions := op.TensorOf([]int32{4, 0}), op.TensorOf([]int32{2, 0})
	optest.Run(t, nn.Attention.Op,
		optest.Case{Name: "heads", Params: P{Heads: 2}, In: []op.Tensor{q, random(2, 2, 5, 8),
			random(3, 2, 5, 8)}},
		optest.Case{Name: "groups", Params: P{Heads: 4, KVHeads: 2}, In: []op.Tensor{q, k, v}},
		optest.Case{Name: "causal", Params: P{Heads: 2, KVHeads: 1, Causal: true,
			Scale: op.Some(1.5)}, In: []op.Tensor{q, k, v}},
		optest.Case{Name: "positions", Params: P{Heads: 2, KVHeads: 1, Causal: true,
			UsePosition: true}, In: []op.Tensor{q, k, v, positions}, Const: []int{3}},
		optest.Case{Name: "all", Params: P{Heads: 2, KVHeads: 1, Causal: true, UseLength: true,
			UsePosition: true}, In: []op.Tensor{q, k, v, op.TensorOf([]int32{4, 1}), positions},
			Const: []int{3, 4}},
		optest.Case{Name: "nothing to read", Params: P{Heads: 1, UseLength: true},
			In: []op.Tensor{random(1, 2, 3, 4), k, v, lengths}, Const: []int{3}},
		optest.Case{Name: "blocks", Params: P{Heads: 2, Causal: true}, NoDiff: true,
			In:  []op.Tensor{random(1, 1, 300, 70), random(2, 1, 300, 70), random(3, 1, 300, 70)},
			Tol: optest.Tolerance{Abs: 1e-4, Rel: 1e-4}},
	)
}

func TestAttentionMask(t *testing.T) {
	type P = nn.ScaledAttentionParams
	q, k, v := random(1, 2, 3, 8), random(2, 2, 5, 4), random(3, 2, 5, 4)
	may := optest.New(dtype.Bool, 2, 1, 3, 5)
	for i := range op.Slice[bool](may) {
		op.Slice[bool](may)[i] = i%3 != 1 && i/5 != 2 // query 2 of the first sequence reads nothing
	}
	none := random(4, 3, 5)
	for i := range op.Slice[float32](none)[:7] {
		op.Slice[float32](none)[i] = float32(math.Inf(-1))
	}
	wide := []op.Tensor{random(1, 2, 130, 4*20), random(2, 2, 150, 2*20), random(3, 2, 150, 2*20)}
	tol := optest.Tolerance{Abs: 2e-4, Rel: 2e-4}
	optest.Run(t, nn.Attention.Op,
		optest.Case{Name: "full", Params: P{Heads: 4, KVHeads: 2, UseMask: true},
			In: []op.Tensor{q, k, v, random(4, 2, 4, 3, 5)}},
		optest.Case{Name: "heads and sequences", Params: P{Heads: 4, KVHeads: 2, UseMask: true,
			Causal: true}, In: []op.Tensor{q, k, v, random(4, 3, 5)}},
		optest.Case{Name: "queries", Params: P{Heads: 2, KVHeads: 1, UseMask: true,
			UseLength: true}, In: []op.Tensor{q, k, v, random(4, 2, 1, 1, 5),
			op.TensorOf([]int32{4, 1})}, Const: []int{4}},
		optest.Case{Name: "keys", Params: P{Heads: 4, KVHeads: 2, UseMask: true},
			In: []op.Tensor{q, k, v, random(4, 4, 3, 1)}},
		optest.Case{Name: "number", Params: P{Heads: 4, KVHeads: 2, UseMask: true},
			In: []op.Tensor{q, k, v, random(4, 1)}},
		optest.Case{Name: "infinite", Params: P{Heads: 4, KVHeads: 2, UseMask: true},
			In: []op.Tensor{q, k, v, none}, Const: []int{3}},
		optest.Case{Name: "booleans", Params: P{Heads: 4, KVHeads: 2, UseMask: true},
			In: []op.Tensor{q, k, v, may}, Const: []int{3}},
		optest.Case{Name: "blocks of all", Params: P{Heads: 4, KVHeads: 2, UseMask: true},
			In: append(wide[:3:3], random(4, 2, 4, 130, 150)), NoDiff: true, Tol: tol},
		optest.Case{Name: "blocks", Params: P{Heads: 4, KVHeads: 2, UseMask: true, Causal: true,
			Dropout: 0.3}, In: append(wide[:3:3], random(4, 4, 130, 150)), NoDiff: true,
			Train: true, Tol: tol},
		optest.Case{Name: "blocks of keys", Params: P{Heads: 4, KVHeads: 2, UseMask: true},
			In: append(wide[:3:3], random(4, 2, 1, 1, 150)), NoDiff: true, Tol: tol},
		optest.Case{Name: "blocks of queries", Params: P{Heads: 4, KVHeads: 2, UseMask: true},
			In: append(wide[:3:3], random(4, 130, 1)), NoDiff: true, Tol: tol},
	)
}

func TestAttentionDropsWeights(t *testing.T) {
	type P = nn.ScaledAttentionParams
	q, k, v := random(1, 2, 3, 8), random(2, 2, 5, 4), random(3, 2, 5, 4)
	in, seed := []op.Tensor{q, k, v}, op.Seed{Key: 3, Counter: 1 << 40}
	optest.Run(t, nn.Attention.Op,
		optest.Case{Name: "some", Params: P{Heads: 4, KVHeads: 2, Dropout: 0.4}, In: in, Seed: seed,
			Train: true},
		optest.Case{Name: "masked", Params: P{Heads: 2, KVHeads: 1, Dropout: 0.6, UseMask: true,
			Causal: true}, In: append(in[:3:3], random(4, 3, 5)), Seed: seed, Train: true},
		optest.Case{Name: "none in inference", Params: P{Heads: 4, KVHeads: 2, Dropout: 0.4},
			In: in, Seed: seed},
		optest.Case{Name: "all", Params: P{Heads: 4, KVHeads: 2, Dropout: 1}, In: in, Seed: seed,
			Train: true, Want: []op.Tensor{optest.New(dtype.Float32, 2, 3, 8)}},
		optest.Case{Name: "blocks", Params: P{Heads: 2, Dropout: 0.1, Causal: true}, NoDiff: true,
			In:   []op.Tensor{random(1, 1, 300, 70), random(2, 1, 300, 70), random(3, 1, 300, 70)},
			Seed: seed, Train: true, Tol: optest.Tolerance{Abs: 1e-4, Rel: 1e-4}},
	)
}

// Attention drops the weights that Dropout drops from the array of all weights.
func TestAttentionDropsAsDropout(t *testing.T) {
	q, k, v := random(1, 3, 5, 4), random(2, 3, 7, 4), random(3, 3, 7, 4)
	f, scale, seed := feeds{}, op.Some(0.5), op.Seed{Key: 9, Counter: 77}
	s := prim.BatchDot.Apply(prim.DotParams{TransposeB: true}, f.add(q), f.add(k))
	w := prim.Softmax.Apply(prim.SoftmaxParams{},
		prim.MulScalar.Apply(prim.ScalarParams{Scalar: 0.5}, s))
	w = nn.Dropout.Apply(nn.DropoutParams{P: op.Some(0.4)}, w)
	r := optest.Runner{Train: true, Seed: seed}
	want, err := r.Eval([]op.Entry{prim.BatchDot.Apply(prim.DotParams{}, w, f.add(v))}, f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Apply(nn.Attention.Op, nn.ScaledAttentionParams{Heads: 1, Scale: scale,
		Dropout: 0.4}, []op.Tensor{q, k, v})
	if err != nil {
		t.Fatal(err)
	}
	if d := optest.Diff(got[0], want[0], optest.Tolerance{}); d != "" {
		t.Error(d)
	}
}

// With equal keys and values of one, the output is the share of the weights that are kept, divided
// by the expected share. Its mean is 1, and its deviations are as wide as independent drops make them.
func TestAttentionDropsTheShare(t *testing.T) {
	const n, keys, drop = 400, 250, 0.2
	q, k, v := random(1, 1, n, 2), optest.New(dtype.Float32, 1, keys, 2),
		optest.Array(dtype.Float32, []int{1, keys, 2}, 1)
	for _, tier := range []device.Tier{device.TierRef, device.TierC} {
		out, err := optest.Runner{Train: true, Tier: tier, Seed: op.Seed{Key: 5}}.Apply(
			nn.Attention.Op, nn.ScaledAttentionParams{Heads: 2, Dropout: drop},
			[]op.Tensor{q, k, v})
		if err != nil {
			t.Fatal(err)
		}
		mean, square := 0.0, 0.0
		y := op.Slice[float32](out[0])
		for _, x := range y {
			mean += float64(x) / float64(len(y))
			square += (float64(x) - 1) * (float64(x) - 1) / float64(len(y))
		}
		want := drop / (1 - drop) / keys
		if math.Abs(mean-1) > 0.005 || math.Abs(square/want-1) > 0.2 {
			t.Errorf("tier %v: mean %v, want 1; variance %v, want %v", tier, mean, square, want)
		}
	}
}

// Few queries go over the keys as they lie, in parts of 512 keys.
func TestAttentionOfFewQueries(t *testing.T) {
	type P = nn.ScaledAttentionParams
	q, k, v := random(1, 2, 1, 6*35), random(2, 2, 1300, 3*35), random(3, 2, 1300, 3*35)
	tol := optest.Tolerance{Abs: 1e-4, Rel: 1e-4}
	far := op.TensorOf([]int32{1299, 600})
	optest.Run(t, nn.Attention.Op,
		optest.Case{Name: "one", Params: P{Heads: 6, KVHeads: 3}, In: []op.Tensor{q, k, v},
			NoDiff: true, Tol: tol},
		optest.Case{Name: "positions", Params: P{Heads: 6, KVHeads: 3, Causal: true,
			UsePosition: true}, In: []op.Tensor{q, k, v, far}, NoDiff: true, Tol: tol},
		optest.Case{Name: "four", Params: P{Heads: 6, KVHeads: 3, Causal: true, UseMask: true,
			UseLength: true, UsePosition: true, Dropout: 0.2}, NoDiff: true, Tol: tol, Train: true,
			In: []op.Tensor{random(1, 2, 4, 6*35), k, v, random(4, 6, 1, 1300),
				op.TensorOf([]int32{1250, 0}), far}},
	)
}

func TestCacheWrite(t *testing.T) {
	cache, data := optest.Range(2, 3, 2), optest.F([]int{2, 1, 2}, -1, -2, -3, -4)
	after := optest.F([]int{2, 3, 2}, 0, 1, -1, -2, 4, 5, -3, -4, 8, 9, 10, 11)
	optest.Run(t, nn.CacheWrite.Op, optest.Case{In: []op.Tensor{cache, data,
		op.TensorOf([]int32{1, 0})}, Want: []op.Tensor{after}, After: []op.Tensor{after}})
	for _, at := range []int64{-1, 3} {
		_, err := optest.Runner{}.Apply(nn.CacheWrite.Op, op.NoParams{}, []op.Tensor{cache, data,
			op.TensorOf([]int64{0, at})})
		want := fmt.Sprintf("position: %d of sequence 1, want one from 0 to 2: 1 steps for a cache "+
			"of 3", at)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("position %d: error %v, want %q", at, err, want)
		}
	}
	runInfer(t, []inferCase{
		{name: "back", op: nn.CacheWrite.Op, in: []dtype.Shape{nil, {-1, 2, 8}, {4}},
			out: []dtype.Shape{{-1, 9, -1}}, wantIn: []dtype.Shape{{4, 9, 8}, {4, 2, 8}, {4}},
			wantOut: []dtype.Shape{{4, 9, 8}}},
		{name: "room", op: nn.CacheWrite.Op, in: []dtype.Shape{{1, 2, 8}, {1, 3, 8}, nil},
			out: []dtype.Shape{nil}, err: "data: 3 steps for a cache of 2"},
	})
}

func TestAttentionInfersShapes(t *testing.T) {
	q, k := dtype.Shape{2, 3, 8}, dtype.Shape{2, 5, 8}
	runInfer(t, []inferCase{
		{name: "seed", op: nn.Attention.Op, attrs: "heads=2 dropout=0.5",
			in: []dtype.Shape{q, k, nil}, out: []dtype.Shape{nil, nil, nil},
			wantIn: []dtype.Shape{q, k, k}, wantOut: []dtype.Shape{q, {2, 2, 3}, {2}}},
		{name: "mask", op: nn.Attention.Op, attrs: "heads=2 use_mask=True",
			in: []dtype.Shape{q, k, nil, {2, 3, 4}}, out: []dtype.Shape{nil, nil},
			err: "mask: shape (2, 3, 4), want one that broadcasts to (batch, heads, n, keys) = " +
				"(2, 2, 3, 5)"},
	})
}

func TestAttentionEqualsItsComposition(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 10 {
		batch, n, keys, size := 1+rng.IntN(3), 1+rng.IntN(200), 1+rng.IntN(300), 1+rng.IntN(100)
		q, k, v := random(rng.Uint64(), batch, n, size), random(rng.Uint64(), batch, keys, size),
			random(rng.Uint64(), batch, keys, size)
		f := feeds{}
		y, err := optest.Eval([]op.Entry{attentionOf(f.add(q), f.add(k), f.add(v), 0.5)}, f)
		if err != nil {
			t.Fatal(err)
		}
		p := nn.ScaledAttentionParams{Heads: 1, Scale: op.Some(0.5)}
		for _, tier := range []optest.Runner{{}, {Tier: 2}} {
			got, err := tier.Apply(nn.Attention.Op, p, []op.Tensor{q, k, v})
			if err != nil {
				t.Fatal(err)
			}
			if d := optest.Diff(got[0], y[0], optest.Tolerance{Abs: 1e-5, Rel: 1e-4}); d != "" {
				t.Errorf("tier %v: %d queries, %d keys of %d: %s", tier.Tier, n, keys, size, d)
			}
		}
	}
}

// Results and gradients have the same bits for any number of threads.
func TestAttentionDoesNotDependOnThreads(t *testing.T) {
	for _, n := range []int{130, 3} {
		t.Run(fmt.Sprintf("%d queries", n), func(t *testing.T) { sameForThreads(t, n) })
	}
}

func sameForThreads(t *testing.T, n int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := nn.ScaledAttentionParams{Heads: 4, KVHeads: 2, Causal: true, UseMask: true, Dropout: 0.1}
	mask := random(seed+3, 4, n, 1150)
	q, k := random(seed, 2, n, 4*40), random(seed+1, 2, 1150, 2*40)
	v := random(seed+2, 2, 1150, 2*40)
	grad := op.Lookup("_backward_Attention")
	var first []op.Tensor
	for _, threads := range []int{1, 2, 5} {
		out := []op.Tensor{optest.New(q.DType, q.Shape...), optest.New(q.DType, 2, 4, n),
			optest.New(dtype.Int64, 2)}
		runOn(t, nn.Attention.Op, p, threads, []op.Tensor{q, k, v, mask}, out)
		back := []op.Tensor{optest.New(q.DType, q.Shape...), optest.New(q.DType, k.Shape...),
			optest.New(q.DType, k.Shape...), optest.New(q.DType, mask.Shape...)}
		runOn(t, grad, p, threads, []op.Tensor{q, out[0], out[1], out[2], q, k, v, mask}, back)
		all := append(out, back...)
		if first == nil {
			first = all
		}
		for i, x := range all {
			if d := optest.Diff(x, first[i], optest.Tolerance{Abs: 0, Rel: 1e-300}); d != "" {
				t.Errorf("%d threads, array %d: %s", threads, i, d)
			}
		}
	}
	ref := optest.Runner{Train: true}
	want, err := ref.Apply(grad, p, []op.Tensor{q, first[0], first[1], first[2], q, k, v, mask})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if d := optest.Diff(first[3+i], w, optest.Tolerance{Abs: 1e-4, Rel: 1e-4}); d != "" {
			t.Errorf("gradient %d: %s", i, d)
		}
	}
}

// Bfloat16 has kernels of its own without masks of numbers: the reference is within half a unit in the
// last place, because sums are float32.
func TestAttentionOfBFloat16(t *testing.T) {
	type P = nn.ScaledAttentionParams
	narrow := func(seed uint64, shape ...int) op.Tensor {
		x := optest.New(dtype.BFloat16, shape...)
		loop.Store(x, 0, loop.Floats(random(seed, shape...)))
		return x
	}
	k, v := narrow(2, 2, 1700, 2*35), narrow(3, 2, 1700, 2*35)
	may := optest.New(dtype.Bool, 1700)
	for i := range op.Slice[bool](may) {
		op.Slice[bool](may)[i] = i%3 != 1
	}
	for _, n := range []int{1, 2, 130} {
		for name, c := range map[string]struct {
			p    P
			more []op.Tensor
		}{
			"plain": {P{Heads: 4, KVHeads: 2}, nil},
			"lengths": {P{Heads: 4, KVHeads: 2, UseLength: true},
				[]op.Tensor{op.TensorOf([]int32{650, 0})}},
			"dropped": {P{Heads: 4, KVHeads: 2, Causal: true, Dropout: 0.2, UseMask: true},
				[]op.Tensor{may}},
		} {
			in := append([]op.Tensor{narrow(1, 2, n, 4*35), k, v}, c.more...)
			r := optest.Runner{Train: true, Seed: op.Seed{Key: 4}}
			want, err := r.Apply(nn.Attention.Op, c.p, in)
			if err != nil {
				t.Fatal(err)
			}
			r.Tier = device.TierC
			got, err := r.Apply(nn.Attention.Op, c.p, in)
			if err != nil {
				t.Fatal(err)
			}
			if bytes := scratchOf(t, c.p, in, got); bytes >= 2*k.Bytes {
				t.Errorf("%s of %d queries: %d bytes of scratch memory, want less than keys and "+
					"values in float32", name, n, bytes)
			}
			for i, tol := range []optest.Tolerance{{Abs: 1e-4, Rel: 1. / 128},
				{Abs: 1e-4, Rel: 1e-5}} {
				if d := optest.Diff(got[i], want[i], tol); d != "" {
					t.Errorf("%s of %d queries: output %d: %s", name, n, i, d)
				}
			}
		}
	}
}

// scratchOf returns the bytes of scratch memory of the fastest kernel; none if there is no kernel in C.
func scratchOf(t *testing.T, p any, in, out []op.Tensor) int {
	t.Helper()
	a := &op.Args{Train: true, Threads: 1}
	for _, x := range in {
		a.In = append(a.In, x.Desc)
	}
	for _, x := range out {
		a.Out = append(a.Out, x.Desc)
	}
	k, err := nn.Attention.Prepare(device.CPU(), device.TierC, p, a)
	if err != nil {
		t.Fatal(err)
	}
	return k.Scratch
}

// At length 8,192, attention needs at most 4 MiB for each head besides its operands and results, in
// either direction; the matrix of weights would need 256 MiB.
func TestAttentionNeedsLittleMemory(t *testing.T) {
	const length, size, most = 8192, 64, 4 << 20
	for _, heads := range []int{1, 12} {
		x, lse := op.Plain(dtype.Float32, dtype.Shape{1, length, heads * size}),
			op.Plain(dtype.Float32, dtype.Shape{1, heads, length})
		mask, seed := op.Plain(dtype.Float32, dtype.Shape{1, length}),
			op.Plain(dtype.Int64, dtype.Shape{2})
		p := nn.ScaledAttentionParams{Heads: heads, Causal: true, UseMask: true, Dropout: 0.1}
		for name, c := range map[string]struct{ in, out, hidden []op.Desc }{
			"Attention": {[]op.Desc{x, x, x, mask}, []op.Desc{x, lse, seed}, []op.Desc{lse, seed}},
			"_backward_Attention": {[]op.Desc{x, x, lse, seed, x, x, x, mask},
				[]op.Desc{x, x, x, mask}, nil},
		} {
			o := op.Lookup(name)
			a := &op.Args{In: c.in, Out: c.out, Train: true, Threads: 4 * heads}
			if !o.Serves(device.CPU(), device.TierC, p, a) {
				t.Skip("there are no kernels in C")
			}
			k, err := o.Prepare(device.CPU(), device.TierC, p, a)
			if err != nil {
				t.Fatal(err)
			}
			bytes := k.Scratch
			for _, d := range c.hidden {
				bytes += d.Bytes
			}
			t.Logf("%s, %d heads, %d threads: %d KiB", name, heads, k.Threads, bytes>>10)
			if bytes > heads*most {
				t.Errorf("%s: %d heads need %d bytes, want at most %d", name, heads, bytes,
					heads*most)
			}
		}
	}
}

// runOn runs the fastest kernel on the given number of threads.
func runOn(t *testing.T, o *op.Op, p any, threads int, in, out []op.Tensor) {
	t.Helper()
	a := &op.Args{Threads: threads, Train: true}
	for _, x := range in {
		a.In = append(a.In, x.Desc)
	}
	for _, x := range out {
		a.Out = append(a.Out, x.Desc)
	}
	k, err := o.Prepare(device.CPU(), device.TierC, p, a)
	if err != nil {
		t.Fatal(err)
	}
	c := &op.Call{In: in, Out: out, Train: true}
	if k.Scratch > 0 {
		words := make([]uint64, k.Scratch/8+8)
		at := -uintptr(unsafe.Pointer(&words[0])) & 63
		c.Scratch = unsafe.Add(unsafe.Pointer(&words[0]), at)
	}
	if err := k.Run(c); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkDecode runs one step of decoding against a cache: 32 heads of 128, with 8 of keys and
// values. The bytes are those of the cache.
func BenchmarkDecode(b *testing.B) {
	for _, keys := range []int{1024, 8192} {
		q, k := random(1, 1, 1, 32*128), random(2, 1, keys, 8*128)
		p := nn.ScaledAttentionParams{Heads: 32, KVHeads: 8}
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			b.SetBytes(int64(2 * k.Bytes))
			run := optest.Runner{Tier: device.TierC}
			for b.Loop() {
				if _, err := run.Apply(nn.Attention.Op, p, []op.Tensor{q, k, k}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAttention runs the shapes of BERT-base: 12 heads of 64.
func BenchmarkAttention(b *testing.B) {
	for _, s := range [][2]int{{1, 128}, {8, 128}, {1, 512}, {8, 512}} {
		q := random(1, s[0], s[1], 12*64)
		p := nn.ScaledAttentionParams{Heads: 12}
		b.Run(fmt.Sprintf("fused/%dx%d", s[0], s[1]), func(b *testing.B) {
			run := optest.Runner{Tier: device.TierC}
			for b.Loop() {
				if _, err := run.Apply(nn.Attention.Op, p, []op.Tensor{q, q, q}); err != nil {
					b.Fatal(err)
				}
			}
		})
		heads := random(1, s[0]*12, s[1], 64)
		b.Run(fmt.Sprintf("composition/%dx%d", s[0], s[1]), func(b *testing.B) {
			run := optest.Runner{Tier: device.TierC}
			for b.Loop() {
				w, err := run.Apply(prim.BatchDot.Op, prim.DotParams{TransposeB: true},
					[]op.Tensor{heads, heads})
				if err == nil {
					w, err = run.Apply(prim.Softmax.Op, prim.SoftmaxParams{}, w)
				}
				if err == nil {
					_, err = run.Apply(prim.BatchDot.Op, prim.DotParams{}, []op.Tensor{w[0], heads})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAttentionDraws(t *testing.T) {
	if !nn.Attention.Random {
		t.Error("Attention gets no random numbers")
	}
	for _, drop := range []float64{0, 0.1} {
		p := nn.ScaledAttentionParams{Heads: 1, Dropout: drop}
		x := op.Var("x").Entry(0)
		if got := nn.Attention.Node(p, x, x, x).Draws(); got != (drop > 0) {
			t.Errorf("dropout %v: draws is %v", drop, got)
		}
	}
}
