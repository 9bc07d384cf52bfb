//go:build cuda

package cuda

import (
	"fmt"
	"strings"
	"unsafe"

	"gomx/dtype"
)

// The limits of a Chain. Its numbers and addresses are passed to every launch.
const (
	ChainInputs  = 16
	ChainOutputs = 8
	ChainSteps   = 64
)

// ChainInput is an input of a Chain and its broadcasting: element e of the output reads element e /
// Each % Size of the input. Size 0 means that the input has the output's size.
type ChainInput struct {
	Each, Size int
	Type       dtype.Type
}

// ChainStep is one pointwise function of a Chain. Its name is the name in kernels/pointwise.cu.
type ChainStep struct {
	Name string
	S, T float64
	Args []int      // operands: numbers of inputs, and after them of results of earlier steps
	Type dtype.Type // element type to which the result is rounded
}

// Chain is a sequence of pointwise functions that one kernel computes in one pass over memory. The
// kernel's source consists of the functions' expressions, so every element has the same bits as the
// result of the functions one after the other. Values may have different types if all are computed
// in float32: a step named copy converts.
type Chain struct {
	packs, single *Function // kernels for several elements per thread at once, and for one
	lanes         int
	in, outs, n   int
	fixed         []uint64 // the kernel's parameter without the addresses
}

// NewChain makes a chain for n elements; outs lists the values that are outputs. It returns false
// if a limit is exceeded, a function does not exist for an element type, the types have different
// arithmetic types, or there is no compiler.
func NewChain(n int, in []ChainInput, steps []ChainStep, outs []int) (*Chain, bool) {
	if len(in) > ChainInputs || len(outs) > ChainOutputs || len(outs) == 0 ||
		len(steps) > ChainSteps {
		return nil, false
	}
	w := chainWriter{in: in, steps: steps, outs: outs, short: n < 1<<31}
	for _, i := range in {
		w.types = append(w.types, i.Type)
	}
	for _, s := range steps {
		if _, ok := expressions()[s.Name]; !ok || !Takes(s.Name, s.Type) ||
			len(s.Args) != ExpressionOf(s.Name).Operands {
			return nil, false
		}
		w.types = append(w.types, s.Type)
	}
	t, ok := w.settle()
	if !ok {
		return nil, false
	}
	u := Unit{Family: "chain", DType: t, Text: w.text()}
	if !u.known() {
		return nil, false
	}
	c := &Chain{packs: FuncOf(u, "chain"), single: FuncOf(u, "chain_single"), lanes: w.lanes,
		in: len(in), outs: len(outs), n: n}
	c.fixed = append(c.fixed, I(n))
	for _, r := range in {
		c.fixed = append(c.fixed, I(max(r.Each, 1)))
	}
	for _, r := range in {
		c.fixed = append(c.fixed, I(max(r.Size, 1)))
	}
	for _, s := range steps {
		c.fixed = append(c.fixed, F(s.S), F(s.T))
	}
	return c, true
}

// Unit returns the source to compile.
func (c *Chain) Unit() Unit { return c.packs.unit }

// chainWords is the size of the largest parameter, in words of eight bytes.
const chainWords = 1 + 3*ChainInputs + ChainOutputs + 2*ChainSteps

// Run puts the chain on q.
func (c *Chain) Run(q *Queue, out, in []unsafe.Pointer) error {
	var buf [chainWords]uint64
	args := append(buf[:0], c.fixed...)
	bits := uintptr(0)
	for _, list := range [][]unsafe.Pointer{in, out} {
		for _, p := range list {
			args, bits = append(args, P(p)), bits|uintptr(p)
		}
	}
	if bits%16 != 0 {
		return q.Launch(c.single, q.Each(c.n), args...)
	}
	return q.Launch(c.packs, q.Each(c.n/c.lanes+1), args...)
}

// chainWriter writes the source of a chain.
type chainWriter struct {
	lanes int
	types []dtype.Type // of the values: inputs, then results
	in    []ChainInput
	steps []ChainStep
	outs  []int
	short bool // indices fit into 32 bits
	b     strings.Builder
}

// names maps element types to their names in kernels.
var names = map[dtype.Type]string{dtype.Float32: "float", dtype.Float64: "double",
	dtype.Float16: "half_t", dtype.BFloat16: "bfloat_t"}

// settle returns the element type of the unit, and sets the number of elements of a pack: 16 bytes
// of the narrowest type.
func (w *chainWriter) settle() (t dtype.Type, ok bool) {
	narrowest := 8
	for i, u := range w.types {
		if names[u] == "" || i > 0 && u != t && (u == dtype.Float64 || t == dtype.Float64) {
			return t, false
		}
		if i > 0 && u != t {
			t = dtype.Float32
		} else {
			t = u
		}
		narrowest = min(narrowest, u.Size())
	}
	w.lanes = 16 / narrowest
	return t, true
}

// of returns the name of a value's type.
func (w *chainWriter) of(value int) string { return names[w.types[value]] }

