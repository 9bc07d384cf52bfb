package gluon

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gomx/device"
	"gomx/dtype"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/op"
)

// Spec describes a parameter before it has values.
type Spec struct {
	// Shape has 0 where the first call finds the extent; nil: not even the number of axes is known.
	Shape nd.Shape
	DType dtype.Type
	// Init gives the first values; the name of the parameter does not matter. nil: the initializer
	// that Params.Init is given, by the rules of package initializer for the name.
	Init initializer.Initializer
	// GradReq says how Backward stores the gradient. GradNull is for running statistics and for
	// parameters that are not trained.
	GradReq nd.GradReq
	// Storage is the storage type of the values. RowSparse suits a table that no process need hold
	// as a whole: a row has no memory before a call of Rows names it. Then Init makes it, if it is
	// one of Zero, One, Constant, Uniform and Normal, of the seed, the parameter's name and the
	// row's number. Such a parameter lives on one processor, its gradient is row_sparse, and layers
	// read it by Rows.
	Storage nd.Storage
	// GradStorage is the storage type of the gradient. RowSparse suits a table of which a step reads
	// few rows: the step then costs by these. On other devices than the processor it has no effect.
	GradStorage nd.Storage
	// State says that Forward changes the values, as it does with running statistics. The workers
	// of a job share them: see Trainer.
	State bool
	// Fixed is the only value of all elements; values of files do not matter. It is for a factor
	// that an operator does not read, and that files have.
	Fixed op.Opt[float64]
	// Single keeps the parameter float32 when Cast says float16, for operators that want it so.
	Single bool
}

// Param is a parameter of a block, with a copy of its values on each device of the block. A block
// that shares a parameter of another one holds the same Param.
//
// A Param may be used by many goroutines; its Spec is not to be changed after the first call.
type Param struct {
	Spec
	// LRMult and WDMult multiply the learning rate and the weight decay of the trainer; 1 by
	// default.
	LRMult, WDMult op.Opt[float64]

	untrained bool // declared with GradNull: SetGradReq of all parameters passes it over

	mu     sync.Mutex // guards the fields below, and Spec while values are made
	name   string     // structural name, of the first block that was asked for its parameters
	start  *start     // nil: Init has not been called
	arrays atomic.Pointer[[]*nd.Array]
	rows   paramRows
}

// start says how a parameter gets its first values.
type start struct {
	init    initializer.Initializer
	seed    uint64
	devices []device.Device
}

// NewParam returns a parameter without values.
func NewParam(s Spec) *Param { return &Param{Spec: s, untrained: s.GradReq == nd.GradNull} }

// Need returns p, or a new parameter if p is nil. Layers declare their parameters by it: a program
// may have set the field to a parameter of another layer.
func Need(p *Param, s Spec) *Param {
	if p != nil {
		return p
	}
	return NewParam(s)
}

// BiasSpec describes n biases, which are zeros at first unless init is given.
func BiasSpec(n int, init initializer.Initializer) Spec {
	if init == nil {
		init = initializer.Zero{}
	}
	return Spec{Shape: nd.Shape{n}, Init: init}
}

// Name returns the structural name, such as "features.0.weight"; it is empty before a block that
// holds the parameter has been asked for its Params.
func (p *Param) Name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.name
}

// String describes the parameter by its name, shape and element type.
func (p *Param) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("<Param %s: %v %v>", p.called(), p.Shape, p.DType)
}

// called is the name for errors.
func (p *Param) called() string {
	if p.name == "" {
		return "without a name"
	}
	return p.name
}

// At returns the values on the device of x, on the tape of x. The extents that the Spec has as 0
// are found in extents, which has a number for each axis; without extents the shape must be known.
// It panics with *op.Error if the parameter has no values there, or is row_sparse: see Rows.
func (p *Param) At(x *nd.Array, extents ...int) *nd.Array {
	if p.Storage != nd.Dense {
		panic(p.misuse("it is %v, and the layer reads all of it: want Rows, with the numbers of "+
			"the rows that it reads", p.Storage))
	}
	p.rows.reads.Or(readWhole)
	if !x.Traced() {
		p.settle()
	}
	return p.at(x, extents)
}

