package engine

import (
	"testing"
	"unsafe"

	"gomx/engine/core"
)

// cacheLine is the number of bytes that a processor fetches at once.
const cacheLine = 64

// TestLayout holds the layout of records that travel between processors: they fill whole cache
// lines, and the fields of pushers and workers lie on different ones.
func TestLayout(t *testing.T) {
	if core.Invariants {
		t.Skip("variables are larger with the tag invariants")
	}
	for name, at := range map[string]uintptr{
		"size of oper": unsafe.Sizeof(oper{}), "size of Var": unsafe.Sizeof(Var{}),
		"oper.run": unsafe.Offsetof(oper{}.run), "oper.about": unsafe.Offsetof(oper{}.about),
		"oper.buf": unsafe.Offsetof(oper{}.buf),
		"Var.sent": unsafe.Offsetof(Var{}.sent),
	} {
		if at%cacheLine != 0 {
			t.Errorf("%s is %d, want a multiple of %d", name, at, cacheLine)
		}
	}
}
