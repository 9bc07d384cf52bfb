//go:build cuda

package rnn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// forwardProducts holds the products of RNN: of the input of the first layer and of other layers,
// of the state, and of the projection.
type forwardProducts struct {
	input [2]*attach.Product
	state *attach.Product
	proj  *attach.Product
}

func (k *netCUDA) forwardProducts() (f forwardProducts, err error) {
	rows := k.rows()
	for l := range min(k.layers, 2) {
		in := k.inputSize(l)
		if f.input[l], err = k.product(attach.Dense(k.cells(), in), attach.Dense(rows, in).T(),
			attach.Dense(k.cells(), rows), 0); err != nil {
			return f, err
		}
	}
	if f.state, err = k.product(attach.Dense(k.batch, k.out), attach.Dense(rows, k.out).T(),
		attach.Dense(k.batch, rows), 0); err != nil || !k.projected {
		return f, err
	}
	f.proj, err = k.product(attach.Dense(k.batch, k.hidden), attach.Dense(k.out, k.hidden).T(),
		attach.Dense(k.batch, k.out), 0)
	return f, err
}

// runCUDA is one run of RNN on a GPU.
type runCUDA[F element] struct {
	*netCUDA
	products *forwardProducts
	q        *cuda.Queue
	c        *op.Call
	length   unsafe.Pointer
	kept     []F // the reserve, or scratch memory for one direction of one layer
	all      bool
	y        [2][]F // outputs of layers, in turn
	sums     []F    // sums of the gates from the input; nil: in the gates of the reserve
	fromH    []F    // sums of the gates from the state
	state    []F
	mem      []F
	full     []F // outputs before projection
	short    []F
}

func prepareCUDA[F element](p RNNParams, a *op.Args) (*op.Prepared, error) {
	k, err := newNetCUDA(p, a.In, a.Train)
	if err != nil {
		return nil, err
	}
	if s := k.stackFor(a); s != nil {
		return s.prepare(a)
	}
	products, err := k.forwardProducts()
	if err != nil {
		return nil, err
	}
	var count attach.CUDAScratch
	newRunCUDA[F](k, &count, a.Needs(len(a.Out)-1))
	return attach.OnQueue(count.Used, func(q *cuda.Queue, c *op.Call) error {
		last := c.Out[len(c.Out)-1]
		r := newRunCUDA[F](k, &attach.CUDAScratch{Base: c.Scratch}, last.Data != nil)
		r.products, r.q, r.c, r.length = &products, q, c, k.lengths(c.In)
		if r.all {
			r.kept = onDevice[F](last)
		}
		return r.run()
	})
}

// newRunCUDA allocates scratch memory; reserved says that the reserve is an operand.
func newRunCUDA[F element](k *netCUDA, s *attach.CUDAScratch, reserved bool) *runCUDA[F] {
	r := &runCUDA[F]{netCUDA: k, all: reserved}
	if !reserved {
		r.kept = take[F](s, k.reserveSize())
	}
	size := k.cells() * k.dirs * k.out
	r.y[0], r.y[1] = take[F](s, size), take[F](s, size)
	if k.cell.kept == 0 {
		r.sums = take[F](s, k.cells()*k.rows())
	}
	r.fromH, r.state, r.mem = take[F](s, k.batch*k.rows()), take[F](s, k.batch*k.out),
		take[F](s, k.batch*k.hidden)
	if k.projected {
		r.full, r.short = take[F](s, k.batch*k.hidden), take[F](s, k.batch*k.out)
	}
	return r
}

// run computes the layers.
func (r *runCUDA[F]) run() error {
	x := onDevice[F](r.c.In[0])
	for l := range r.layers {
		y := r.y[l%2]
		if l == r.layers-1 && r.c.Out[0].Data != nil {
			y = onDevice[F](r.c.Out[0])
		}
		for d := range r.dirs {
			if err := r.direction(l, d, x, y); err != nil {
				return err
			}
		}
		if err := r.drop(l, y); err != nil {
			return err
		}
		x = y
	}
	return nil
}

// keep returns the memory for the data of one direction of a layer that the gradient reads.
func (r *runCUDA[F]) keep(layer, dir int) reserve[F] {
	if r.all {
		return reserveOf(&r.net, r.kept, layer, dir)
	}
	return reserveOf(&r.net, r.kept, 0, 0)
}

