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
	// Slice is the size in bytes of the longest slice of a key with owners; 0: 512 KiB.
	Slice uint64
	// Window is the number of bytes that may be on their way to one worker, which has not confirmed
	// them; 0: 2 MiB. More do not stay in the processor's cache between sender and receiver.
	Window uint64
	// Timeout is the time that a call without a deadline may take; 0: 120 s.
	Timeout ps.Time
	Timing  ps.Timing
	// Arithmetic adds up contributions; nil: Plain.
	Arithmetic Arithmetic
}

// Arithmetic adds arrays.
type Arithmetic interface {
	// Add writes a + b to dst, elementwise, rounding once per element. dst may be a.
	Add(dst, a, b []byte, t dtype.Type)
}

// Plain is the arithmetic in plain Go, which defines the result.
type Plain struct{}

// Add implements Arithmetic.
func (Plain) Add(dst, a, b []byte, t dtype.Type) {
	if len(dst) > 0 && &dst[0] != &a[0] {
		copy(dst, a)
	}
	ps.Plain{}.Add(dst, b, t, 0)
}

const (
	defaultDirect = 16 << 10
	defaultBucket = 64 << 10
	defaultSlice  = 512 << 10
	defaultWindow = 2 << 20
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
	if c.Window == 0 {
		c.Window = defaultWindow
	}
	if c.Timeout <= 0 {
		c.Timeout = 120 * ps.Second
	}
	if c.Arithmetic == nil {
		c.Arithmetic = Plain{}
	}
	c.Timing.Fill()
	return nil
}
