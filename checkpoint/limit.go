package checkpoint

import (
	"fmt"

	"gomx/dtype"
)

// LoadOption is an option of loading arrays.
type LoadOption func(*loadConfig)

type loadConfig struct {
	only  bool  // sparse arrays become dense
	dense int64 // bytes; 0: the default
}

// denseAllowance is the number of bytes, beyond the size of the file, that its sparse arrays may
// take when they are stored densely.
const denseAllowance = 32 << 20

// DenseLimit makes sparse arrays dense, and sets the number of bytes that those of one file may take
// together. 0 means 32 MiB plus the size of the file: a sparse array of a few bytes may claim any
// shape. Of states, which stay sparse, it limits the bytes of all arrays together.
func DenseLimit(bytes int64) LoadOption {
	return func(c *loadConfig) { c.only, c.dense = true, bytes }
}

// room is the number of bytes that are left of a limit.
type room struct {
	left, limit int64
	only        bool // sparse arrays become dense
}

// newRoom returns the room for the sparse arrays of a file of size bytes; -1: unknown size.
func newRoom(size int64, opts []LoadOption) *room {
	var c loadConfig
	for _, o := range opts {
		o(&c)
	}
	if c.dense == 0 {
		c.dense = denseAllowance + max(size, 0)
	}
	return &room{c.dense, c.dense, c.only}
}

// take takes n bytes for an array.
func (r *room) take(n int64, s Stype, t dtype.Type, shape dtype.Shape) error {
	if n > r.left {
		return fmt.Errorf("checkpoint: array of storage %v claims shape %v of %v: %d bytes when "+
			"stored densely, want at most %d for all of the file; checkpoint.DenseLimit allows "+
			"more", s, shape, t, n, r.limit)
	}
	r.left -= n
	return nil
}
