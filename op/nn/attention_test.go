package nn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gomx/device"
	"gomx/internal/optest"
	"gomx/op"
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
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := nn.ScaledAttentionParams{Heads: 4, KVHeads: 2, Causal: true}
	q, k, v := random(seed, 2, 130, 4*40), random(seed+1, 2, 150, 2*40), random(seed+2, 2, 150, 2*40)
	grad := op.Lookup("_backward_Attention")
	var first []op.Tensor
	for _, threads := range []int{1, 2, 5} {
		out := []op.Tensor{optest.New(q.DType, q.Shape...), optest.New(q.DType, 2, 4, 130)}
		runOn(t, nn.Attention.Op, p, threads, []op.Tensor{q, k, v}, out)
		back := []op.Tensor{optest.New(q.DType, q.Shape...), optest.New(q.DType, k.Shape...),
			optest.New(q.DType, k.Shape...)}
		runOn(t, grad, p, threads, []op.Tensor{q, out[0], out[1], q, k, v}, back)
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
	ref := optest.Runner{}
	want, err := ref.Apply(grad, p, []op.Tensor{q, first[0], first[1], q, k, v})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if d := optest.Diff(first[2+i], w, optest.Tolerance{Abs: 1e-4, Rel: 1e-4}); d != "" {
			t.Errorf("gradient %d: %s", i, d)
		}
	}
}

// runOn runs the fastest kernel on the given number of threads.
func runOn(t *testing.T, o *op.Op, p any, threads int, in, out []op.Tensor) {
	t.Helper()
	a := &op.Args{Threads: threads}
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
	c := &op.Call{In: in, Out: out}
	if k.Scratch > 0 {
		words := make([]uint64, k.Scratch/8+8)
		at := -uintptr(unsafe.Pointer(&words[0])) & 63
		c.Scratch = unsafe.Add(unsafe.Pointer(&words[0]), at)
	}
	if err := k.Run(c); err != nil {
		t.Fatal(err)
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
