package ndarray

import (
	"sync/atomic"

	"gomx/op"
)

// stream is the random stream that imperative operations take their numbers from.
type stream struct {
	key  uint64
	next atomic.Uint64
}

// streams holds the process-wide stream; SetSeed replaces it.
var streams atomic.Pointer[stream]

func init() { SetSeed(0) }

// SetSeed starts a new process-wide random stream. Random operations reserve their range of it when
// they are pushed: a program that pushes in the same order gets the same numbers, independent of
// the engine's schedule. A process starts with seed 0.
func SetSeed(seed uint64) { streams.Store(&stream{key: seed}) }

// StreamState is a position in the process-wide random stream.
type StreamState struct {
	Seed uint64 // seed that was given to SetSeed
	Next uint64 // number of the next random value
}

// RandomState returns the position of the process-wide stream, from which random operations draw
// next.
func RandomState() StreamState {
	s := streams.Load()
	return StreamState{s.key, s.next.Load()}
}

// SetRandomState continues the process-wide stream at a position that RandomState has returned.
func SetRandomState(at StreamState) {
	s := &stream{key: at.Seed}
	s.next.Store(at.Next)
	streams.Store(s)
}

// reserve takes the range that the operation uses from the stream and returns it.
func (iv *invocation) reserve(p *plan) op.Seed {
	if iv.seeded {
		return iv.seed
	}
	n := 0
	for _, d := range p.out {
		n = max(n, d.Shape.Size())
	}
	s := streams.Load()
	return op.Seed{Key: s.key, Counter: s.next.Add(uint64(n)) - uint64(n)}
}
