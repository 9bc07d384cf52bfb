package rnn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gomx/gluon"
	"gomx/gluon/rnn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// plain is a cell of a program's own without hooks.
type plain struct{ Scale float64 }

func (*plain) Declare() {}

func (*plain) States(n int) []nd.Shape { return nil }

func (p *plain) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	return x.MulScalar(p.Scale), states
}

// reader is a network that unrolls a cell.
type reader struct{ Cell rnn.Cell }

func (r *reader) Forward(x *nd.Array) *nd.Array {
	y, _ := rnn.Unroll(r.Cell, x)
	return y
}

func readerOf(t *testing.T, c rnn.Cell) *gluon.Net {
	t.Helper()
	net := gluon.New(&reader{c})
	if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		t.Fatal(err)
	}
	return net
}

// log adds hooks to all blocks of a network. The result collects their calls.
func logOf(t *testing.T, net *gluon.Net) *[]string {
	var log []string
	net.Apply(func(path string, block any) {
		h, ok := block.(gluon.Hookable)
		if !ok {
			return
		}
		h.BeforeForward(func(c *gluon.Call) {
			if c.Block != block || c.Out != nil {
				t.Errorf("%s: the call is of %T, %d outputs before it", path, c.Block, len(c.Out))
			}
		})
		h.OnForward(func(c *gluon.Call) {
			log = append(log, fmt.Sprint(path, " ", len(c.In), c.In[0].Shape(), " ",
				len(c.Out), c.Out[0].Shape()))
		})
	})
	return &log
}

// Cells that wrap others have hooks: by step where they step, and once where they read a sequence
// as a whole. The hooks of a cell run also where a sequence has a cell of its own.
func TestHooksOfWrappers(t *testing.T) {
	lstm := func() rnn.Cell { return &rnn.LSTMCell{Hidden: 3} }
	rnnCell := func() rnn.Cell { return &rnn.RNNCell{Hidden: 3} }
	for _, c := range []struct {
		name string
		cell rnn.Cell
		want []string
	}{
		{"zoneout", &rnn.Zoneout{Cell: rnnCell(), Outputs: 0.5}, []string{
			"cell.base_cell 2 (2, 3) 2 (2, 3)", "cell 2 (2, 3) 2 (2, 3)",
			"cell.base_cell 2 (2, 3) 2 (2, 3)", "cell 2 (2, 3) 2 (2, 3)"}},
		{"variational", &rnn.VariationalDropout{Cell: lstm(), Inputs: 0.5}, []string{
			"cell.base_cell 3 (2, 3) 3 (2, 3)", "cell 3 (2, 3) 3 (2, 3)",
			"cell.base_cell 3 (2, 3) 3 (2, 3)", "cell 3 (2, 3) 3 (2, 3)"}},
		{"residual", &rnn.Residual{Cell: rnnCell()}, []string{
			"cell.base_cell 2 (2, 3) 2 (2, 3)", "cell.base_cell 2 (2, 3) 2 (2, 3)",
			"cell 2 (2, 2, 3) 2 (2, 2, 3)"}},
		{"bidirectional", &rnn.Bidirectional{Left: rnnCell(), Right: rnnCell()}, []string{
			"cell.l_cell 2 (2, 3) 2 (2, 3)", "cell.l_cell 2 (2, 3) 2 (2, 3)",
			"cell.r_cell 2 (2, 3) 2 (2, 3)", "cell.r_cell 2 (2, 3) 2 (2, 3)",
			"cell 3 (2, 2, 3) 3 (2, 2, 6)"}},
		{"stack", &rnn.Hooked{Cell: rnn.Stack{rnnCell(), &rnn.Dropout{Rate: 0.5}}}, []string{
			"cell.0 2 (2, 3) 2 (2, 3)", "cell.0 2 (2, 3) 2 (2, 3)",
			"cell.1 1 (2, 3) 1 (2, 3)", "cell.1 1 (2, 3) 1 (2, 3)", "cell 2 (2, 2, 3) 2 (2, 2, 3)"}},
		{"foreign cell", &rnn.Hooked{Cell: &plain{2}}, []string{
			"cell 1 (2, 3) 1 (2, 3)", "cell 1 (2, 3) 1 (2, 3)"}},
		{"started", &rnn.Zoneout{Kept: 0.5, Cell: &rnn.Hooked{Cell: rnn.Stack{
			&rnn.Residual{Cell: rnnCell()}, &rnn.Zoneout{Cell: rnnCell()}}}},
			slices.Repeat([]string{"cell.base_cell.0.base_cell 2 (2, 3) 2 (2, 3)",
				"cell.base_cell.0 2 (2, 3) 2 (2, 3)",
				"cell.base_cell.1.base_cell 2 (2, 3) 2 (2, 3)",
				"cell.base_cell.1 2 (2, 3) 2 (2, 3)",
				"cell.base_cell 3 (2, 3) 3 (2, 3)", "cell 3 (2, 3) 3 (2, 3)"}, 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			net := readerOf(t, c.cell)
			log := logOf(t, net)
			x := nd.Ones(nd.Shape{2, 2, 3})
			net.Forward(x)
			if !slices.Equal(*log, c.want) {
				t.Errorf("calls\n%s\nwant\n%s", strings.Join(*log, "\n"),
					strings.Join(c.want, "\n"))
			}
			net.Hybridize() // hooks run when the network is traced
			net.Forward(x)
			net.Forward(x)
			if want := slices.Repeat(c.want, 2); !slices.Equal(*log, want) {
				t.Errorf("calls with the traced one\n%s\nwant\n%s", strings.Join(*log, "\n"),
					strings.Join(want, "\n"))
			}
		})
	}
}

