//go:build cuda

package rnn

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// cellGradArgs is the parameter of the gradient kernels of cells.cu.
type cellGradArgs struct {
	mode, batch, hidden, step int
	length                    unsafe.Pointer
	lengthType                int
	gates, extra, out         unsafe.Pointer
	prev, mem, dout           unsafe.Pointer
	dgates, dstate, dh, dmem  unsafe.Pointer
	dy, douts                 unsafe.Pointer
	size, row                 int
}

// gradProducts holds the products of the gradient; pairs are for the first layer and for other
// layers.
type gradProducts struct {
	toState, fromProj, dproj *attach.Product
	dwx                      [2]*attach.Product
	dx                       [2][2]*attach.Product // in each pair the second product adds
	dwh                      *attach.Product
	bias                     *attach.Reduction
}

func (k *netCUDA) gradProducts() (g gradProducts, err error) {
	rows, cells := k.rows(), k.cells()
	gates, outs := attach.Dense(cells, rows), attach.Dense(cells, k.out)
	type job struct {
		p       **attach.Product
		a, b, c attach.Matrix
		beta    float64
	}
	jobs := []job{
		{&g.toState, attach.Dense(k.batch, rows), attach.Dense(rows, k.out),
			attach.Dense(k.batch, k.out), 1},
		{&g.dwh, gates.T(), outs, attach.Dense(rows, k.out), 0},
	}
	if k.projected {
		jobs = append(jobs, job{&g.fromProj, attach.Dense(k.batch, k.out),
			attach.Dense(k.out, k.hidden), attach.Dense(k.batch, k.hidden), 0},
			job{&g.dproj, outs.T(), attach.Dense(cells, k.hidden), attach.Dense(k.out, k.hidden),
				0})
	}
	for l := range min(k.layers, 2) {
		x, w := attach.Dense(cells, k.inputSize(l)), attach.Dense(rows, k.inputSize(l))
		jobs = append(jobs, job{&g.dwx[l], gates.T(), x, w, 0}, job{&g.dx[l][0], gates, w, x, 0},
			job{&g.dx[l][1], gates, w, x, 1})
	}
	for _, j := range jobs {
		if *j.p, err = k.product(j.a, j.b, j.c, j.beta); err != nil {
			return g, err
		}
	}
	g.bias, err = attach.NewReduction("sum", k.t, []int{cells, rows}, []bool{true, false}, 1)
	return g, err
}

// gradCUDA is one run of the gradient on a GPU.
type gradCUDA[F element] struct {
	*netCUDA
	products             *gradProducts
	q                    *cuda.Queue
	heads, inputs, grads []op.Tensor
	params, dparams      []F
	reserve              []F
	length               unsafe.Pointer

	x              []F    // input of a layer
	dy             [2][]F // gradients of outputs of layers, in turn
	dgates, dstate []F    // gradients of the sums at all steps; dstate: GRU only
	prev, mem      []F    // states before all steps
	dh, dmem       []F
	douts          []F // gradients of outputs at all steps
	full, dfull    []F // outputs before projection at all steps; their gradient at one step
	sums           unsafe.Pointer
}

func prepareGradCUDA[F element](p RNNParams, a *op.Args) (*op.Prepared, error) {
	n := len(visible(p))
	k, err := newNetCUDA(p, a.In[n:len(a.In)-1], a.Train)
	if err != nil {
		return nil, err
	}
	if kept, ok := a.In[len(a.In)-1].Layout.(dnnReserve); ok {
		return k.prepareGradDNN(a, kept)
	}
	products, err := k.gradProducts()
	if err != nil {
		return nil, err
	}
	var count attach.CUDAScratch
	newGradCUDA[F](k, &products, &count)
	return attach.OnQueue(count.Used, func(q *cuda.Queue, c *op.Call) error {
		g := newGradCUDA[F](k, &products, &attach.CUDAScratch{Base: c.Scratch})
		g.q, g.heads, g.inputs, g.grads = q, c.In[:n], c.In[n:len(c.In)-1], c.Out
		g.params, g.reserve, g.dparams = onDevice[F](g.inputs[1]), onDevice[F](c.In[len(c.In)-1]),
			onDevice[F](c.Out[1])
		g.length = k.lengths(g.inputs)
		return g.run()
	})
}

