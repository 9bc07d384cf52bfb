package gluon

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gomx/device"
	"gomx/dtype"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/op"
)

// Cast converts the parameters and their gradients to an element type. The parameters of
// nn.BatchNorm stay float32 with float16, as its operator wants. A Trainer notices the new arrays
// at its next step.
//
// MXNet: gluon.Block.cast.
func (ps *Params) Cast(t dtype.Type) {
	for _, p := range ps.distinct() {
		p.cast(t)
	}
}

// cast converts a parameter to an element type.
func (p *Param) cast(t dtype.Type) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Single && t == dtype.Float16 {
		t = dtype.Float32
	}
	if p.DType == t {
		return
	}
	p.DType = t
	old := p.arrays.Load()
	if old == nil {
		return
	}
	list := make([]*nd.Array, len(*old))
	for i, a := range *old {
		list[i] = p.copyOn(a.Device(), a)
		if g := a.Grad(); g != nil {
			list[i].AttachGradArray(g.AsType(t), p.GradReq)
		}
	}
	p.arrays.Store(&list)
}

// Devices returns the devices on which parameters have values, or will have them after Init.
func (ps *Params) Devices() (list []device.Device) {
	for _, p := range ps.distinct() {
		for _, d := range p.devices() {
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	return list
}

// devices returns the devices of the values, or those of Init.
func (p *Param) devices() (list []device.Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if arrays := p.arrays.Load(); arrays != nil {
		for _, a := range *arrays {
			list = append(list, a.Device())
		}
		return list
	}
	if p.start != nil {
		return p.start.devices
	}
	return nil
}

// SetDevices moves the parameters to devices, each of which gets a copy. Running statistics become
// the averages over the devices before; gradients become zero. Init or Load has been called.
//
// MXNet: gluon.ParameterDict.reset_ctx.
func (ps *Params) SetDevices(devices ...device.Device) (err error) {
	defer op.Recover(&err)
	if len(devices) == 0 {
		return errors.New("gluon: SetDevices: no device")
	}
	for name, p := range ps.distinct() {
		if err := p.move(slices.Clone(devices)); err != nil {
			return fmt.Errorf("gluon: SetDevices: parameter %s: %w", name, err)
		}
	}
	return nil
}

// move moves the values of a parameter, or the place where it will get them.
func (p *Param) move(devices []device.Device) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := (table{p}).here(); err != nil {
		return err
	}
	if values := p.merged(); values != nil {
		return p.put(values, devices)
	}
	if p.start == nil {
		return errors.New("it has no values: call Init or Load first")
	}
	s := *p.start
	s.devices = devices
	p.start = &s
	return nil
}

// SetInit chooses the initializer of the parameters for the next Init, in place of their own and of
// the one that Init is given.
func (ps *Params) SetInit(init initializer.Initializer) {
	for _, p := range ps.distinct() {
		p.mu.Lock()
		p.Spec.Init = init
		p.mu.Unlock()
	}
}

// SetLRMult sets the multipliers of the learning rate.
func (ps *Params) SetLRMult(m float64) {
	for _, p := range ps.distinct() {
		p.LRMult = op.Some(m)
	}
}

// SetWDMult sets the multipliers of the weight decay.
func (ps *Params) SetWDMult(m float64) {
	for _, p := range ps.distinct() {
		p.WDMult = op.Some(m)
	}
}

// Share makes the network hold the parameters of another one that have the same names, in place of
// its own: changes of their values concern both. It needs a parameter for each name, of the same
// shape and element type. It is called before a Trainer is made of the parameters.
//
//	err := b.Share(a.Params())
//
// Select chooses a part of the parameters of a; then only these are shared.
//
// MXNet: the argument params of gluon.Block.
func (n *Net) Share(from *Params) error {
	own := n.Params()
	for name, p := range from.All() {
		q := own.Get(name)
		if q == nil {
			return fmt.Errorf("gluon: Share: no parameter %q, there are %v", name, own.names)
		}
		if err := q.fits(p); err != nil {
			return fmt.Errorf("gluon: Share: parameter %s: %w", name, err)
		}
	}
	var fault error
	visit(n.root, "", func(name string, c child) {
		p := from.Get(name)
		switch {
		case p == nil:
		case c.symbol != nil:
			c.symbol.params[c.name] = p
		case c.place.CanSet():
			c.place.Set(reflect.ValueOf(p))
		case fault == nil:
			fault = fmt.Errorf("gluon: Share: parameter %s is in a block that is a value: hold a "+
				"pointer to the block", name)
		}
	})
	if h := n.hybrid.Load(); h != nil {
		n.hybrid.Store(h.fresh()) // the graphs have the arrays of the parameters before
	}
	return fault
}

// fits reports differences between parameters that are to be one.
func (p *Param) fits(q *Param) error {
	if p.DType != q.DType {
		return fmt.Errorf("its type is %v, the other's %v", p.DType, q.DType)
	}
	if p.Storage != q.Storage {
		return fmt.Errorf("it is %v, the other is %v", p.Storage, q.Storage)
	}
	if p.Shape == nil || q.Shape == nil {
		return nil
	}
	same := len(p.Shape) == len(q.Shape)
	for i := 0; same && i < len(p.Shape); i++ {
		same = p.Shape[i] == q.Shape[i] || p.Shape[i] == 0 || q.Shape[i] == 0
	}
	if !same {
		return fmt.Errorf("its shape is %v, the other's %v", p.Shape, q.Shape)
	}
	return nil
}
