package trainer

import (
	"context"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// sharedAux is an auxiliary state, such as a moving average of batch norm, that the workers of a
// job have in common.
//
// Every worker pushes the change that its batch makes, divided by the number of workers, and pulls
// the state that all changes have made: moving averages cover the batches of all workers. The
// rounds are the rounds of the parameters, so that a worker that replaces a dead one finds the
// states that belong to its parameters.
//
// A state of integers is a count and is not averaged: the changes of all workers add up, to the
// count of all batches. A state of truth values stays with its worker, because a change of truth
// values cannot be added.
type sharedAux struct {
	name   string
	value  *nd.Array    // on the first device
	others []*nd.Array  // on the other devices
	counts bool         // its elements are integers
	change [1]*nd.Array // of the last batch
	common [1]*nd.Array // the store's state before the last batch
}

// AuxState is an auxiliary state of a network, which the forward pass changes.
type AuxState struct {
	Name   string
	Copies []*nd.Array // one per device
}

// Average gives all copies of a state their mean, if it is a floating-point number; integers, which
// count, take the value of the first copy.
func Average(copies []*nd.Array) {
	if a := copies[0]; a.DType().IsFloat() && len(copies) > 1 {
		list := []*nd.Array{a}
		for _, b := range copies[1:] {
			list = append(list, b.To(a.Device()))
		}
		mean := nd.AddN(list)
		mean.MulScalarInPlace(1 / float64(len(list)))
		mean.CopyInto(a)
		mean.Close()
		closeAll(list[1:])
	}
	Spread(copies)
}

// shareAux puts auxiliary states into a store that several processes share. They take the values
// of worker 0 or, in a job that has begun, the values in the store.
func (s *Store) shareAux(ctx context.Context, states func() []AuxState) error {
	if s.joint == nil {
		return nil
	}
	s.settle()
	for _, state := range states() {
		v := state.Copies[0]
		if v.DType() == dtype.Bool {
			continue
		}
		x := sharedAux{name: state.Name, value: v, others: state.Copies[1:],
			counts: !v.DType().IsFloat()}
		for _, a := range []*[1]*nd.Array{&x.change, &x.common} {
			a[0] = nd.Empty(v.Shape(), nd.As(v.DType()), nd.On(v.Device()), nd.Using(v.Engine()))
		}
		if err := s.joint.InitSum(ctx, x.name, v); err != nil {
			return err
		}
		s.aux = append(s.aux, x)
	}
	return nil
}

// take gives the state that the store has had to all devices.
func (x *sharedAux) take() {
	x.common[0].CopyInto(x.value)
	for _, a := range x.others {
		x.common[0].CopyInto(a)
	}
}

// pullAux takes the auxiliary states from the store.
func (s *Store) pullAux() error {
	for i := range s.aux {
		x := &s.aux[i]
		if err := s.kv.Pull(x.name, 0, x.common[:]...); err != nil {
			return err
		}
		x.take()
	}
	return nil
}

// updateAux pushes the change that the last batch has made, and pulls the states that all batches
// of the round have made.
func (s *Store) updateAux() error {
	for i := range s.aux {
		x := &s.aux[i]
		x.value.CopyInto(x.change[0])
		x.change[0].SubInPlace(x.common[0])
		if !x.counts {
			x.change[0].MulScalarInPlace(1 / float64(s.kv.NumWorkers()))
		}
		if err := s.kv.PushPull(x.name, 0, x.change[:], x.common[:]); err != nil {
			return err
		}
		x.take()
	}
	return nil
}

// closeAux closes the arrays change and common of the shared states.
func (s *Store) closeAux() {
	for i := range s.aux {
		s.aux[i].change[0].Close()
		s.aux[i].common[0].Close()
	}
	s.aux = nil
}
