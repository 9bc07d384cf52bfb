//go:build cuda

package cuda

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"gomx/dtype"
)

// Axes is the largest number of axes of strided operands of kernels, after NewWalk has joined axes.
const Axes = 8

// LaunchWith puts a kernel on q whose parameter is args, a struct of fields of eight bytes: int,
// float64, unsafe.Pointer and arrays of these.
func LaunchWith[T any](q *Queue, f *Function, g Grid, args *T) error {
	return q.Launch(f, g, unsafe.Slice((*uint64)(unsafe.Pointer(args)),
		int(unsafe.Sizeof(*args))/8)...)
}

// Walk is an order in which a kernel visits the elements of its operands: extents of common axes,
// and per operand the stride along each axis in elements, 0 for broadcasting.
type Walk struct {
	Dims    []int
	Strides [][]int
}

// NewWalk joins axes that are contiguous in all operands and drops axes of extent one. It returns
// false if more than Axes are left.
func NewWalk(shape []int, strides ...[]int) (Walk, bool) {
	w := Walk{Strides: make([][]int, len(strides))}
	for i, d := range shape {
		if d == 1 {
			continue
		}
		last := len(w.Dims) - 1
		joins := last >= 0
		for k, s := range strides {
			joins = joins && w.Strides[k][last] == s[i]*d
		}
		if joins {
			w.Dims[last] *= d
			for k, s := range strides {
				w.Strides[k][last] = s[i]
			}
			continue
		}
		w.Dims = append(w.Dims, d)
		for k, s := range strides {
			w.Strides[k] = append(w.Strides[k], s[i])
		}
	}
	return w, len(w.Dims) <= Axes
}

// Linear reports whether all operands are dense in the order of the walk.
func (w Walk) Linear() bool {
	for _, s := range w.Strides {
		if len(s) > 1 || len(s) == 1 && s[0] != 1 {
			return false
		}
	}
	return true
}

// Size returns the number of elements of the walk.
func (w Walk) Size() int {
	n := 1
	for _, d := range w.Dims {
		n *= d
	}
	return n
}

// Fill copies the walk into the arrays of a kernel's parameter and returns the number of axes.
func (w Walk) Fill(dims *[Axes]int, strides ...*[Axes]int) int {
	copy(dims[:], w.Dims)
	for k, s := range strides {
		copy(s[:], w.Strides[k])
	}
	return len(w.Dims)
}

// mapArgs is the parameter of the kernels in pointwise.cu.
type mapArgs struct {
	out, a, b          unsafe.Pointer
	n                  int
	s, t               float64
	wayOut, wayA, wayB int
	axes               int
	dim, by, sa, sb    [Axes]int
}

// The ways in which pointwise.cu reads and writes a word of eight bytes.
const (
	elements = iota // one by one
	words           // at once
	repeated        // one element for all of the word
)

// Map is a kernel of kernels/pointwise.cu for operands of one element type; S and T are the numbers
// of its expression.
type Map struct {
	S, T float64

	f    *Function
	word int // elements of a word
	args mapArgs
}

// NewMap makes a kernel by name for n elements of each operand.
func NewMap(name string, t dtype.Type, n int) *Map {
	return &Map{f: Func("pointwise", name, t), word: 8 / t.Size(),
		args: mapArgs{n: n, wayA: words, wayB: words}}
}

// Broadcast makes the two operands be read along a walk of the output's axes.
func (m *Map) Broadcast(w Walk) {
	k := &m.args
	if k.n == 0 || w.Linear() {
		return
	}
	k.axes = w.Fill(&k.dim, &k.sa, &k.sb)
	for i, d := range w.Dims {
		k.by[i] = divisor(d)
	}
	k.wayA, k.wayB = m.way(w, 0), m.way(w, 1)
}

// way returns the way to read the words of an operand, which must not cross the end of a row.
func (m *Map) way(w Walk, operand int) int {
	last, s := len(w.Dims)-1, w.Strides[operand]
	if last > 0 && w.Dims[last]%m.word != 0 || s[last] > 1 {
		return elements
	}
	if s[last] == 0 {
		return repeated
	}
	for _, v := range s[:last] {
		if v%m.word != 0 {
			return elements
		}
	}
	return words
}

// divisor returns the number for which quotient in pointwise.cu divides by d, if d < 2^31.
func divisor(d int) int {
	s := bits.Len(uint(d - 1))
	return (1<<32*(1<<s-d)/d + 1) | s<<32
}

// Run puts the kernel on q; b is nil for functions of one element.
func (m *Map) Run(q *Queue, out, a, b unsafe.Pointer) error {
	k := m.args
	k.out, k.a, k.b, k.s, k.t = out, a, b, m.S, m.T
	for _, o := range []struct {
		p   unsafe.Pointer
		way *int
	}{{a, &k.wayA}, {b, &k.wayB}} {
		if *o.way == words && uintptr(o.p)%8 != 0 {
			*o.way = elements
		}
	}
	if uintptr(out)%8 == 0 {
		k.wayOut = words
	}
	return LaunchWith(q, m.f, q.Each((k.n+m.word-1)/m.word), &k)
}

// Expression is the expression of a kernel of kernels/pointwise.cu in x, in y if it has two
// operands, and in the numbers s and t.
type Expression struct {
	Text     string
	Operands int
	Floats   bool // exists for floating-point types only
}

// expressions holds the expressions of kernels/pointwise.cu by name.
var expressions = sync.OnceValue(func() map[string]Expression {
	text, err := kernelFiles.ReadFile("kernels/pointwise.cu")
	if err != nil {
		panic(err)
	}
	list := map[string]Expression{}
	only := false
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		only = only || line == "#if GX_FLOATS" && len(list) > 0
		for n, macro := range []string{"MAP(", "ZIP("} {
			if rest, ok := strings.CutPrefix(line, macro); ok {
				for _, more := range lines[i+1:] { // lines that go on are indented
					if !strings.HasPrefix(more, "\t") {
						break
					}
					rest += " " + strings.TrimSpace(more)
				}
				name, value, _ := strings.Cut(rest, ", ")
				list[name] = Expression{strings.TrimSuffix(value, ")"), n + 1, only}
			}
		}
	}
	return list
})

// ExpressionOf returns the expression of a pointwise kernel. It panics if there is none, because
// names are constants of the program.
func ExpressionOf(name string) Expression {
	e, ok := expressions()[name]
	if !ok {
		panic(fmt.Sprintf("cuda: kernels/pointwise.cu has no %q", name))
	}
	return e
}

// Takes reports whether the pointwise kernel with this name exists for an element type.
func Takes(name string, t dtype.Type) bool {
	return slices.Contains(floats, t) || !ExpressionOf(name).Floats && Serves("pointwise", t)
}

// Floats lists the floating-point types.
func Floats() []dtype.Type { return slices.Clone(floats) }

// Code returns the number of an element type in kernels, for operands whose type is known at run
// time only.
func Code(t dtype.Type) int { return int(t) + 1 }
