//go:build cuda

package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// rowGroups are those of a vector of indices of rows.
func rowGroups(s dtype.Shape, index op.Desc, mode int) *attach.Groups {
	return attach.NewGroups(1, s[0], index.Shape.Size(), s[1:].Size(), mode, 1)
}
