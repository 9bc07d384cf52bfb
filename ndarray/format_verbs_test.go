package ndarray_test

import (
	"fmt"
	"strings"
	"testing"

	nd "gomx/ndarray"
	"gomx/op"
)

func TestVerbs(t *testing.T) {
	x := nd.FromSlice([]float32{1, 2.5, -3.25, 10}, 2, 2)
	whole := nd.FromSlice([]int32{7, 255})
	closed := nd.FromSlice([]float32{1})
	closed.Close()
	failed := nd.Apply(failing, op.NoParams{}, nd.FromSlice([]float32{1, 2}))
	_, failure := failed.Float32s()
	for _, c := range []struct {
		format string
		a      *nd.Array
		want   string
	}{
		{"%v", x, x.String()},
		{"%s", x, x.String()},
		{"%+v", x, x.String()},
		{"%q", whole, fmt.Sprintf("%q", whole.String())},
		{"%.2f", x, "[[ 1.00  2.50]\n [-3.25 10.00]]"},
		{"%6.1f", x, "[[   1.0    2.5]\n [  -3.2   10.0]]"},
		{"%.1e", x, "[[ 1.0e+00  2.5e+00]\n [-3.2e+00  1.0e+01]]"},
		{"%g", x, "[[    1   2.5]\n [-3.25    10]]"},
		{"%+d", whole, "[  +7 +255]"},
		{"%04x", whole, "[0007 00ff]"},
		{"%d", nd.FromSlice([]float32{1, 2}), "[1 2]"},
		{"%d", nd.FromSlice([]float32{1.5}), "[%!d(float64=1.5)]"},
		{"%.1f", nd.FromSlice([]float64{3.5}).Reshape(), "3.5"},
		{"%v", closed, "%!v(ndarray.Array: closed)"},
		{"%s", failed, "%!s(<Array 2 cpu(0)>: " + failure.Error() + ")"},
		{"%v", failed, "%!v(<Array 2 cpu(0)>: " + failure.Error() + ")"},
		{"%.2f", failed, "%!f(<Array 2 cpu(0)>: " + failure.Error() + ")"},
		{"%.1f", closed, "%!f(ndarray.Array: closed)"},
		{"%.1f", nil, "%!f(ndarray.Array: closed)"},
	} {
		if got := fmt.Sprintf(c.format, c.a); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.format, got, c.want)
		}
	}
	if got := fmt.Sprintf("%.1f", nd.FromSlice(ramp(3000), 30, 100)); !strings.Contains(got,
		"...") || len(got) > 700 {
		t.Errorf("a large array is not printed in part: %d characters", len(got))
	}
}

func TestTapeText(t *testing.T) {
	var none *nd.Tape
	for tape, want := range map[*nd.Tape]string{nd.NewTape(true): "<Tape of training>",
		nd.NewTape(false): "<Tape of inference>", none: "<Tape: nil>"} {
		if got := fmt.Sprint(tape); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
