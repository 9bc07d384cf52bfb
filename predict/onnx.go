package predict

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gomx/device"
	"gomx/dtype"
	"gomx/interop/onnx"
	nd "gomx/ndarray"
	"gomx/op"
)

// ONNX computes the outputs of a model of ONNX's format for any number of goroutines at once. It
// has a Predictor for each list of input shapes, made when the shapes are used first: at most as
// many as the option Shapes says, of which the one that has been unused for longest goes first.
//
// Predictors share the arrays of the file's parameters. Inputs whose values decide about shapes or
// branches count like shapes: there is a Predictor for each of their values. A switch (see
// onnx.Model) with more values than the option Shapes says becomes an input like others again: one
// Predictor has all branches.
type ONNX struct {
	file   *onnx.File
	ports  []onnx.Port
	opts   []Option
	config config

	mu     sync.Mutex                 // guards the fields below
	fixed  map[string]bool            // inputs whose values are constants of models
	values map[string]map[string]bool // values that switches have had, by input
	bound  []*bound                   // the one that was used last at the end
	closed bool
}

// bound is the model for one list of input shapes. ONNX.mu guards users and gone.
type bound struct {
	key   string
	users int  // runs that use it
	gone  bool // nobody may find it any more; the last user closes it

	once  sync.Once
	err   error
	fixed map[string]bool // inputs whose values are constants
	model *onnx.Model
	names []string   // inputs that the graph reads
	p     *Predictor // nil: the graph reads no input
}

// Output is an output of an ONNX model.
type Output struct {
	onnx.Info
	Array *nd.Array
}

// LoadONNX opens a model's file. With Input options for all inputs it also imports and compiles the
// model for their shapes; else the first Predict does so. The options InFlight, On and Precision
// hold for the Predictor of each list of shapes.
func LoadONNX(path string, opts ...Option) (*ONNX, error) {
	f, err := onnx.Open(path)
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	o := &ONNX{file: f, ports: f.Inputs(), fixed: map[string]bool{},
		values: map[string]map[string]bool{},
		config: config{shapes: map[string]dtype.Shape{}, kept: keptShapes}}
	for _, opt := range opts {
		opt(&o.config)
	}
	for _, name := range o.config.names {
		if !slices.ContainsFunc(o.ports, func(p onnx.Port) bool { return p.Name == name }) {
			return nil, fmt.Errorf("predict: %s: no input %q, the inputs are %s", path, name,
				quoted(o.Inputs()))
		}
	}
	o.opts = append(slices.Clone(opts), func(c *config) {
		c.names, c.shapes = nil, map[string]dtype.Shape{}
	})
	if len(o.config.names) == 0 {
		return o, nil
	}
	return o, o.ahead()
}

// keptShapes is the usual number of lists of shapes.
const keptShapes = 8

// Shapes bounds the number of lists of input shapes that an ONNX keeps compiled at the same time.
// The default is 8.
func Shapes(n int) Option { return func(c *config) { c.kept = max(n, 1) } }

// ahead imports the model for the shapes of the Input options.
func (o *ONNX) ahead() error {
	in := map[string]*nd.Array{}
	for _, p := range o.ports {
		shape, ok := o.config.shapes[p.Name]
		if !ok {
			return fmt.Errorf("predict: no Input for %q, want one for each of %s or none", p.Name,
				quoted(o.Inputs()))
		}
		t, err := dtype.Parse(p.Type)
		if err != nil {
			return fmt.Errorf("predict: input %q: %w", p.Name, err)
		}
		if len(shape) == 0 {
			shape = dtype.Shape{1}
		}
		in[p.Name] = nd.Zeros(shape, nd.As(t))
	}
	b, err := o.try(in)
	if need := (*onnx.NotConstant)(nil); errors.As(err, &need) && need.Input != "" {
		return nil // values decide: Predict imports the model
	}
	if err == nil {
		o.release(b)
	}
	return err
}

// Inputs lists the names of the inputs in the model's order.
func (o *ONNX) Inputs() []string {
	var names []string
	for _, p := range o.ports {
		names = append(names, p.Name)
	}
	return names
}