// load copies the states of one direction of a layer, n elements, from or to the array of all
// states.
func (k *netCUDA) load(q *cuda.Queue, to, from unsafe.Pointer, n int) error {
	if to == nil || from == nil {
		return nil
	}
	return q.CopyFrom(to, q.Device(), from, n*k.t.Size())
}

// direction runs one direction of a layer from x to its part of y.
func (r *runCUDA[F]) direction(layer, dir int, x, y []F) error {
	w, keep, at := weightsOf(&r.net, onDevice[F](r.c.In[1]), layer, dir), r.keep(layer, dir),
		layer*r.dirs+dir
	sums := r.sums
	if sums == nil {
		sums = keep.gates
	}
	if err := r.products.input[min(layer, 1)].Run(r.q, start(x), start(w.x),
		start(sums)); err != nil {
		return err
	}
	if err := r.load(r.q, start(r.state), start(part(onDevice[F](r.c.In[2]), at, r.batch*r.out)),
		r.batch*r.out); err != nil {
		return err
	}
	if r.cell.memory {
		if err := r.load(r.q, start(r.mem),
			start(part(onDevice[F](r.c.In[3]), at, r.batch*r.hidden)),
			r.batch*r.hidden); err != nil {
			return err
		}
	}
	for i := range r.steps {
		if err := r.step(r.at(dir, i), dir, w, keep, sums, y); err != nil {
			return err
		}
	}
	if !r.p.StateOutputs {
		return nil
	}
	if err := r.load(r.q, start(part(onDevice[F](r.c.Out[1]), at, r.batch*r.out)), start(r.state),
		r.batch*r.out); err != nil || !r.cell.memory {
		return err
	}
	return r.load(r.q, start(part(onDevice[F](r.c.Out[2]), at, r.batch*r.hidden)), start(r.mem),
		r.batch*r.hidden)
}

// step computes the cells of step t.
func (r *runCUDA[F]) step(t, dir int, w weights[F], keep reserve[F], sums, y []F) error {
	if err := r.products.state.Run(r.q, start(r.state), start(w.h), start(r.fromH)); err != nil {
		return err
	}
	rows := r.batch * r.rows()
	args := cellArgs{mode: r.mode, batch: r.batch, hidden: r.hidden, step: t, length: r.length,
		lengthType: r.lengthType,
		x:          start(part(sums, t, rows)), h: start(r.fromH), bx: start(w.bx), bh: start(w.bh),
		gates: start(part(keep.gates, t, r.batch*r.cell.kept*r.hidden)),
		extra: start(part(keep.extra, t, r.batch*r.cell.extra*r.hidden)),
		state: start(r.state), mem: start(r.mem), full: start(r.full),
		out: start(part(keep.h, t, r.batch*r.out)),
		y:   start(y[t*r.batch*r.dirs*r.out+dir*r.out:]), size: r.out, row: r.dirs * r.out}
	if err := cuda.LaunchWith(r.q, cuda.Func("cells", "cell", r.netCUDA.t),
		r.q.Each(r.batch*r.hidden), &args); err != nil || !r.projected {
		return err
	}
	if err := r.products.proj.Run(r.q, start(r.full), start(w.proj), start(r.short)); err != nil {
		return err
	}
	args.x = start(r.short)
	return cuda.LaunchWith(r.q, cuda.Func("cells", "cell_store", r.netCUDA.t),
		r.q.Each(r.batch*r.out), &args)
}

// drop applies dropout to the outputs of a layer, except the last one, and keeps the mask.
func (r *runCUDA[F]) drop(layer int, y []F) error {
	if !r.drops || layer == r.layers-1 && !r.all {
		return nil
	}
	for d := range r.dirs {
		mask := r.keep(layer, d).mask
		if layer == r.layers-1 {
			if err := r.q.Clear(start(mask), len(mask)*r.t.Size()); err != nil {
				return err
			}
			continue
		}
		keep := 1.0
		if r.train {
			keep = 1 - r.p.P
		}
		args := lanesArgs{to: start(mask), dir: d, key: r.c.Seed.Key, counter: r.c.Seed.Counter,
			stream: layer, keep: keep}
		if err := r.lanes(r.q, "lanes_draw", args); err != nil {
			return err
		}
		if err := r.lanes(r.q, "lanes_mask", lanesArgs{to: start(y), mask: start(mask),
			dir: d}); err != nil {
			return err
		}
	}
	return nil
}
