package exec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gomx/dtype"
	"gomx/graph"
	"gomx/internal/nettest"
	"gomx/internal/optest"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// TestExecutorAgreesWithInterpreter runs random graphs with shared, in-place memory and segments
// on the engine against an interpreter that gives every value memory of its own.
func TestExecutorAgreesWithInterpreter(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := nettest.RandomNet(rng, 3+rng.IntN(20))
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
			nettest.FillRandom(t, rng, ex.Args[name])
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
			nettest.Compare(t, "inference output", inference[i], outs[i])
			nettest.Compare(t, "output", nettest.Values(t, ex.Outputs()[i]), outs[i])
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
			nettest.Compare(t, "gradient of "+name, nettest.Values(t, g), want[name])
		}
	}
}

// interpret computes outputs and gradients with reference kernels, every value in its own memory.
func interpret(t *testing.T, s *sym.Symbol, ex *sym.Executor) (outs [][]float32,
	grads map[string][]float32) {
	t.Helper()
	feeds := map[*op.Node]op.Tensor{}
	var wrt []op.Entry
	for _, n := range s.Nodes() {
		if n.IsVar() {
			a := ex.Args[n.Name]
			feeds[n] = op.TensorOf(nettest.Values(t, a), a.Shape()...)
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

func snapshots(t *testing.T, list []*nd.Array) [][]float32 {
	t.Helper()
	var s [][]float32
	for _, a := range list {
		s = append(s, nettest.Values(t, a))
	}
	return s
}
