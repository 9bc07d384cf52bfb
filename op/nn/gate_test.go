package nn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// feeds are variables with the operands that they stand for.
type feeds map[*op.Node]op.Tensor

func (f feeds) add(t op.Tensor) op.Entry {
	n := op.Var(fmt.Sprintf("x%d", len(f)))
	f[n] = t
	return n.Entry(0)
}

// compareWith computes an operator with the kernels of every tier, and compares output 0 with the
// result of a graph of reference kernels.
func compareWith(t *testing.T, o *op.Op, p any, in []op.Tensor, f feeds, want op.Entry) {
	t.Helper()
	list, err := optest.Eval([]op.Entry{want}, f)
	if err != nil {
		t.Fatal(err)
	}
	optest.Run(t, o, optest.Case{Params: p, In: in, Want: list, NoDiff: true})
}

func TestRMSNorm(t *testing.T) {
	type P = nn.RMSNormParams
	optest.Run(t, nn.RMSNorm.Op,
		optest.Case{Name: "values", Params: P{Eps: op.Some(0.0)}, In: []op.Tensor{
			values(dtype.Shape{2, 2}, 1, 7, -6, 8), vec(2, 10)},
			Want: []op.Tensor{values(dtype.Shape{2, 2}, .4, 14, -1.6971, 11.3137),
				values(dtype.Shape{2, 1}, 5, 7.0710678)}, Tol: optest.Tolerance{Rel: 1e-4}},
		optest.Case{Name: "differences", Params: P{Eps: op.Some(.1)},
			In: []op.Tensor{random(1, 3, 2, 5), random(2, 5)}},
		optest.Case{Name: "wide", Params: P{}, In: []op.Tensor{random(1, 3, 9000), random(2, 9000)},
			NoDiff: true},
		optest.Case{Name: "one", Params: P{Eps: op.Some(.1)}, In: []op.Tensor{random(1, 4, 1),
			random(2, 1)}},
	)
}

func TestRMSNormEqualsItsComposition(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		rows, n := 1+rng.IntN(70), 1+rng.IntN(200)
		x, gamma, f := random(rng.Uint64(), rows, n), random(rng.Uint64(), n), feeds{}
		a, g := f.add(x), f.add(gamma)
		mean := prim.Mean.Apply(prim.ReduceParams{Axis: []int{-1}, KeepDims: true},
			prim.Square.Apply(op.NoParams{}, a))
		inv := prim.Rsqrt.Apply(op.NoParams{}, prim.PlusScalar.Apply(prim.ScalarParams{
			Scalar: 1e-5}, mean))
		y := prim.BroadcastMul.Apply(op.NoParams{}, prim.BroadcastMul.Apply(op.NoParams{}, a, inv),
			g)
		compareWith(t, nn.RMSNorm.Op, nn.RMSNormParams{}, []op.Tensor{x, gamma}, f, y)
	}
}

func TestSwiGLU(t *testing.T) {
	type P = nn.SwiGLUParams
	optest.Run(t, nn.SwiGLU.Op,
		optest.Case{Name: "values", Params: P{}, In: []op.Tensor{values(dtype.Shape{2, 2}, 0, 5, 2,
			3)}, Want: []op.Tensor{values(dtype.Shape{2, 1}, 0, 5.284782)}},
		optest.Case{Name: "halves", Params: P{}, In: []op.Tensor{random(1, 2, 3, 8)}},
		optest.Case{Name: "separate", Params: P{Separate: true}, In: []op.Tensor{random(1, 3, 5),
			random(2, 3, 5)}},
		optest.Case{Name: "wide", Params: P{}, In: []op.Tensor{random(1, 3, 5000)}, NoDiff: true},
	)
}

func TestSwiGLUEqualsItsComposition(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		rows, n := 1+rng.IntN(70), 1+rng.IntN(200)
		x, f := random(rng.Uint64(), rows, 2*n), feeds{}
		both := prim.SliceChannel.Node(prim.SliceChannelParams{NumOutputs: 2, Axis: op.Some(-1)},
			f.add(x))
		a := both.Entry(0)
		y := prim.ElemwiseMul.Apply(op.NoParams{}, prim.ElemwiseMul.Apply(op.NoParams{}, a,
			prim.Sigmoid.Apply(op.NoParams{}, a)), both.Entry(1))
		compareWith(t, nn.SwiGLU.Op, nn.SwiGLUParams{}, []op.Tensor{x}, f, y)
	}
}