// at is At without a look at the rows.
func (p *Param) at(x *nd.Array, extents []int) *nd.Array {
	list := p.arrays.Load()
	if list == nil {
		list = p.make(extents)
	}
	for _, a := range *list {
		if a.Device() != x.Device() {
			continue
		}
		if t := x.Tape(); t != nil && (p.GradReq != nd.GradNull || x.Traced()) {
			return t.Watch(a) // operations on parameters alone are recorded, too
		}
		return a
	}
	panic(p.misuse("the values are on %v, the data is on %v: name the device in Init",
		(*list)[0].Device(), x.Device()))
}

// misuse is the error of a wrong use of the parameter.
func (p *Param) misuse(format string, args ...any) *op.Error {
	return &op.Error{Op: "gluon", Arg: "parameter " + p.Name(), Msg: fmt.Sprintf(format, args...),
		Site: op.CallSite()}
}

// make makes the arrays at the first call that needs them.
func (p *Param) make(extents []int) *[]*nd.Array {
	p.mu.Lock()
	if list := p.arrays.Load(); list != nil {
		p.mu.Unlock()
		return list
	}
	shape, err := p.complete(extents)
	if err == nil && p.start == nil {
		err = fmt.Errorf("it has no values: call Init or Load first")
	}
	if err == nil {
		err = p.fill(shape)
	}
	p.mu.Unlock()
	if err != nil {
		panic(p.misuse("%v", err))
	}
	return p.arrays.Load()
}

// complete returns the shape with the extents that were not known.
func (p *Param) complete(extents []int) (nd.Shape, error) {
	shape := p.Shape.Clone()
	if shape == nil {
		return nil, errors.New("its shape is not known yet: call the block once")
	}
	for i, d := range shape {
		if d != 0 {
			continue
		}
		if i >= len(extents) || extents[i] <= 0 {
			return nil, fmt.Errorf("shape %v is not known yet: call the block once, or state the "+
				"extents of its input", p.Shape)
		}
		shape[i] = extents[i]
	}
	return shape, nil
}

// known reports whether all extents are known.
func (p *Param) known() bool { return p.Shape != nil && !slices.Contains(p.Shape, 0) }

// learnShape fills in the extents that are not known.
func (p *Param) learnShape(shape nd.Shape) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known() {
		p.Shape = shape.Clone()
	}
}

// fill makes arrays with initial values. The caller holds mu.
func (p *Param) fill(shape nd.Shape) error {
	if done, err := (table{p}).fill(shape); done || err != nil {
		return err
	}
	values := make([]float32, shape.Size())
	d := initializer.Desc{Name: p.name, Shape: shape, Seed: p.start.seed}
	var err error
	if p.Init != nil {
		err = p.Init.Weight(d, values)
	} else {
		err = initializer.Fill(p.start.init, d, values)
	}
	if err != nil {
		return err
	}
	return p.put(nd.FromSlice(values, shape...), p.start.devices)
}

// put gives the parameter copies of values on devices. The caller holds mu.
func (p *Param) put(values *nd.Array, devices []device.Device) error {
	if err := (table{p}).check(devices); err != nil {
		return err
	}
	values = p.constrain(values)
	shape := values.Shape()
	if p.Shape != nil && len(shape) != len(p.Shape) {
		return fmt.Errorf("values of shape %v, want %v", shape, p.Shape)
	}
	for i, d := range p.Shape {
		if d != 0 && shape[i] != d {
			return fmt.Errorf("values of shape %v, want %v", shape, p.Shape)
		}
	}
	list := make([]*nd.Array, len(devices))
	for i, dev := range devices {
		list[i] = p.copyOn(dev, values)
	}
	p.place(shape, list)
	return nil
}

// place gives the parameter arrays. The caller holds mu.
func (p *Param) place(shape nd.Shape, list []*nd.Array) {
	for _, a := range list {
		p.attach(a)
	}
	p.Shape = shape.Clone()
	p.arrays.Store(&list)
}

