package op_test

import (
	"slices"
	"testing"

	"gomx/op"
)

func TestNoticesAreGivenOnce(t *testing.T) {
	var got []string
	old := op.NoticesTo(func(text string) { got = append(got, text) })
	defer func() { op.NoticesTo(old) }()
	for range 2 {
		op.Notice("%s has no effect", "a")
		op.Notice("%s has no effect", "b")
	}
	if want := []string{"a has no effect", "b has no effect"}; !slices.Equal(got, want) {
		t.Errorf("notices %q, want %q", got, want)
	}
	op.NoticesTo(nil)
	op.Notice("c")
	if len(got) != 2 {
		t.Errorf("a notice came where none is wanted: %q", got)
	}
}