// File is the model's file.
func (o *ONNX) File() *onnx.File { return o.file }

// Predict returns the outputs for inputs by name, in the model's order. Their arrays belong to the
// caller. An input of rank zero may be an array of shape (1). Element types must be those of the
// model. Predict waits for the outputs; when ctx ends first it returns at once.
func (o *ONNX) Predict(ctx context.Context, in map[string]*nd.Array) (outs []Output, err error) {
	defer op.Recover(&err)
	switch {
	case o == nil:
		return nil, errors.New("predict: Predict of a model that is nil")
	case ctx == nil:
		return nil, errors.New("predict: Predict: the context is nil, want context.Background() " +
			"or another")
	}
	if err := o.check(in); err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	in = maps.Clone(in)
	for name, a := range in {
		if len(a.Shape()) == 0 {
			in[name] = a.Reshape(1)
		}
	}
	b, err := o.acquire(in)
	if err != nil {
		return nil, err
	}
	defer o.release(b)
	arrays, err := b.run(ctx, o.config.device, in)
	if err != nil {
		return nil, err
	}
	for i, a := range arrays {
		info := b.model.Outputs[i]
		if len(info.Shape) == 0 {
			defer a.Close()
			a = a.Reshape()
		}
		outs = append(outs, Output{info, a})
	}
	return outs, nil
}

// check compares arrays with the inputs of the model.
func (o *ONNX) check(in map[string]*nd.Array) error {
	var missing []string
	for _, p := range o.ports {
		a := in[p.Name]
		if a == nil {
			missing = append(missing, p.String())
			continue
		}
		// Formats that gomx lacks are held in other types, which Import compares.
		if t, err := dtype.Parse(p.Type); err == nil && a.DType() != t {
			return fmt.Errorf("input %q: the array has type %v, want %v", p.Name, a.DType(), t)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no array for %s", strings.Join(missing, ", "))
	}
	for name := range in {
		if !slices.ContainsFunc(o.ports, func(p onnx.Port) bool { return p.Name == name }) {
			return fmt.Errorf("no input %q, the inputs are %s", name, quoted(o.Inputs()))
		}
	}
	return nil
}

// run computes the outputs.
func (b *bound) run(ctx context.Context, d device.Device, in map[string]*nd.Array) ([]*nd.Array,
	error) {
	if b.p == nil {
		outs, err := b.model.Symbol.Eval(d, b.model.Values(nil))
		for _, a := range outs {
			err = errors.Join(err, a.Wait(ctx))
		}
		return outs, err
	}
	list := make([]*nd.Array, len(b.names))
	for i, name := range b.names {
		list[i] = in[name]
	}
	return b.p.PredictAll(ctx, list...)
}

// errONNXClosed is the mistake of using a model after Close.
var errONNXClosed = errors.New("predict: Predict on a closed model")

// acquire finds or makes the model for the shapes of inputs. release must follow. An input whose
// values an import needs is fixed from then on, and so is a switch.
func (o *ONNX) acquire(in map[string]*nd.Array) (*bound, error) {
	for {
		b, err := o.try(in)
		need := (*onnx.NotConstant)(nil)
		if !errors.As(err, &need) || need.Input == "" || b.fixed[need.Input] {
			return b, err
		}
		o.mu.Lock()
		o.fixed[need.Input] = true
		o.mu.Unlock()
	}
}

// try is acquire with the inputs that are fixed already. After an error release must not follow.
func (o *ONNX) try(in map[string]*nd.Array) (*bound, error) {
	b, err := o.find(in)
	if err != nil {
		return nil, err
	}
	b.once.Do(func() { b.err = o.bind(b, in) })
	if b.err != nil {
		o.drop(b)
		o.release(b)
	}
	return b, b.err
}

// find looks for the model for the shapes of inputs, and enters one that is not made yet if there is
// none. It closes the one that has been unused for longest if there are too many.
func (o *ONNX) find(in map[string]*nd.Array) (*bound, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, errONNXClosed
	}
	key, err := o.key(in)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(o.bound, func(b *bound) bool { return b.key == key })
	b := &bound{key: key, fixed: maps.Clone(o.fixed)}
	if i >= 0 {
		b = o.bound[i]
		o.bound = slices.Delete(o.bound, i, i+1)
	}
	o.bound = append(o.bound, b)
	b.users++
	if len(o.bound) > o.config.kept {
		o.discard(o.bound[0])
	}
	return b, nil
}