func (w *chainWriter) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// text returns the source: the functions that expressions use, the parameter, and two kernels.
func (w *chainWriter) text() string {
	head, err := kernelFiles.ReadFile("kernels/pointwise.cu")
	if err != nil {
		panic(err)
	}
	before, _, _ := strings.Cut(string(head), "#define MAP(")
	w.b.WriteString(before)
	w.line("struct Chain {\n\tInt n, each[%d], size[%d];\n\tdouble c[%d];\n\tPtr in[%d], "+
		"out[%d];\n};", max(len(w.in), 1), max(len(w.in), 1), max(2*len(w.steps), 1),
		max(len(w.in), 1), len(w.outs))
	w.line("template <class E> struct alignas(16) Pack {\n\tE v[%d];\n};", w.lanes)
	w.line("template <class E> __device__ inline A once(A v) {\n\tE t;\n\tput(&t, 0, " +
		"v);\n\treturn get(&t, 0);\n}")
	index := "Int"
	if w.short {
		index = "unsigned"
	}
	w.line("__device__ inline Int again(Int i, Int each, Int size) { return (%s)i / (%s)each %% "+
		"(%s)size; }", index, index, index)
	w.function()
	w.packs()
	w.line("KERNEL(chain_single, Chain) {\n\tEACH(i, k.n) single(k, i);\n}")
	return w.b.String()
}

// function writes the device function that computes one element.
func (w *chainWriter) function() {
	w.line("__device__ inline void element(const Chain &k, const A *in, A *out) {")
	for i := range w.in {
		w.line("\tconst A v%d = in[%d];", i, i)
	}
	for i, s := range w.steps {
		v := len(w.in) + i
		w.line("\tA v%d;\n\t{\n\t\tconst A s = (A)k.c[%d], t = (A)k.c[%d], x = v%d;", v, 2*i, 2*i+1,
			s.Args[0])
		if len(s.Args) > 1 {
			w.line("\t\tconst A y = v%d;", s.Args[1])
		}
		w.line("\t\t(void)s, (void)t;\n\t\tv%d = once<%s>((A)(%s));\n\t}", v, w.of(v),
			ExpressionOf(s.Name).Text)
	}
	for i, v := range w.outs {
		w.line("\tout[%d] = v%d;", i, v)
	}
	w.line("}")
	w.line("__device__ inline void single(const Chain &k, Int i) {\n\tA in[%d], out[%d];",
		max(len(w.in), 1), len(w.outs))
	for i, r := range w.in {
		w.line("\tin[%d] = get((const %s *)k.in[%d], %s);", i, w.of(i), i, w.position(r, i, "i"))
	}
	w.line("\telement(k, in, out);")
	for i, v := range w.outs {
		w.line("\tput((%s *)k.out[%d], i, out[%d]);", w.of(v), i, i)
	}
	w.line("}")
}

// position returns the index, as an expression, of the element of input i that element e of the
// output reads.
func (w *chainWriter) position(r ChainInput, i int, e string) string {
	switch {
	case r.Size == 0:
		return e
	case r.Size == 1:
		return "0"
	}
	return fmt.Sprintf("again(%s, k.each[%d], k.size[%d])", e, i, i)
}

// The ways in which a pack of elements of the output reads an input.
const (
	packWhole  = iota // a pack of its own
	packRow           // a pack that other packs read too
	packOne           // one element for all
	packSingly        // each element for itself
)

// way returns the way to read an input; packs do not cross the ends of its runs.
func (w *chainWriter) way(r ChainInput) int {
	switch {
	case r.Size == 0:
		return packWhole
	case r.Size == 1 || r.Each%w.lanes == 0 && r.Each > 0:
		return packOne
	case r.Each <= 1 && r.Size%w.lanes == 0:
		return packRow
	}
	return packSingly
}

// packs writes the kernel in which each thread reads and writes at least 16 bytes at once.
func (w *chainWriter) packs() {
	w.line("KERNEL(chain, Chain) {\n\tconst Int packs = k.n / %d;\n\tEACH(p, packs) {\n\t\tA "+
		"in[%d][%d], out[%d][%d];", w.lanes, w.lanes, max(len(w.in), 1), w.lanes, len(w.outs))
	first := fmt.Sprintf("p * %d", w.lanes)
	for i, r := range w.in {
		t := w.of(i)
		switch w.way(r) {
		case packWhole:
			w.line("\t\tconst Pack<%s> a%d = ((const Pack<%s> *)k.in[%d])[p];", t, i, t, i)
		case packRow:
			w.line("\t\tconst Pack<%s> a%d = ((const Pack<%s> *)k.in[%d])[again(%s, 1, k.size[%d]) "+
				"/ %d];", t, i, t, i, first, i, w.lanes)
		case packOne:
			w.line("\t\tconst A a%d = get((const %s *)k.in[%d], %s);", i, t, i,
				w.position(r, i, first))
		}
	}
	w.line("#pragma unroll\n\t\tfor (int j = 0; j < %d; j++) {", w.lanes)
	for i, r := range w.in {
		switch w.way(r) {
		case packWhole, packRow:
			w.line("\t\t\tin[j][%d] = get(a%d.v, j);", i, i)
		case packOne:
			w.line("\t\t\tin[j][%d] = a%d;", i, i)
		default:
			w.line("\t\t\tin[j][%d] = get((const %s *)k.in[%d], %s);", i, w.of(i), i,
				w.position(r, i, first+" + j"))
		}
	}
	w.line("\t\t\telement(k, in[j], out[j]);\n\t\t}")
	for i, v := range w.outs {
		w.line("\t\t{\n\t\t\tPack<%s> r;\n#pragma unroll\n\t\t\tfor (int j = 0; j < %d; j++) "+
			"put(r.v, j, out[j][%d]);\n\t\t\t((Pack<%s> *)k.out[%d])[p] = r;\n\t\t}", w.of(v),
			w.lanes, i, w.of(v), i)
	}
	w.line("\t}\n\tfor (Int i = packs * %d + THREAD; i < k.n; i += THREADS) single(k, i);\n}",
		w.lanes)
}
