package server

import (
	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// Updater changes values by gradients on the servers. All copies of a shard must compute the same
// bits.
type Updater interface {
	// SetSpec sets the optimizer. It is called once per shard and version, and again when a copy of
	// a shard is made: a spec whose version is not higher than the current one changes nothing.
	SetSpec(spec wire.Spec) error
	// Active reports whether there is an optimizer: without one a sum replaces the value.
	Active() bool
	// Update writes the new value to Dst, which may be the same memory as Value. It must not change
	// Grad.
	Update(u Update)
	// UpdateRows changes rows of a store by gradients. Rows that have no gradient stay as they are,
	// whatever the optimizer does to a whole value.
	UpdateRows(u RowUpdate)
	// AppendState appends the optimizer's state of a slice, for a snapshot or another copy of the
	// shard.
	AppendState(dst []byte, id ps.ID) []byte
	// SetState takes over the optimizer's state of a slice. It must not keep the bytes.
	SetState(id ps.ID, state []byte) error
}

// Update is one step of an optimizer.
type Update struct {
	ID    ps.ID
	DType dtype.Type // of Dst, Value and Grad
	// Dst takes the new value, Value holds the current one, Grad the gradient, in plain values.
	Dst, Value, Grad []byte
	// Contributors is the number of pushes in Grad, Count the number of workers of the job.
	Contributors, Count int
	Version             uint64 // of the new value, from 1 on
}

// RowUpdate is one step of an optimizer for some rows.
type RowUpdate struct {
	ID    ps.ID
	Store *rows.Store // with the rows' values and the optimizer's states for them
	Slots []uint32    // of the rows
	Grad  []byte      // of each of them, one after the other, in plain values
	// Contributors is the number of pushes in Grad, Count the number of workers of the job.
	Contributors, Count int
}

// noUpdater replaces values by sums. It stands in where a store has given no updater, so that
// copies of shards need not ask whether they have one.
type noUpdater struct{}

func (noUpdater) SetSpec(wire.Spec) error                { return nil }
func (noUpdater) Active() bool                           { return false }
func (noUpdater) Update(Update)                          {}
func (noUpdater) UpdateRows(RowUpdate)                   {}
func (noUpdater) AppendState(dst []byte, _ ps.ID) []byte { return dst }
func (noUpdater) SetState(ps.ID, []byte) error           { return nil }
