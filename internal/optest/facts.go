package optest

import (
	"bytes"
	"testing"

	"gomx/op"
	"gomx/op/loop"
)

// checkFacts compares the outputs of an operator with the algebraic facts in its definition, on
// which passes rely.
func checkFacts(t *testing.T, o *op.Op, params any, c Case, out []op.Tensor) {
	t.Helper()
	if len(out) == 0 || out[0].Data == nil {
		return
	}
	y := out[0]
	if len(c.In) > 0 && y.DType == c.In[0].DType {
		same := bytes.Equal(rawBytes(y), rawBytes(c.In[0]))
		if o.Neutral(params) && y.Shape.Equal(c.In[0].Shape) && !same {
			t.Errorf("%s is neutral, but its output differs from its input", o.Name)
		}
		if o.Reshapes && !same {
			t.Errorf("%s changes nothing but the shape, but its output has other elements", o.Name)
		}
	}
	if v, ok := o.Fill(params); ok {
		want := New(y.DType, y.Shape...)
		loop.Fill(want, v)
		if !bytes.Equal(rawBytes(y), rawBytes(want)) {
			t.Errorf("%s fills with %v, but its output holds other numbers", o.Name, v)
		}
	}
	r := Runner{Train: c.Train, Seed: c.Seed}
	again := func(what string, in ...op.Tensor) {
		res, err := r.Apply(o, params, cloneAll(in))
		if err != nil {
			t.Errorf("%s %s: %v", o.Name, what, err)
		} else if d := Diff(res[0], y, Tolerance{Abs: 1e-300}); d != "" {
			t.Errorf("%s %s: %s", o.Name, what, d)
		}
	}
	if o.Commutes {
		again("commutes", c.In[1], c.In[0])
	}
	if o.Idempotent {
		again("is idempotent", y)
	}
	checkScalarForms(t, o, c)
}

// checkScalarForms compares an operator of two arrays with its forms for an array and a number.
func checkScalarForms(t *testing.T, o *op.Op, c Case) {
	t.Helper()
	const number = 3
	for k, form := range o.Scalar {
		if form == nil || !c.In[k].DType.IsFloat() {
			continue
		}
		in := cloneAll([]op.Tensor{c.In[k], c.In[k]})
		loop.Fill(in[1-k], number)
		params, err := form.ParseParams(map[string]string{"scalar": "3"})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Runner{}.Apply(o, op.NoParams{}, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Runner{}.Apply(form, params, in[k:k+1])
		if err != nil {
			t.Fatal(err)
		}
		if d := Diff(got[0], want[0], Tolerance{}); d != "" {
			t.Errorf("%s with a number as input %d is not %s: %s", o.Name, 1-k, form.Name, d)
		}
	}
}
