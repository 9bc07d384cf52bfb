//go:build cuda

package attach

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
)

// orderArgs is the parameter of the kernels in order.cu that sort.
type orderArgs struct {
	x                             Any
	from, to                      unsafe.Pointer
	lanes, n, step, width, ascend int
}

// run is how many elements one thread of order.cu sorts.
const run = 8

// Order describes the numbers to sort: lanes of n elements, step apart. Lane l begins at
// l/step·step·n + l%step.
type Order struct {
	Lanes, N, Step int
	Ascend         bool
}

// Scratch is how many bytes of memory sorting takes.
func (o Order) Scratch() int { return 2 * 8 * o.Lanes * o.N }

// Run sorts the lanes of x and returns where the places of their elements are in order, as int64;
// equal elements keep their order. scratch has Scratch bytes.
func (o Order) Run(q *cuda.Queue, x Any, scratch unsafe.Pointer) (unsafe.Pointer, error) {
	k := orderArgs{x: x, to: scratch, from: unsafe.Add(scratch, o.Scratch()/2), lanes: o.Lanes,
		n: o.N, step: max(o.Step, 1), width: run, ascend: B2I(o.Ascend)}
	if err := cuda.LaunchWith(q, AnyFunc("order", "order_runs"), q.Each(o.Lanes*((o.N+run-1)/run)),
		&k); err != nil {
		return nil, err
	}
	for ; k.width < o.N; k.width *= 2 {
		k.from, k.to = k.to, k.from
		if err := cuda.LaunchWith(q, AnyFunc("order", "order_merge"), q.Each(o.Lanes*o.N),
			&k); err != nil {
			return nil, err
		}
	}
	return k.to, nil
}

// tuplesArgs and groupsArgs are parameters of the kernels in order.cu for runs of elements that
// tuples of indices name.
type (
	tuplesArgs struct {
		index             Any
		at                unsafe.Pointer
		axes, count, mode int
		dim, stride       [cuda.Axes]int
	}
	groupsArgs struct {
		out, in                 Any
		at, order               unsafe.Pointer
		outer, extent, count, n int
	}
	sumsArgs struct {
		out, in                          Any
		at, order, partAt, part          unsafe.Pointer
		outer, extent, count, n, columns int
	}
)

// Nearest and its neighbours say how indices out of range are read.
const (
	Nearest = iota // the nearest index in range
	Modulo         // the remainder of a division by the extent
	LeftOut        // the index names nothing
	// as Nearest; fractions are rounded down, negative indices count from the end
	NearestEnds
	LeftOutEnds // as LeftOut, with the same two rules
)

// Groups says which runs of an array belong to which of another one, where indices tell.
type Groups struct {
	tuples tuplesArgs
	runs   groupsArgs
	index  int  // input with the indices
	sorted bool // runs that belong together are found
}

// NewGroups is for runs of n elements that single indices lead to, count of them for each of outer,
// out of extent; index is the input with the indices.
func NewGroups(outer, extent, count, n, mode, index int) *Groups {
	g := &Groups{index: index, runs: groupsArgs{outer: outer, extent: extent, count: count, n: n}}
	g.tuples = tuplesArgs{axes: 1, count: count, mode: mode}
	g.tuples.dim[0], g.tuples.stride[0] = extent, 1
	return g
}

// TupleGroups is for tuples of indices into an array of shape s.
func TupleGroups(s, indices dtype.Shape, index, mode int) (*Groups, error) {
	m := indices[0]
	if m > cuda.Axes || s[:m].Size() == 0 {
		return nil, op.ErrUnsupported
	}
	n := s[m:].Size()
	g := &Groups{index: index, runs: groupsArgs{outer: 1, extent: s[:m].Size(),
		count: indices[1:].Size(), n: n}}
	g.tuples = tuplesArgs{axes: m, count: g.runs.count, mode: mode}
	for a, st := range s[:m].Strides() {
		g.tuples.dim[a], g.tuples.stride[a] = s[a], st
	}
	return g, nil
}

// Scratch is how many bytes a run takes.
func (g *Groups) Scratch() int { return 8*g.runs.count + Order{1, g.runs.count, 1, true}.Scratch() }

// find puts the kernels on q that find destinations of runs and, if runs that belong together are
// wanted, their order.
func (g *Groups) find(q *cuda.Queue, c *op.Call) (at, order unsafe.Pointer, err error) {
	t := g.tuples
	t.index, t.at = AnyOf(c.In[g.index]), c.Scratch
	if err := cuda.LaunchWith(q, AnyFunc("order", "tuples"), q.Each(t.count), &t); err != nil {
		return nil, nil, err
	}
	if g.sorted {
		order, err = (Order{1, t.count, 1, true}).Run(q, Any{t.at, cuda.Code(dtype.Int64)},
			unsafe.Add(c.Scratch, 8*t.count))
	}
	return t.at, order, err
}

