package symbol_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/graph"
	"gomx/internal/optest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// randomNet grows a graph of unary, binary, dense and shape operators over (4, 6) values.
func randomNet(rng *rand.Rand, size int) *sym.Symbol {
	values := []*sym.Symbol{sym.Var("data"), sym.Var("w0"), sym.Var("w1")}
	pick := func() *sym.Symbol { return values[rng.IntN(len(values))] }
	for i := range size {
		var v *sym.Symbol
		switch rng.IntN(8) {
		case 0:
			v = sym.Activation(pick(), sym.ActivationParams{ActType: "tanh"})
		case 1:
			v = sym.Sigmoid(pick())
		case 2:
			v = sym.ElemwiseAdd(pick(), pick())
		case 3:
			v = sym.ElemwiseMul(pick(), pick())
		case 4:
			v = sym.FullyConnected(pick(), sym.FullyConnectedParams{NumHidden: 6}, sym.Name(fmt.Sprintf("fc%d", i)))
		case 5:
			r := sym.Reshape(pick(), sym.ReshapeParams{Shape: []int{6, 4}})
			v = sym.Reshape(sym.Sigmoid(r), sym.ReshapeParams{Shape: []int{4, 6}})
		case 6:
			both := sym.Concat([]*sym.Symbol{pick(), pick()}, sym.ConcatParams{Dim: sym.Some(1)})
			v = sym.FullyConnected(both, sym.FullyConnectedParams{NumHidden: 6, NoBias: true}, sym.Name(fmt.Sprintf("fc%d", i)))
		case 7:
			parts := sym.SliceChannel(pick(), sym.SliceChannelParams{NumOutputs: 2})
			v = sym.Concat([]*sym.Symbol{parts.At(1), parts.At(0)}, sym.ConcatParams{Dim: sym.Some(1)})
		}
		values = append(values, v)
	}
	last := values[len(values)-1]
	return sym.Group(last, sym.Sum(sym.Square(pick()), sym.ReduceParams{}), last)
}

// TestExecutorAgreesWithInterpreter runs random graphs with shared, in-place memory and segments
// on the engine against an interpreter that gives every value memory of its own.
func TestExecutorAgreesWithInterpreter(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := randomNet(rng, 3+rng.IntN(20))
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { checkRandomNet(t, rng, s) })
	}
}

func checkRandomNet(t *testing.T, rng *rand.Rand, s *sym.Symbol) {
	shapes := map[string]dtype.Shape{}
	for _, name := range s.Arguments() {
		if name == "data" || name == "w0" || name == "w1" {
			shapes[name] = dtype.Shape{4, 6}
		}
	}
	reqs := map[string]op.Req{}
	for _, name := range s.Arguments() {
		reqs[name] = []op.Req{op.ReqWrite, op.ReqWrite, op.ReqAdd, op.ReqNull}[rng.IntN(4)]
	}
	ex, err := s.SimpleBind(sym.BindConfig{Shapes: shapes, GradReq: reqs})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float32{} // accumulated gradients
	for name, g := range ex.Grads {
		want[name] = make([]float32, g.Size())
	}
	for range 3 {
		for _, name := range s.Arguments() {
			fillRandom(t, rng, ex.Args[name])
		}
		if err := ex.Forward(false); err != nil {
			t.Fatal(err)
		}
		inference := snapshots(t, ex.Outputs())
		if err := ex.Forward(true); err != nil {
			t.Fatal(err)
		}
		if len(ex.Grads) > 0 {
			if err := ex.Backward(); err != nil {
				t.Fatal(err)
			}
		}
		outs, grads := interpret(t, s, ex)
		for i := range outs {
			compare(t, "inference output", inference[i], outs[i])
			compare(t, "output", values(t, ex.Outputs()[i]), outs[i])
		}
		for name, g := range grads {
			for k, v := range g {
				if reqs[name] == op.ReqAdd {
					v += want[name][k]
				}
				want[name][k] = v
			}
		}
		for name, g := range ex.Grads {
			compare(t, "gradient of "+name, values(t, g), want[name])
		}
	}
}

// interpret computes outputs and gradients with reference kernels, every value in its own memory.
func interpret(t *testing.T, s *sym.Symbol, ex *sym.Executor) (outs [][]float32, grads map[string][]float32) {
	t.Helper()
	feeds := map[*op.Node]op.Tensor{}
	var wrt []op.Entry
	for _, n := range s.Nodes() {
		if n.IsVar() {
			a := ex.Args[n.Name]
			feeds[n] = op.TensorOf(values(t, a), a.Shape()...)
			if ex.Grads[n.Name] != nil {
				wrt = append(wrt, n.Entry(0))
			}
		}
	}
	entries, err := graph.Gradient(s.Entries(), nil, wrt)
	if err != nil {
		t.Fatal(err)
	}
	all := append([]op.Entry{}, s.Entries()...)
	for _, e := range entries {
		if e.Valid() {
			all = append(all, e)
		}
	}
	res, err := optest.Runner{Train: true}.Eval(all, feeds)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Entries() {
		outs = append(outs, op.Slice[float32](res[i]))
	}
	grads = map[string][]float32{}
	at := s.Len()
	for i, e := range entries {
		if e.Valid() {
			grads[wrt[i].Node.Name] = op.Slice[float32](res[at])
			at++
		}
	}
	return outs, grads
}

func fillRandom(t *testing.T, rng *rand.Rand, a *nd.Array) {
	t.Helper()
	v := make([]float32, a.Size())
	for i := range v {
		v[i] = rng.Float32()*2 - 1
	}
	if err := nd.CopyFrom(a, v); err != nil {
		t.Fatal(err)
	}
}

func values(t *testing.T, a *nd.Array) []float32 {
	t.Helper()
	v, err := a.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func snapshots(t *testing.T, list []*nd.Array) [][]float32 {
	t.Helper()
	var s [][]float32
	for _, a := range list {
		s = append(s, values(t, a))
	}
	return s
}

// compare demands equality up to the rounding of different kernels.
func compare(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := float64(got[i] - want[i]); d*d > 1e-8*(1+float64(want[i])*float64(want[i])) {
			t.Fatalf("%s: got %v at %d, want %v", what, got[i], i, want[i])
		}
	}
}
