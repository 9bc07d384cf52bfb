package module_test

import (
	"fmt"
	"testing"

	"gomx/checkpoint"
	"gomx/module"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// What fmt prints of modules is short and says what they are.
func TestText(t *testing.T) {
	m := module.New(storeNet(), module.On(processors(2)...))
	before := fmt.Sprint(m)
	it := manySamples(t, 24)
	if err := m.Bind(it.ProvideData(), it.ProvideLabel()); err != nil {
		t.Fatal(err)
	}
	b, err := module.NewBucketing(func(any) (*sym.Symbol, error) { return storeNet(), nil }, 8)
	if err != nil {
		t.Fatal(err)
	}
	x := sym.FullyConnected(sym.Var("data"), sym.FullyConnectedParams{NumHidden: 1}, sym.Name("fc"))
	model := &checkpoint.Model{Symbol: x,
		Args: map[string]*nd.Array{"fc_weight": nd.Ones(nd.Shape{1, 2}),
			"fc_bias": nd.Ones(nd.Shape{1})}}
	p, err := module.NewPredictor(model, module.Input("data", 1, 2), module.InFlight(3))
	if err != nil {
		t.Fatal(err)
	}
	open := fmt.Sprint(p)
	p.Close()
	var none *module.Module
	for _, c := range []struct{ got, want string }{
		{before, "<Module softmax: not bound, on cpu(0), cpu(1)>"},
		{fmt.Sprintf("%+v", m), "<Module softmax: 4 parameters, bound for training, on cpu(0), " +
			"cpu(1)>"},
		{fmt.Sprint(b), "<BucketingModule softmax: not bound, 0 buckets, on cpu(0)>"},
		{fmt.Sprint(none), "<Module: nil>"},
		{fmt.Sprint(module.New(nil)), "<Module: the symbol is nil>"},
		{open, "<Predictor of data: at most 3 runs at once>"},
		{fmt.Sprint(p), "<Predictor: closed>"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}