// A step of Stack without Unroll calls the hooks of its cells, and Hooked its own.
func TestHooksOfSteps(t *testing.T) {
	stack := &rnn.Hooked{Cell: rnn.Stack{&rnn.Residual{Cell: &rnn.RNNCell{Hidden: 3}}}}
	net := readerOf(t, stack)
	log := logOf(t, net)
	x := nd.Ones(nd.Shape{2, 3})
	stack.Step(x, rnn.BeginState(stack, 2, x))
	want := []string{"cell.0.base_cell 2 (2, 3) 2 (2, 3)", "cell.0 2 (2, 3) 2 (2, 3)",
		"cell 2 (2, 3) 2 (2, 3)"}
	if !slices.Equal(*log, want) {
		t.Errorf("calls %q, want %q", *log, want)
	}
}

// The rows of a Summary are the cells at their places, also cells without hooks; parameters keep
// the names that they have without Hooked.
func TestSummaryOfCells(t *testing.T) {
	net := readerOf(t, &rnn.Hooked{Cell: rnn.Stack{
		&rnn.Zoneout{Kept: 0.5, Cell: rnn.Stack{&rnn.RNNCell{Hidden: 3}, &plain{2}}},
		&rnn.Bidirectional{Left: &rnn.GRUCell{Hidden: 2}, Right: &plain{3}}}})
	s, err := net.Summary(nd.Zeros(nd.Shape{2, 4, 3}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.Rows {
		got = append(got, fmt.Sprint(r.Path, " ", r.Type, " ", r.Calls, r.Outputs, r.Parameters,
			r.FLOPs > 0))
	}
	want := []string{
		"cell Stack 1 [(2, 4, 5) (2, 3) (2, 2)] 0 false",
		"cell.0 Zoneout 4 [(2, 3) (2, 3)] 0 true",
		"cell.0.base_cell.0 RNNCell 4 [(2, 3) (2, 3)] 24 true",
		"cell.0.base_cell.1 plain 4 [(2, 3)] 0 true",
		"cell.1 Bidirectional 1 [(2, 4, 5) (2, 2)] 0 false",
		"cell.1.l_cell GRUCell 4 [(2, 2) (2, 2)] 42 true",
		"cell.1.r_cell plain 4 [(2, 3)] 0 true"}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"), s)
	}
	if s.Parameters != 66 || net.Params().Get("cell.1.l_cell.i2h_weight") == nil {
		t.Errorf("%d parameters, want 66: %v", s.Parameters, s)
	}
}
