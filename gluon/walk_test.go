package gluon_test

import (
	"fmt"
	"slices"
	"testing"

	"gomx/gluon"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// byValue is a block that is a value, with a parameter.
type byValue struct{ Gain *gluon.Param }

func (b byValue) Forward(x *nd.Array) *nd.Array { return x.Mul(b.Gain.At(x)) }

func TestApply(t *testing.T) {
	inner := gluon.New(nn.Sequential{&nn.Dense{Units: 1}})
	net := gluon.New(nn.Sequential{nn.Flatten{}, inner, nn.Activation("relu"),
		byValue{newScale().Gain}, gluon.Func(func(x *nd.Array) *nd.Array { return x }),
		&doubled{Body: &nn.Dense{Units: 1}}})
	var got []string
	net.Apply(func(path string, block any) { got = append(got, fmt.Sprintf("%s %T", path, block)) })
	want := []string{"0 nn.Flatten", "1.0 *nn.Dense", "1 *gluon.Net", "2 nn.Activation",
		"3 gluon_test.byValue", "4 gluon.Func", "5.body *nn.Dense", "5 *gluon_test.doubled",
		" nn.Sequential"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	names := net.Params().Names()
	for _, name := range []string{"1.0.weight", "3.gain", "5.body.bias"} {
		if !slices.Contains(names, name) {
			t.Errorf("no parameter %s in %v", name, names)
		}
	}
}