// Launch runs a kernel over all runs, after the kernels that make the order of runs.
func (g *Groups) Launch(q *cuda.Queue, c *op.Call, name string, out, in op.Tensor) (err error) {
	k := g.runs
	if k.outer*k.count*k.n == 0 {
		return nil
	}
	k.out, k.in = AnyOf(out), AnyOf(in)
	if k.at, k.order, err = g.find(q, c); err != nil {
		return err
	}
	return cuda.LaunchWith(q, AnyFunc("order", name), q.Each(k.outer*k.count*k.n), &k)
}

// The sizes of groups_sum in order.cu.
const (
	sumThreads = 256 // of a block
	sumSources = 16  // sources that one thread sums
	sumColumns = 32  // largest number of adjacent elements that a block sums
)

// tiles returns how many adjacent elements a block of groups_sum sums, and how many blocks share
// count sources.
func (g *Groups) tiles(count int) (columns, tiles int) {
	columns = 1
	for columns < min(g.runs.n, sumColumns) {
		columns *= 2
	}
	tile := sumThreads / columns * sumSources
	return columns, (count + tile - 1) / tile
}

// partsSize is how many bytes the parts of the sums of count sources take.
func (g *Groups) partsSize(count int) (at, part int) {
	if _, tiles := g.tiles(count); tiles > 1 {
		at = 8 * 2 * tiles
		part = at * g.runs.outer * g.runs.n
	}
	return at, part
}

// sum adds up the runs that belong together. Tiles of sources have sums of their own for groups that
// cross their ends, which are the sources of the next launch.
func (g *Groups) sum(q *cuda.Queue, c *op.Call) error {
	r := g.runs
	k := sumsArgs{out: AnyOf(c.Out[0]), in: AnyOf(c.In[0]), outer: r.outer, extent: r.extent,
		count: r.count, n: r.n}
	if k.outer*k.count*k.n == 0 {
		return nil
	}
	var err error
	if k.at, k.order, err = g.find(q, c); err != nil {
		return err
	}
	free := unsafe.Add(c.Scratch, g.Scratch())
	for {
		columns, tiles := g.tiles(k.count)
		at, part := g.partsSize(k.count)
		if k.columns, k.partAt, k.part = columns, nil, nil; tiles > 1 {
			k.partAt, k.part = free, unsafe.Add(free, at)
			free = unsafe.Add(free, at+part)
		}
		blocks := k.outer * tiles * ((k.n + columns - 1) / columns)
		if err := cuda.LaunchWith(q, AnyFunc("order", "groups_sum"),
			cuda.Grid{X: min(blocks, 1<<20), Y: 1, Threads: sumThreads}, &k); err != nil || tiles == 1 {
			return err
		}
		k.in, k.at, k.order, k.count = Any{k.part, cuda.Code(dtype.Float64)}, k.partAt, nil, 2*tiles
	}
}

// Sum prepares the gradient of reading: runs of input 0 that belong together are added up, in a
// fixed order.
func (g *Groups) Sum(out op.Desc) (*op.Prepared, error) {
	g.sorted = true
	scratch := g.Scratch()
	for count, tiles := g.runs.count, 2; tiles > 1; count = 2 * tiles {
		at, part := g.partsSize(count)
		scratch += at + part
		_, tiles = g.tiles(count)
	}
	return OnQueue(scratch, func(q *cuda.Queue, c *op.Call) error {
		if err := q.Clear(c.Out[0].Data, out.Bytes); err != nil {
			return err
		}
		return g.sum(q, c)
	})
}

// Write prepares writing runs of input from over a copy of input base, or over zeros where base is
// -1.
func (g *Groups) Write(out op.Desc, base, from int) (*op.Prepared, error) {
	g.sorted = true
	return OnQueue(g.Scratch(), func(q *cuda.Queue, c *op.Call) error {
		if err := CopyOver(q, c, out.Bytes, base); err != nil {
			return err
		}
		return g.Launch(q, c, "groups_last", c.Out[0], c.In[from])
	})
}

// CopyOver makes output 0 a copy of an input, or clears it.
func CopyOver(q *cuda.Queue, c *op.Call, bytes, base int) error {
	switch {
	case base < 0:
		return q.Clear(c.Out[0].Data, bytes)
	case c.Out[0].Data != c.In[base].Data:
		return q.CopyFrom(c.Out[0].Data, q.Device(), c.In[base].Data, bytes)
	}
	return nil
}
