package ring

import (
	"fmt"

	"gomx/dtype"
	"gomx/kvstore/ps"
)

// Config holds the settings of a worker's part in collective rounds. All workers of a job have the
// same settings but for Rank.
type Config struct {
	Job     uint64 // drawn at the start of the job
	Rank    uint16 // place of the worker among the workers of the job
	Workers int    // workers of the job
	// Elastic says that workers come and go while the job runs: the members of the view's group add
	// up, and a change of the group ends all calls with ErrRegrouped. Workers then means nothing.
	Elastic bool
	// Direct is the size in bytes up to which every worker adds up a whole key itself. The slices
	// of larger keys have one owner each. 0: 16 KiB; -1: all keys have owners.
	Direct int
	// Bucket is the number of bytes of small keys, in the order in which they were created, whose
	// contributions leave together; 0: 64 KiB; -1: each leaves on its own.
	Bucket int
	// Slice is the size in bytes of the longest slice of a key with owners; 0: 1 MiB. Longer ones
	// do not stay in the processor's cache between sender and receiver.
	Slice uint64
	// Window is the number of bytes on their way to one worker, which has not confirmed them, up to
	// which another slice leaves; 0: 2 MiB, to workers on the same host 512 KiB, because a wait for
	// a receipt costs less there than values that leave the cache, and 1.25 MiB where Shared.
	Window uint64
	// Shared reports whether workers of the same host reach an address through shared memory, which
	// copies values once; nil: they do not.
	Shared func(addr string) bool
	// Long is the size in bytes from which sums go to the program's memory past the caches, which
	// do not hold them until it reads them; 0: 8 MiB.
	Long uint64
	// Timeout is the time that a call without a deadline may take; 0: 120 s.
	Timeout ps.Time
	Timing  ps.Timing
	// Arithmetic adds up contributions; nil: Plain.
	Arithmetic Arithmetic
	// Room makes memory for the sums of a key, so many zero bytes; nil: make does.
	Room func(bytes int) Space
}

// Space is memory of a group that a transport may let other workers read in place.
type Space interface {
	// Bytes is the memory, the same at each call.
	Bytes() []byte
	// Renew says that the memory will be written again: what workers read from now on of messages
	// that refer to it may be the values of another round.
	Renew()
	// Close frees the memory, to which no message under way refers.
	Close()
}

// Heap is memory of the Go heap.
type Heap []byte

// Bytes implements Space.
func (h Heap) Bytes() []byte { return h }

// Renew implements Space.
func (Heap) Renew() {}

// Close implements Space.
func (Heap) Close() {}

// Arithmetic adds arrays.
type Arithmetic interface {
	// Sum writes the sum of at least one part, elementwise, in their order, rounding after each
	// addition, to dst, which may be the first part. Unless out is nil it writes the sum to out
	// too, which is part of an array that no cache holds.
	Sum(dst, out []byte, parts [][]byte, t dtype.Type)
	// Stream copies src to dst, which is part of an array that no cache holds.
	Stream(dst, src []byte)
}

// Plain is the arithmetic in plain Go, which defines the result.
type Plain struct{}

// Sum implements Arithmetic.
func (Plain) Sum(dst, out []byte, parts [][]byte, t dtype.Type) {
	if len(dst) > 0 && &dst[0] != &parts[0][0] {
		copy(dst, parts[0])
	}
	for _, p := range parts[1:] {
		ps.Plain{}.Add(dst, p, t, 0)
	}
	copy(out, dst)
}

// Stream implements Arithmetic.
func (Plain) Stream(dst, src []byte) { copy(dst, src) }

const (
	defaultDirect = 16 << 10
	defaultBucket = 64 << 10
	defaultSlice  = 1 << 20
	defaultWindow = 2 << 20
	nearWindow    = 512 << 10  // within a host
	sharedWindow  = 1280 << 10 // through shared memory
	defaultLong   = 8 << 20
)

// fill sets the defaults of zero fields and reports values that make no sense.
func (c *Config) fill() error {
	if c.Elastic {
		c.Workers = 1 // until the worker enters a group
	} else if c.Workers < 1 || c.Workers > 1<<15 || int(c.Rank) >= c.Workers {
		return fmt.Errorf("ring: worker %d of %d, want a rank below the number of workers, which "+
			"is 1 to %d: %w", c.Rank, c.Workers, 1<<15, ps.ErrUsage)
	}
	for _, f := range []struct {
		value *int
		def   int
	}{{&c.Direct, defaultDirect}, {&c.Bucket, defaultBucket}} {
		if *f.value == 0 {
			*f.value = f.def
		}
	}
	if c.Slice == 0 {
		c.Slice = defaultSlice
	}
	if c.Long == 0 {
		c.Long = defaultLong
	}
	if c.Timeout <= 0 {
		c.Timeout = 120 * ps.Second
	}
	if c.Arithmetic == nil {
		c.Arithmetic = Plain{}
	}
	if c.Room == nil {
		c.Room = func(bytes int) Space { return make(Heap, bytes) }
	}
	c.Timing.Fill()
	return nil
}
