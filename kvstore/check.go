package kvstore

import (
	"errors"
	"fmt"

	"gomx/dtype"
	nd "gomx/ndarray"
)

var (
	errClosed      = errors.New("kvstore: the store is closed")
	errNoOptimizer = errors.New("kvstore: no optimizer: call SetOptimizer first")
)

// fits checks the arrays of a call against the shape and type of a key.
func fits(key, what string, shape dtype.Shape, t dtype.Type, arrays []*nd.Array) error {
	if len(arrays) == 0 {
		return fmt.Errorf("kvstore: %s: no arrays for key %q", what, key)
	}
	for i, a := range arrays {
		if a == nil {
			return fmt.Errorf("kvstore: %s: array %d for key %q is nil", what, i, key)
		}
		if !a.Shape().Equal(shape) || a.DType() != t {
			return fmt.Errorf("kvstore: %s: array %d for key %q is %v of shape %v, want %v of shape %v", what, i, key, a.DType(), a.Shape(), t, shape)
		}
	}
	return nil
}