func TestRotaryEmbedding(t *testing.T) {
	type P = nn.RotaryEmbeddingParams
	x := values(dtype.Shape{2, 4}, 1, 2, 3, 4, 1, 2, 3, 4)
	// by 0 and 0 at step 0, by 1 and 0.01 at step 1
	c, s, d, e := float32(0.5403023), float32(0.84147098), float32(0.99995), float32(0.0099998333)
	optest.Run(t, nn.RotaryEmbedding.Op,
		optest.Case{Name: "halves", Params: P{}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{2, 4}, 1, 2, 3, 4, c-3*s, 2*d-4*e, s+3*c,
				2*e+4*d)}},
		optest.Case{Name: "interleaved", Params: P{Interleaved: true}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{2, 4}, 1, 2, 3, 4, c-2*s, s+2*c, 3*d-4*e,
				3*e+4*d)}},
		optest.Case{Name: "heads", Params: P{Size: 2, Offset: 7, Base: op.Some(100.0)},
			In: []op.Tensor{random(1, 2, 3, 6)}},
		optest.Case{Name: "positions", Params: P{Size: 4, UsePosition: true, Offset: -2},
			In:    []op.Tensor{random(1, 3, 2, 2, 8), op.TensorOf([]int32{5, 0, 1 << 20})},
			Const: []int{1}},
		optest.Case{Name: "long", Params: P{Size: 6, Interleaved: true},
			In: []op.Tensor{random(1, 150, 18)}, NoDiff: true},
	)
}

// The product of a query and a key depends on the distance of their positions alone.
func TestRotaryEmbeddingKeepsDistances(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 10 {
		size, far := 2+2*rng.IntN(40), rng.IntN(3000)
		p := nn.RotaryEmbeddingParams{Interleaved: rng.IntN(2) == 0}
		x := random(rng.Uint64(), 1, size)
		scores := func(offset int) op.Tensor {
			f := feeds{}
			q, k := f.add(x), f.add(random(seed, 1, size))
			p.Offset = offset
			q = nn.RotaryEmbedding.Apply(p, q)
			p.Offset += far
			k = nn.RotaryEmbedding.Apply(p, k)
			y, err := optest.Eval([]op.Entry{prim.Dot.Apply(prim.DotParams{TransposeB: true}, q,
				k)}, f)
			if err != nil {
				t.Fatal(err)
			}
			return y[0]
		}
		if d := optest.Diff(scores(0), scores(1+rng.IntN(5000)), optest.Tolerance{Abs: 1e-4}); d != "" {
			t.Errorf("size %d, distance %d: %s", size, far, d)
		}
	}
}

func TestGatesInferShapes(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "forward", op: nn.RMSNorm.Op, in: []dtype.Shape{{5, 3}, nil},
			out: []dtype.Shape{nil, nil}, wantIn: []dtype.Shape{{5, 3}, {3}},
			wantOut: []dtype.Shape{{5, 3}, {5, 1}}},
		{name: "gamma", op: nn.RMSNorm.Op, in: []dtype.Shape{{5, 3}, {4}},
			out: []dtype.Shape{nil, nil}, err: "gamma: shape (4,), want (3,)"},
		{name: "back", op: nn.SwiGLU.Op, in: []dtype.Shape{nil}, out: []dtype.Shape{{5, 3}},
			wantIn: []dtype.Shape{{5, 6}}},
		{name: "odd", op: nn.SwiGLU.Op, in: []dtype.Shape{{5, 3}}, out: []dtype.Shape{nil},
			err: "want a last axis of even extent"},
		{name: "positions", op: nn.RotaryEmbedding.Op, attrs: "use_position=True size=4",
			in: []dtype.Shape{{2, 3, 8}, nil}, out: []dtype.Shape{nil},
			wantIn: []dtype.Shape{{2, 3, 8}, {2}}, wantOut: []dtype.Shape{{2, 3, 8}}},
		{name: "head", op: nn.RotaryEmbedding.Op, attrs: "size=4", in: []dtype.Shape{{2, 3, 6}},
			out: []dtype.Shape{nil}, err: "want a last axis of a multiple of 4"},
	})
}
