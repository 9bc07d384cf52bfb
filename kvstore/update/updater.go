package update

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// Updater runs an optimizer on slices of keys: on the shards of a server, or on the values of a
// worker. It computes on an engine of
// its own that runs every operation at once, on the goroutine that drives the server, with the
// kernels whose results do not depend on the processor: copies of a shard stay equal bit for bit.
type Updater struct {
	eng     *engine.Engine
	version uint64 // of the spec
	encoded string // optimizer
	names   []string
	added   []uint32 // keys to which pushes are added
	rounds  bool
	updater *optimizer.Updater
	slots   map[ps.ID]*updaterSlot
	buf     []byte // rows on their way
}

// updaterSlot is one slice.
type updaterSlot struct {
	weight, grad *nd.Array
	pending      []byte // state that waits for the first update, which knows the type
	// of a sparse key: room for the states of the rows that change
	states []*nd.Array
	of     *nd.Array // the weight for which states was made
	tag    uint64    // of the optimizer that made it
}

// New returns an updater without an optimizer.
func New() (*Updater, error) {
	e, err := engine.New(engine.Config{Naive: true})
	if err != nil {
		return nil, fmt.Errorf("kvstore: %w", err)
	}
	return &Updater{eng: e, slots: map[ps.ID]*updaterSlot{}}, nil
}

// Spec describes an optimizer on its way to other processes: the content of a wire.Spec.
type Spec struct {
	Optimizer json.RawMessage `json:"optimizer"`
	Names     []string        `json:"names"` // of keys, by number
	// numbers of keys that the optimizer leaves alone
	Added  []uint32     `json:"added,omitempty"`
	Rounds bool         `json:"rounds"` // gradients are sums over the workers
	States []SliceState `json:"states,omitempty"`
}

// SliceState is the optimizer's state of a slice, to be taken over by processes that have it.
type SliceState struct {
	Key   uint32 `json:"key"`
	Slice uint16 `json:"slice"`
	State []byte `json:"state"`
}

// Encode makes the message that sets an optimizer.
func (p *Spec) Encode(version uint64, o optimizer.Optimizer) (wire.Spec, error) {
	data, err := optimizer.Encode(o)
	if err != nil {
		return wire.Spec{}, fmt.Errorf("kvstore: %w", err)
	}
	p.Optimizer = data
	params, err := json.Marshal(p)
	if err != nil {
		return wire.Spec{}, fmt.Errorf("kvstore: optimizer %s: %w", o.Name(), err)
	}
	return wire.Spec{Version: version, Name: o.Name(), Params: params}, nil
}

// SetSpec implements server.Updater.
func (u *Updater) SetSpec(s wire.Spec) error {
	if s.Version <= u.version {
		return nil
	}
	var params Spec
	if err := json.Unmarshal(s.Params, &params); err != nil {
		return fmt.Errorf("kvstore: optimizer %s: %w", s.Name, err)
	}
	if string(params.Optimizer) != u.encoded {
		o, err := optimizer.Decode(params.Optimizer)
		if err != nil {
			return fmt.Errorf("kvstore: %w", err)
		}
		if u.updater, err = optimizer.NewUpdater(o, nil); err != nil {
			return fmt.Errorf("kvstore: %w", err)
		}
	}
	u.version, u.encoded, u.rounds = s.Version, string(params.Optimizer), params.Rounds
	u.names, u.added = params.Names, params.Added
	for id := range u.slots {
		u.name(id)
	}
	for _, st := range params.States {
		if err := u.SetState(ps.ID{Key: st.Key, Slice: st.Slice}, st.State); err != nil {
			return err
		}
	}
	return nil
}

// index is the number under which the optimizer knows a slice.
func index(id ps.ID) int { return int(id.Key)<<16 | int(id.Slice) }

func (u *Updater) name(id ps.ID) {
	if u.updater != nil && int(id.Key) < len(u.names) {
		u.updater.SetName(index(id), u.names[id.Key])
	}
}

// Active implements server.Updater.
func (u *Updater) Active() bool { return u.updater != nil }

// Update implements server.Updater. Optimizers work on floating-point numbers; to others gradients
// are added. When an optimizer fails the value stays as it is.
func (u *Updater) Update(p server.Update) {
	if !p.DType.IsFloat() {
		copy(p.Dst, p.Value)
		ps.Plain{}.Add(p.Dst, p.Grad, p.DType, 0)
		return
	}
	if err := u.update(p); err != nil {
		copy(p.Dst, p.Value)
	}
}

func (u *Updater) update(p server.Update) error {
	s, err := u.slot(p.ID, p.DType, len(p.Value))
	if err != nil {
		return err
	}
	if err := s.weight.WriteBytes(p.Value); err != nil {
		return err
	}
	if err := s.grad.WriteBytes(p.Grad); err != nil {
		return err
	}
	if u.rounds && p.Contributors != p.Count && p.Contributors > 0 { // as if all had contributed
		s.grad.MulScalarInPlace(float64(p.Count) / float64(p.Contributors))
	}
	if slices.Contains(u.added, p.ID.Key) {
		s.weight.AddInPlace(s.grad)
	} else if err := u.updater.Update(index(p.ID), s.weight, s.grad); err != nil {
		return err
	}
	return s.weight.ReadBytes(context.Background(), p.Dst)
}

// slot returns the arrays of a slice of n bytes.
func (u *Updater) slot(id ps.ID, t dtype.Type, n int) (*updaterSlot, error) {
	s := u.slots[id]
	if s == nil {
		s = &updaterSlot{}
		u.slots[id] = s
		u.name(id)
	}
	if s.weight == nil || s.weight.Bytes() != n || s.weight.DType() != t {
		if !t.Valid() || n%t.Size() != 0 {
			return nil, fmt.Errorf("kvstore: %d bytes of %v", n, t)
		}
		if s.weight != nil {
			s.weight.Close()
			s.grad.Close()
		}
		shape := nd.Shape{n / t.Size()}
		s.weight = nd.Empty(shape, nd.Using(u.eng), nd.As(t))
		s.grad = nd.Empty(shape, nd.Using(u.eng), nd.As(t))
	}
	if s.pending != nil {
		state := s.pending
		s.pending = nil
		if err := u.take(id, s, state); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Close releases the engine.
func (u *Updater) Close() error { return u.eng.Close() }