// key returns a text that two calls share if their inputs have the same shapes, and their fixed
// inputs the same values. The caller holds o.mu.
func (o *ONNX) key(in map[string]*nd.Array) (string, error) {
	var key []byte
	for _, p := range o.ports {
		a := in[p.Name]
		key = append(key, '[')
		for _, d := range a.Shape() {
			key = append(strconv.AppendInt(key, int64(d), 10), ' ')
		}
		if !o.fixed[p.Name] {
			continue
		}
		values := make([]byte, a.Bytes())
		if err := a.ReadBytes(context.Background(), values); err != nil {
			return "", fmt.Errorf("predict: input %q: %w", p.Name, err)
		}
		if o.varies(p.Name, values) {
			delete(o.fixed, p.Name)
			continue
		}
		key = append(append(key, '='), values...)
	}
	return string(key), nil
}

// varies reports whether an input is a switch that has had more values than models are kept. o.mu is
// held.
func (o *ONNX) varies(input string, value []byte) bool {
	seen := o.values[input]
	if seen == nil {
		return false
	}
	if len(seen) <= o.config.kept {
		seen[string(value)] = true
	}
	return len(seen) > o.config.kept
}

// undecided returns a switch of a model that is to be fixed, empty if there is none.
func (o *ONNX) undecided(b *bound) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range b.model.Switches {
		switch seen := o.values[name]; {
		case seen == nil:
			o.values[name] = map[string]bool{}
			return name
		case len(seen) <= o.config.kept:
			return name
		}
	}
	return ""
}

// bind imports and compiles the model.
func (o *ONNX) bind(b *bound, in map[string]*nd.Array) (err error) {
	defer op.Recover(&err)
	shapes, values := map[string]dtype.Shape{}, map[string]*nd.Array{}
	for _, p := range o.ports {
		shapes[p.Name] = p.Fit(in[p.Name].Shape())
		if b.fixed[p.Name] {
			values[p.Name] = in[p.Name].Copy()
		}
	}
	if b.model, err = o.file.Import(onnx.Shapes(shapes), onnx.Values(values)); err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	if name := o.undecided(b); name != "" {
		return &onnx.NotConstant{Input: name, Value: name}
	}
	args := b.model.Symbol.Arguments()
	opts := slices.Clone(o.opts)
	for _, info := range b.model.Inputs {
		if slices.Contains(args, info.Name) {
			b.names = append(b.names, info.Name)
			opts = append(opts, Input(info.Name, in[info.Name].Shape()...))
		}
	}
	if len(b.names) > 0 {
		b.p, err = New(&b.model.Model, opts...)
	}
	return err
}

// drop makes a model that cannot be found any more.
func (o *ONNX) drop(b *bound) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.Contains(o.bound, b) {
		o.discard(b)
	}
}

// discard takes a model out of the list. o.mu is held.
func (o *ONNX) discard(b *bound) {
	o.bound = slices.DeleteFunc(o.bound, func(x *bound) bool { return x == b })
	b.gone = true
	if b.users == 0 {
		b.p.Close()
	}
}

// release ends the use of a model.
func (o *ONNX) release(b *bound) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b.users--; b.users == 0 && b.gone {
		b.p.Close()
	}
}

// Close gives the memory of all shapes back. Calls of Predict that go on end as usual; later ones
// fail.
func (o *ONNX) Close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for len(o.bound) > 0 {
		o.discard(o.bound[0])
	}
}

// String describes the model by its inputs.
func (o *ONNX) String() string {
	if o == nil {
		return "<ONNX: nil>"
	}
	var list []string
	for _, p := range o.ports {
		list = append(list, p.String())
	}
	return "<ONNX of " + strings.Join(list, ", ") + ">"
}
