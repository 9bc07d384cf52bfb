package export_test

import (
	"fmt"
	"os"
	"testing"

	"gomx/internal/conformance"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// controlCase is a graph with loops or choices among MXNet's golden data.
type controlCase struct {
	ID, Symbol, File string
	Inputs           []conformance.Ref
}

// controlModels reads the graphs with loops and choices, by name.
func controlModels(t *testing.T) map[string]*model {
	t.Helper()
	g, err := conformance.Open(*goldenDir)
	if err != nil {
		t.Skip("no golden data")
	}
	defer g.Close()
	var index struct{ Cases []controlCase }
	if err := g.Part("control/cases.json", &index); err != nil {
		t.Fatal(err)
	}
	list := map[string]*model{}
	for _, c := range index.Cases {
		data, err := os.ReadFile(g.Path("control/" + c.Symbol))
		if err != nil {
			t.Fatal(err)
		}
		m := &model{inputs: map[string]*nd.Array{}}
		if m.Symbol, err = sym.Load(data); err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Inputs {
			a, err := g.Array("control/"+c.File, r)
			if err != nil {
				t.Fatal(err)
			}
			x := nd.Empty(a.Shape, nd.As(a.DType))
			if err := x.WriteBytes(a.Data); err != nil {
				t.Fatal(err)
			}
			m.inputs[r.Name] = x
		}
		list[c.ID] = m
	}
	if len(list) < 10 {
		t.Fatalf("%d graphs, want at least 10", len(list))
	}
	return list
}

// countedLoop is a loop without rows, which ends by its condition: x doubles below 50.
func countedLoop() *model {
	_, states := sym.WhileLoop(
		func(vars []*sym.Symbol) *sym.Symbol {
			return sym.LesserScalar(sym.Sum(vars[0], sym.ReduceParams{}), sym.ScalarParams{Scalar: 50})
		},
		func(vars []*sym.Symbol) (outs, next []*sym.Symbol) {
			return nil, []*sym.Symbol{sym.MulScalar(vars[0], sym.ScalarParams{Scalar: 2})}
		}, []*sym.Symbol{sym.Var("x")}, 20)
	m := &model{inputs: map[string]*nd.Array{"x": nd.FromSlice([]float32{1, 2, 3})}}
	m.Symbol = states[0]
	return m
}

// TestControl exports loops and choices, and imports them again.
func TestControl(t *testing.T) {
	list := controlModels(t)
	list["counted"] = countedLoop()
	for name, m := range list {
		t.Run(name, func(t *testing.T) {
			file, err := m.exported()
			if err != nil {
				t.Fatal(err)
			}
			want, err := m.run()
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.imported(file)
			if err == nil {
				err = compare(got, want, tolerance{1e-6, 1e-6})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestControlRuntime runs them with ONNX Runtime.
func TestControlRuntime(t *testing.T) {
	r := newRuntime(t)
	list := controlModels(t)
	list["counted"] = countedLoop()
	var names []string
	for name, m := range list {
		file, err := m.exported()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := r.add(m, file); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	r.run(t)
	for i, name := range names {
		want, err := list[name].run()
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.outputs(i)
		if err == nil {
			err = compare(got, want, tolerance{1e-5, 1e-5})
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	fmt.Printf("TestControlRuntime: %d loops and choices\n", len(names))
}
