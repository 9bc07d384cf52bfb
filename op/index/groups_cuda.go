//go:build cuda

package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// rowGroups are the groups of a vector of row indices.
func rowGroups(s dtype.Shape, index op.Desc, mode int) *attach.Groups {
	return attach.NewGroups(1, s[0], index.Shape.Size(), s[1:].Size(), mode, 1)
}
