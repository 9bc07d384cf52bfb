package gluon_test

import (
	"flag"
	"strings"
	"testing"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/golden"
	nd "gomx/ndarray"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// described has a shared layer, a plain block of a program's own, a block with a parameter of its
// own, and layers that are values.
func described(t *testing.T) *gluon.Net {
	t.Helper()
	inner := &nn.Dense{Units: 8, Activation: "tanh"}
	net := gluon.New(nn.Sequential{
		&nn.Conv2D{Channels: 4, Kernel: nn.Square(3), Pad: nn.Square(1), NoBias: true},
		&nn.BatchNorm{}, nn.Activation("relu"), &nn.MaxPool2D{}, newResidual(4),
		nn.Sequential{nn.Flatten{}, &nn.Dense{Units: 8}, inner, inner},
		&doubled{Body: &nn.Dense{Units: 2}}})
	if err := net.Init(initializer.Xavier{}); err != nil {
		t.Fatal(err)
	}
	return net
}

func TestSummary(t *testing.T) {
	net := described(t)
	s, err := net.Summary(nd.Zeros(nd.Shape{2, 1, 8, 8}))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/summary.txt", s.String(), *rewrite)
	net.Hybridize()
	net.Forward(nd.Zeros(nd.Shape{2, 1, 8, 8}))
	again, err := net.Summary(nd.Zeros(nd.Shape{2, 1, 8, 8}))
	if err != nil || again.String() != s.String() {
		t.Errorf("the summary of the hybridized network is\n%v%v", again, err)
	}
	rows, sum := int64(0), int64(0)
	for _, r := range s.Rows {
		rows, sum = rows+r.FLOPs, sum+r.Parameters
	}
	if rows != s.FLOPs || sum != s.Parameters+s.Shared {
		t.Errorf("rows have %d FLOPs and %d parameters, the totals are %d and %d and %d", rows, sum,
			s.FLOPs, s.Parameters, s.Shared)
	}
}

// A layer by itself, and a network with several arguments.
func TestSummaryOfRoots(t *testing.T) {
	one := gluon.New(&nn.Dense{Units: 3, InUnits: 2})
	pair := gluon.Wrap(&doubled{Body: &nn.Dense{Units: 3}}, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{in[0].Add(in[1]), in[0]}
	})
	for _, n := range []*gluon.Net{one, pair} {
		if err := n.Init(nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := one.Summary(nd.Zeros(nd.Shape{1, 2}))
	if err != nil || len(s.Rows) != 1 || s.Rows[0].Type != "Dense" ||
		s.Rows[0].Calls != 1 || s.Parameters != 9 {
		t.Errorf("got %+v, %v", s, err)
	}
	x := nd.Zeros(nd.Shape{4, 2})
	if s, err = pair.Summary(x, x); err != nil || s.FLOPs != 8 || len(s.Rows[0].Outputs) != 2 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestSummaryErrors(t *testing.T) {
	net := gluon.New(&nn.Dense{Units: 3})
	_, err := net.Summary(nd.Zeros(nd.Shape{1, 2}))
	if err == nil || !strings.Contains(err.Error(), "call Init") {
		t.Errorf("without Init: %v", err)
	}
	if _, err = net.Summary(); err == nil {
		t.Error("no error without arguments")
	}
	if err := net.Init(nil); err != nil {
		t.Fatal(err)
	}
	net.Forward(nd.Zeros(nd.Shape{1, 2}))
	if _, err = net.Summary(nd.Zeros(nd.Shape{1, 5})); err == nil {
		t.Error("no error for an argument that does not fit")
	}
}