func newGradCUDA[F element](k *netCUDA, products *gradProducts,
	s *attach.CUDAScratch) *gradCUDA[F] {
	g := &gradCUDA[F]{netCUDA: k, products: products}
	cells := k.cells()
	if k.layers > 1 {
		size := cells * k.dirs * k.out
		g.x, g.dy[0], g.dy[1] = take[F](s, size), take[F](s, size), take[F](s, size)
	}
	g.dgates, g.prev = take[F](s, cells*k.rows()), take[F](s, cells*k.out)
	g.dstate = g.dgates
	if k.p.Mode == "gru" {
		g.dstate = take[F](s, cells*k.rows())
	}
	g.dh, g.douts = take[F](s, k.batch*k.out), take[F](s, cells*k.out)
	if k.cell.memory {
		g.dmem, g.mem = take[F](s, k.batch*k.hidden), take[F](s, cells*k.hidden)
	}
	if k.projected {
		g.full, g.dfull = take[F](s, cells*k.hidden), take[F](s, k.batch*k.hidden)
	}
	g.sums = s.Take(products.bias.Scratch())
	return g
}

// run computes the gradients of the layers, last layer first.
func (g *gradCUDA[F]) run() error {
	dy := onDevice[F](g.heads[0])
	for l := g.layers - 1; l >= 0; l-- {
		dx := onDevice[F](g.grads[0])
		if l > 0 {
			dx = g.dy[l%2]
		}
		x, err := g.layerInput(l)
		if err != nil {
			return err
		}
		for d := range g.dirs {
			if err := g.direction(l, d, x, dx, dy); err != nil {
				return err
			}
		}
		if dy = dx; l > 0 && g.drops {
			for d := range g.dirs {
				if err := g.lanes(g.q, "lanes_mask", lanesArgs{to: start(dy),
					mask: start(g.kept(l-1, d).mask), dir: d}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (g *gradCUDA[F]) kept(layer, dir int) reserve[F] {
	return reserveOf(&g.net, g.reserve, layer, dir)
}

// layerInput returns the input of a layer.
func (g *gradCUDA[F]) layerInput(layer int) ([]F, error) {
	if layer == 0 {
		return onDevice[F](g.inputs[0]), nil
	}
	for d := range g.dirs {
		keep := g.kept(layer-1, d)
		args := lanesArgs{to: start(g.x), from: start(keep.h), dir: d}
		if g.drops {
			args.mask = start(keep.mask)
		}
		if err := g.lanes(g.q, "lanes_join", args); err != nil {
			return nil, err
		}
	}
	return g.x, nil
}

// direction computes the gradient of one direction of a layer.
func (g *gradCUDA[F]) direction(layer, dir int, x, dx, dy []F) error {
	w, keep, at := weightsOf(&g.net, g.params, layer, dir), g.kept(layer, dir), layer*g.dirs+dir
	if err := g.begin(keep, dir, at); err != nil {
		return err
	}
	for i := g.steps - 1; i >= 0; i-- {
		if err := g.step(g.netCUDA.at(dir, i), dir, w, keep, dy); err != nil {
			return err
		}
	}
	if err := g.load(g.q, start(part(onDevice[F](g.grads[2]), at, len(g.dh))), start(g.dh),
		len(g.dh)); err != nil {
		return err
	}
	if g.cell.memory {
		if err := g.load(g.q, start(part(onDevice[F](g.grads[3]), at, len(g.dmem))), start(g.dmem),
			len(g.dmem)); err != nil {
			return err
		}
	}
	if g.dparams != nil {
		if err := g.weights(layer, dir, keep, x); err != nil {
			return err
		}
	}
	if dx == nil {
		return nil
	}
	return g.products.dx[min(layer, 1)][dir].Run(g.q, start(g.dgates), start(w.x), start(dx))
}

// begin loads the gradients of the last states and computes the states before each step.
func (g *gradCUDA[F]) begin(keep reserve[F], dir, at int) error {
	for i, to := range [][]F{g.dh, g.dmem} {
		if to == nil {
			continue
		}
		var err error
		if g.p.StateOutputs {
			err = g.load(g.q, start(to), start(part(onDevice[F](g.heads[1+i]), at, len(to))),
				len(to))
		} else {
			err = g.q.Clear(start(to), len(to)*g.t.Size())
		}
		if err != nil {
			return err
		}
	}
	before := lanesArgs{to: start(g.prev), from: start(keep.h), dir: dir,
		first: start(part(onDevice[F](g.inputs[2]), at, g.batch*g.out)), length: g.length}
	if err := g.lanes(g.q, "lanes_before", before); err != nil || !g.cell.memory {
		return err
	}
	before.to, before.from, before.n = start(g.mem), start(keep.extra), g.hidden
	before.first = start(part(onDevice[F](g.inputs[3]), at, g.batch*g.hidden))
	return g.lanes(g.q, "lanes_before", before)
}

// step replaces the gradient of the outputs of step t by the gradient of the previous step's
// outputs.
func (g *gradCUDA[F]) step(t, dir int, w weights[F], keep reserve[F], dy []F) error {
	b, rows := g.batch, g.batch*g.rows()
	args := cellGradArgs{mode: g.mode, batch: b, hidden: g.hidden, step: t, length: g.length,
		lengthType: g.lengthType,
		gates:      start(part(keep.gates, t, b*g.cell.kept*g.hidden)),
		extra:      start(part(keep.extra, t, b*g.cell.extra*g.hidden)),
		out:        start(part(keep.h, t, b*g.out)),
		prev:       start(part(g.prev, t, b*g.out)), mem: start(part(g.mem, t, b*g.hidden)),
		dgates: start(part(g.dgates, t, rows)), dh: start(g.dh), dmem: start(g.dmem),
		dy: start(dy[t*b*g.dirs*g.out+dir*g.out:]), douts: start(part(g.douts, t, b*g.out)),
		size: g.out, row: g.dirs * g.out}
	dstate := part(g.dstate, t, rows)
	if g.p.Mode == "gru" {
		args.dstate = start(dstate)
	}
	if err := cuda.LaunchWith(g.q, cuda.Func("cells", "cell_receive", g.t), g.q.Each(b*g.out),
		&args); err != nil {
		return err
	}
	if args.dout = args.douts; g.projected {
		if err := g.products.fromProj.Run(g.q, args.douts, start(w.proj),
			start(g.dfull)); err != nil {
			return err
		}
		args.dout = start(g.dfull)
	}
	if err := cuda.LaunchWith(g.q, cuda.Func("cells", "cell_grad", g.t), g.q.Each(b*g.hidden),
		&args); err != nil {
		return err
	}
	return g.products.toState.Run(g.q, start(dstate), start(w.h), start(g.dh))
}

// weights computes the gradients of the parameters of one direction of a layer from the gradients
// of the gates at all steps.
func (g *gradCUDA[F]) weights(layer, dir int, keep reserve[F], x []F) error {
	dw, p := weightsOf(&g.net, g.dparams, layer, dir), g.products
	if err := p.dwx[min(layer, 1)].Run(g.q, start(g.dgates), start(x), start(dw.x)); err != nil {
		return err
	}
	if err := p.dwh.Run(g.q, start(g.dstate), start(g.prev), start(dw.h)); err != nil {
		return err
	}
	if err := p.bias.Run(g.q, start(dw.bx), start(g.dgates), g.sums); err != nil {
		return err
	}
	if err := p.bias.Run(g.q, start(dw.bh), start(g.dstate), g.sums); err != nil || !g.projected {
		return err
	}
	args := cellGradArgs{batch: g.cells(), hidden: g.hidden, gates: start(keep.gates),
		extra: start(keep.extra), dstate: start(g.full)}
	if err := cuda.LaunchWith(g.q, cuda.Func("cells", "cell_full", g.t),
		g.q.Each(g.cells()*g.hidden), &args); err != nil {
		return err
	}
	return p.dproj.Run(g.q, start(g.douts), start(g.full), start(dw.proj))
}
