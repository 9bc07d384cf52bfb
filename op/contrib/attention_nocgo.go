//go:build !cgo

package contrib

import "gomx/op"

// attachAttention does nothing: without cgo there are no kernels of tier c.
func attachAttention(_, _ op.Handle[AttentionParams], _ attention) {}
