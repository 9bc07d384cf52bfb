package ndarray

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Format implements fmt.Formatter. It waits for the values. %v, %+v and %s print the result of
// String, %q quotes it. Other verbs apply to the elements: %.2f prints them with two digits after
// the point, %d, %x and %o print integers, and a width applies to each element; the shape is left
// out. If computing the values has failed, Format prints %!v(error), with the verb in place of v.
// Elements that do not fit the verb appear as fmt prints them: %!d(float64=1.5).
func (a *Array) Format(s fmt.State, verb rune) {
	if a == nil || a.chunk == nil || a.closed.Load() {
		fmt.Fprintf(s, "%%!%c(ndarray.Array: closed)", verb)
		return
	}
	values, err := a.Float64s()
	if err != nil {
		fmt.Fprintf(s, "%%!%c(%s: %v)", verb, a.foot(), err)
		return
	}
	switch verb {
	case 'v', 's':
		io.WriteString(s, a.text(values))
		return
	case 'q':
		fmt.Fprintf(s, "%q", a.text(values))
		return
	}
	f := newFormatter(a, values)
	format := fmt.FormatString(s, verb)
	f.text = func(v float64) string {
		return fmt.Sprintf(format,
			element(verb, v, a.dtype.IsFloat()))
	}
	f.width = 0
	f.walk(0, 0, func(v float64) { f.width = max(f.width, len(f.text(v))) })
	io.WriteString(s, f.nested(0, 0))
}

// element converts v to the type that a verb formats: to int64 if the verb is for integers and v
// has an integer value, otherwise it stays a float64.
func element(verb rune, v float64, float bool) any {
	whole := v == math.Trunc(v) && math.Abs(v) < 1<<63
	if whole && (strings.ContainsRune("dboOcU", verb) || !float && (verb == 'x' || verb == 'X')) {
		return int64(v)
	}
	return v
}
