package conformance

import (
	"bytes"
	"context"
	"fmt"

	"gomx/device"
	"gomx/op"
	sym "gomx/symbol"

	nd "gomx/ndarray"
)

// upload copies a to the device.
func (a *Array) upload(dev device.Device) (*nd.Array, error) {
	x := nd.Empty(a.Shape, nd.On(dev), nd.As(a.DType))
	return x, x.WriteBytes(a.Data)
}

// upload reads arrays of one archive and puts them on the device.
func (env Env) upload(file string, refs []Ref) ([]*nd.Array, error) {
	arrays, err := env.Golden.Arrays(file, refs)
	if err != nil {
		return nil, err
	}
	list := make([]*nd.Array, len(arrays))
	for i, a := range arrays {
		if list[i], err = a.upload(env.Device); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// download waits for x and copies it to the host.
func download(x *nd.Array) (*Array, error) {
	a := NewArray(x.DType(), x.Shape().Clone())
	return a, x.ReadBytes(context.Background(), a.Data)
}

// values maps names of variables to arrays.
type values map[string]*Array

// upload copies all of v to the device.
func (v values) upload(dev device.Device) (map[string]*nd.Array, error) {
	m := map[string]*nd.Array{}
	for name, a := range v {
		x, err := a.upload(dev)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m[name] = x
	}
	return m, nil
}

// feed holds the inputs of a graph that is bound.
type feed struct {
	args, aux values
	grads     values            // content of gradient arrays before backward; may be incomplete
	req       map[string]op.Req // gradient request of every argument
	// arguments that are on the device already, for several executors
	shared map[string]*nd.Array
}

// share copies the arguments to the device, where all executors then share them.
func (f *feed) share(env Env) (err error) {
	f.shared, err = f.args.upload(env.Device)
	f.args = nil
	return err
}

// bind binds s with the values of f.
func (f *feed) bind(s *sym.Symbol, env Env) (*sym.Executor, error) {
	c := sym.BindConfig{Device: env.Device, Args: f.shared, GradReq: f.req, DefaultReq: op.ReqNull,
		Seed: 1}
	var err error
	if c.Args == nil {
		if c.Args, err = f.args.upload(env.Device); err != nil {
			return nil, err
		}
	}
	if c.Aux, err = f.aux.upload(env.Device); err != nil {
		return nil, err
	}
	if c.Grads, err = f.grads.upload(env.Device); err != nil {
		return nil, err
	}
	ex, err := s.SimpleBind(c)
	if err != nil {
		return nil, err
	}
	return ex, f.spoil(ex)
}

// leftover is the value of every byte of a gradient array before it is overwritten. A gradient is
// unlikely to have it.
const leftover = 0x41

// spoil fills the gradient arrays that a backward pass must overwrite, so that the test notices an
// array that was not written.
func (f *feed) spoil(ex *sym.Executor) error {
	for name, g := range ex.Grads {
		if f.req[name] != op.ReqWrite {
			continue
		}
		if err := g.WriteBytes(bytes.Repeat([]byte{leftover},
			g.Shape().Size()*g.DType().Size())); err != nil {
			return fmt.Errorf("gradient array of %s: %w", name, err)
		}
	}
	return nil
}

// close frees the arrays of an executor, except shared ones, without waiting for the garbage
// collector.
func (f *feed) close(ex *sym.Executor) {
	for _, m := range []map[string]*nd.Array{ex.Args, ex.Grads, ex.Aux} {
		for name, a := range m {
			if a != f.shared[name] {
				a.Close()
			}
		}
	}
	for _, a := range ex.Outputs() {
		a.Close()
	}
}

// closeShared frees the shared arguments.
func (f *feed) closeShared() {
	for _, a := range f.shared {
		a.Close()
	}
}
