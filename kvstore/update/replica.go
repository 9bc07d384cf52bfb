package update

import (
	"encoding/binary"
	"fmt"
	"sync"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/wire"
)

// Replica holds the values of all keys at a worker of a job without servers. Every worker has one,
// and changes it by the same sums with the same optimizer: their values are equal, bit for bit.
//
// It keeps the values of the last two rounds: a process that takes over a worker's place repeats a
// round that other workers may have completed, and begins with the values before it.
//
// Its methods may be called from any goroutine; they do not wait for messages.
type Replica struct {
	count int    // workers with which the job began
	slice uint64 // bytes of a slice for the optimizer
	undo  bool   // the last round can be taken back

	mu   sync.Mutex
	u    *Updater
	keys map[uint32]*values
	now  int // workers whose contributions sums have
	copy encoded
}

// values are the values of one key.
//
// Invariant: program is version, or version-1 at a process that took over a place.
type values struct {
	dtype   dtype.Type
	slices  uint16
	last    []byte // after version rounds
	before  []byte // after version-1 rounds; nil: version was the first round, or 0
	version uint64
	program uint64   // rounds that the program has taken part in
	states  [][]byte // of the optimizer for each slice before the last round, if it can be taken back
}

// encoded is the encoding of the key that was asked for last.
type encoded struct {
	key   uint32
	valid bool
	bytes []byte
}

// NewReplica returns a replica without keys, for the given number of workers. The optimizer works
// on slices of at most slice bytes, as on servers.
func NewReplica(workers int, slice uint64) (*Replica, error) {
	u, err := New()
	if err != nil {
		return nil, err
	}
	return &Replica{count: workers, now: workers, slice: slice, u: u, keys: map[uint32]*values{}}, nil
}

// Close releases the optimizer.
func (r *Replica) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.u.Close()
}

// SetSpec sets the optimizer.
func (r *Replica) SetSpec(s wire.Spec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.u.SetSpec(s)
}

// Active reports whether there is an optimizer.
func (r *Replica) Active() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.u.Active()
}

// Init gives a key its values after so many rounds. A whole key is one slice for the optimizer.
func (r *Replica) Init(key uint32, t dtype.Type, whole bool, value []byte, rounds uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &values{dtype: t, slices: 1, last: append([]byte(nil), value...), version: rounds,
		program: rounds}
	if !whole {
		v.slices = wire.Slices(uint64(len(value)), r.slice)
	}
	r.keys[key] = v
}

// Apply changes the values of a key by the sum of the next round, unless the replica has the result
// already, and copies them to out if that is not nil.
func (r *Replica) Apply(key uint32, sum, out []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.keys[key]
	v.program++
	if v.program > v.version {
		v.before = append(v.before[:0], v.last...)
		v.version = v.program
		if r.undo {
			r.note(key, v)
		}
		for i := range v.slices {
			lo, hi := wire.Range(uint64(len(v.last)), i, v.slices)
			if lo == hi {
				continue
			}
			p := v.last[lo:hi]
			r.u.Update(server.Update{ID: ps.ID{Key: key, Slice: i}, DType: v.dtype, Dst: p,
				Value: p,
				Grad:  sum[lo:hi], Contributors: r.now, Count: r.count, Version: v.version})
		}
		r.copy.valid = r.copy.valid && r.copy.key != key
	}
	copy(out, v.last)
}

// Read copies the values of a key that the program has to out.
func (r *Replica) Read(key uint32, out []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.keys[key]
	if v.program == v.version {
		copy(out, v.last)
	} else {
		copy(out, v.before)
	}
}

// State returns the optimizer's state of a slice of a key, as Updater.AppendState writes it.
func (r *Replica) State(key uint32, slice uint16) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.u.AppendState(nil, ps.ID{Key: key, Slice: slice})
}

// Slices returns the number of slices of a key.
func (r *Replica) Slices(key uint32) uint16 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[key].slices
}

// Encode returns a part of the encoding of a key, from an offset on, with the number of rounds in
// it and its whole length. It is false if the key is not there, or has not had so many rounds. The
// bytes are valid until the key changes.
func (r *Replica) Encode(key uint32, rounds, offset uint64, most int) (part []byte, version,
	total uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.keys[key]
	if v == nil || v.version < rounds {
		return nil, 0, 0, false
	}
	if !r.copy.valid || r.copy.key != key {
		r.copy = encoded{key, true, r.append(r.copy.bytes[:0], key, v)}
	}
	b := r.copy.bytes
	lo := min(offset, uint64(len(b)))
	hi := min(lo+uint64(most), uint64(len(b)))
	return append([]byte(nil), b[lo:hi]...), v.version, uint64(len(b)), true
}

// append appends the encoding of a key: the numbers of rounds and of bytes before, both values,
// then length and bytes of the optimizer's state of each slice.
func (r *Replica) append(dst []byte, key uint32, v *values) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, v.version)
	dst = le.AppendUint64(dst, uint64(len(v.before)))
	dst = append(append(dst, v.last...), v.before...)
	for i := range v.slices {
		n := len(dst)
		dst = r.u.AppendState(le.AppendUint64(dst, 0), ps.ID{Key: key, Slice: i})
		le.PutUint64(dst[n:], uint64(len(dst)-n-8))
	}
	return dst
}

// Load is Init with the encoding of the key at another worker. The values have so many bytes.
func (r *Replica) Load(key uint32, t dtype.Type, whole bool, size int, b []byte, rounds uint64,
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := uint64(size)
	v := &values{dtype: t, slices: 1, last: make([]byte, size)}
	if !whole {
		v.slices = wire.Slices(n, r.slice)
	}
	le := binary.LittleEndian
	if uint64(len(b)) < 16+n {
		return fmt.Errorf("kvstore: encoding of a key of %d bytes, want at least %d", len(b), 16+n)
	}
	version, before := le.Uint64(b), le.Uint64(b[8:])
	b = b[16:]
	if before != 0 && before != n || uint64(len(b)) < n+before || version != rounds &&
		(version != rounds+1 || before != n) {
		return fmt.Errorf("kvstore: values after %d rounds with %d bytes of the round before, "+
			"want "+
			"%d or %d rounds and %d bytes", version, before, rounds, rounds+1, n)
	}
	v.version, v.program = version, rounds
	copy(v.last, b)
	v.before = append(v.before[:0], b[n:n+before]...)
	b = b[n+before:]
	for i := range v.slices {
		if len(b) < 8 || le.Uint64(b) > uint64(len(b)-8) {
			return errStateLength
		}
		size := le.Uint64(b)
		if err := r.u.SetState(ps.ID{Key: key, Slice: i}, b[8:8+size]); err != nil {
			return err
		}
		b = b[8+size:]
	}
	r.keys[key], r.copy.valid = v, false
	return nil
}