// copyOn returns an array of the parameter's name and type on a device, with values.
func (p *Param) copyOn(dev device.Device, values *nd.Array) *nd.Array {
	var a *nd.Array
	if p.Storage == nd.Dense {
		a = nd.Empty(values.Shape(), nd.On(dev), nd.As(p.DType), nd.Name(p.name))
	} else {
		a = table{p}.none(values.Shape())
	}
	if values.DType() != p.DType {
		values = values.AsType(p.DType)
	}
	a.Set(values.To(dev))
	return a
}

// constrain returns the values that the parameter takes on when it is given some.
func (p *Param) constrain(values *nd.Array) *nd.Array {
	if v, ok := p.Fixed.Get(); ok {
		return nd.Full(v, values.Shape(), nd.As(values.DType()), nd.On(values.Device()),
			nd.Using(values.Engine()))
	}
	return values
}

// Set gives the parameter values, on the devices where it has some, or on those of Init, or else on
// the processor. They are copied, and converted to the parameter's element type. Another shape than
// the parameter's is an error; extents of the Spec that are 0 fit any. Rows that a row_sparse array
// does not store are zeros.
func (p *Param) Set(values *nd.Array) (err error) {
	defer op.Recover(&err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := (table{p}).here(); err != nil {
		return fmt.Errorf("gluon: parameter %s: %w", p.called(), err)
	}
	if list := p.arrays.Load(); list != nil {
		if shape := values.Shape(); !shape.Equal(p.Shape) {
			return fmt.Errorf("gluon: parameter %s: values of shape %v, want %v", p.called(), shape,
				p.Shape)
		}
		values = p.constrain(values).AsType(p.DType)
		for _, a := range *list {
			a.Set(values.To(a.Device()))
		}
		p.rows.given()
		return nil
	}
	devices := []device.Device{device.CPU()}
	if p.start != nil {
		devices = p.start.devices
	}
	if err := p.put(values, devices); err != nil {
		return fmt.Errorf("gluon: parameter %s: %w", p.called(), err)
	}
	p.rows.given()
	return nil
}

// Data returns the values on the first device, nil before there are some: of a row_sparse parameter
// the rows that this process holds. RowSparseData returns any of its rows.
func (p *Param) Data() *nd.Array {
	p.settle()
	if list := p.values(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// merged returns the values for all devices, nil before there are some: of the first device, or the
// averages over the devices if Forward changes the values on each of them.
func (p *Param) merged() *nd.Array {
	list := p.All()
	if len(list) == 0 {
		return nil
	}
	sum := list[0]
	if !p.State || len(list) == 1 {
		return sum
	}
	for _, a := range list[1:] {
		sum = sum.Add(a.To(sum.Device()))
	}
	return sum.DivScalar(float64(len(list)))
}

// All returns the values on all devices, nil before there are some.
func (p *Param) All() []*nd.Array {
	p.settle()
	return slices.Clone(p.values())
}

// values is All; the result must not be changed.
func (p *Param) values() []*nd.Array {
	if list := p.arrays.Load(); list != nil {
		return *list
	}
	return nil
}

// Grad returns the gradient on the first device, nil if there is none.
func (p *Param) Grad() *nd.Array {
	if list := p.values(); len(list) > 0 {
		return list[0].Grad()
	}
	return nil
}

// SetGradReq changes how Backward stores the gradient.
func (p *Param) SetGradReq(r nd.GradReq) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.GradReq = r
	if list := p.arrays.Load(); list != nil {
		for _, a := range *list {
			p.attach(a)
		}
	}
}

// attach gives an array of the parameter its gradient. The caller holds mu.
func (p *Param) attach(a *nd.Array) {
	s := p.GradStorage
	if p.Storage != nd.Dense {
		s = p.Storage
	}
	if a.Device().Kind != device.KindCPU {
		s = nd.Dense
	}
	a.AttachGradOf(s, p.GradReq)
}

// request returns how Backward stores the gradient.
func (p *Param) request() nd.GradReq {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.GradReq
}

// ZeroGrad sets the gradients on all devices to zero.
func (p *Param) ZeroGrad() {
	for _, a := range p.values() {
		a.ZeroGrad()
	}
}
