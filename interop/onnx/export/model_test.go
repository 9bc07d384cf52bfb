package export_test

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	"gomx/interop/onnx"
	"gomx/interop/onnx/export"
	nd "gomx/ndarray"
	"gomx/op"
	sym "gomx/symbol"
)

// model is a model with values of its inputs, which a test exports.
type model struct {
	checkpoint.Model
	inputs   map[string]*nd.Array
	training bool
}

// exportOptions are the shapes, types and options of the export.
func (m *model) exported() ([]byte, error) {
	shapes, types := export.Inputs{}, map[string]dtype.Type{}
	for name, a := range m.inputs {
		shapes[name], types[name] = a.Shape(), a.DType()
	}
	opts := []export.Option{export.Types(types)}
	if m.training {
		opts = append(opts, export.Training())
	}
	return export.Marshal(&m.Model, shapes, opts...)
}

// run computes the outputs with gomx, operator by operator as they are composed.
func (m *model) run() ([]*nd.Array, error) {
	c := sym.BindConfig{Device: device.CPU(), DefaultReq: op.ReqNull, NoFusion: true,
		Args: map[string]*nd.Array{}, Aux: map[string]*nd.Array{}}
	for _, name := range m.Symbol.Arguments() {
		if c.Args[name] = m.inputs[name]; c.Args[name] == nil {
			c.Args[name] = m.Args[name]
		}
	}
	for _, name := range m.Symbol.AuxStates() {
		if c.Aux[name] = m.inputs[name]; c.Aux[name] == nil {
			c.Aux[name] = m.Aux[name]
		}
		c.Aux[name] = c.Aux[name].Copy()
	}
	ex, err := m.Symbol.SimpleBind(c)
	if err != nil {
		return nil, err
	}
	defer ex.Close()
	if err := ex.Forward(m.training); err != nil {
		return nil, err
	}
	return ex.Outputs(), nil
}

// imported computes the outputs of a file with gomx's importer.
func (m *model) imported(file []byte) (got []*nd.Array, err error) {
	fixed := map[string]*nd.Array{}
	in, err := onnx.Parse(file, onnx.Values(fixed))
	for need := (*onnx.NotConstant)(nil); errors.As(err, &need) && need.Input != "" &&
		fixed[need.Input] == nil; {
		fixed[need.Input] = m.inputs[need.Input]
		in, err = onnx.Parse(file, onnx.Values(fixed))
	}
	if err != nil {
		return nil, err
	}
	return in.Symbol.Eval(device.CPU(), in.Values(m.inputs))
}

// tolerance is the difference that two results may have: absolute, and as a share of the largest
// element of the array.
type tolerance struct{ absolute, share float64 }

// compare compares outputs; got may have more of them.
func compare(got, want []*nd.Array, tol tolerance) error {
	if len(got) < len(want) {
		return fmt.Errorf("got %d outputs, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		scalar := len(w.Shape()) == 0 && g.Shape().Equal(dtype.Shape{1})
		if !scalar && !g.Shape().Equal(w.Shape()) || g.DType() != w.DType() {
			return fmt.Errorf("output %d: got shape %v and type %v, want %v and %v", i, g.Shape(),
				g.DType(), w.Shape(), w.DType())
		}
		a, err := numbers(g)
		if err != nil {
			return err
		}
		b, err := numbers(w)
		if err != nil {
			return err
		}
		if err := compareNumbers(a, b, w.DType(), tol); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func compareNumbers(a, b []float64, t dtype.Type, tol tolerance) error {
	largest := 0.0
	for _, v := range b {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	limit := tol.absolute + tol.share*largest
	switch t {
	case dtype.Float16:
		limit = max(limit, largest/1024)
	case dtype.BFloat16:
		limit = max(limit, largest/128)
	}
	if !t.IsFloat() {
		limit = 0
	}
	for i := range b {
		same := a[i] == b[i] || math.IsNaN(a[i]) && math.IsNaN(b[i])
		if !same && !(math.Abs(a[i]-b[i]) <= limit) {
			return fmt.Errorf("got %v at element %d, want %v within %.2g", a[i], i, b[i], limit)
		}
	}
	return nil
}

// numbers returns the values of an array as float64.
func numbers(a *nd.Array) ([]float64, error) {
	return nd.Values[float64](nd.Cast(a, nd.CastParams{DType: dtype.Float64}))
}

// names lists the inputs in a fixed order.
func (m *model) names() []string {
	var list []string
	for _, name := range slices.Concat(m.Symbol.Arguments(), m.Symbol.AuxStates()) {
		if m.inputs[name] != nil {
			list = append(list, name)
		}
	}
	return list
}
