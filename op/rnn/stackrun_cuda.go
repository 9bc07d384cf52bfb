//go:build cuda

package rnn

import (
	"errors"
	"slices"
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// stackRoom is the scratch memory of a run: cuDNN's working memory, parameters and their gradients
// in cuDNN's order, the input of a stage, gradients of outputs in turn, the gradient of the data if
// it is not an output, and a copy of cuDNN's reserve, which cuDNN changes.
type stackRoom struct {
	work, weights, dweights, x unsafe.Pointer
	dy                         [2]unsafe.Pointer
	dx, kept                   unsafe.Pointer
}

// newRoom allocates the memory of a forward run.
func (s *stackDNN) newRoom(m *attach.CUDAScratch) (r stackRoom) {
	r.work = m.Take(s.most(func(g *stageDNN) int { return g.lib.Work() }))
	r.weights = m.Take(s.copied())
	if len(s.stages) > 1 {
		r.x = m.Take(s.k.outBytes())
	}
	return r
}

// newGradRoom allocates the memory of a run of the gradient; dx says that the gradient of the data
// is an output.
func (s *stackDNN) newGradRoom(m *attach.CUDAScratch, dx bool) stackRoom {
	r := s.newRoom(m)
	r.dweights = m.Take(s.copied())
	r.kept = m.Take(s.most(func(g *stageDNN) int { return g.lib.Reserve() }))
	if len(s.stages) > 1 {
		r.dy[0], r.dy[1] = m.Take(s.k.outBytes()), m.Take(s.k.outBytes())
	}
	if !dx {
		r.dx = m.Take(s.k.cells() * s.k.input * s.k.t.Size())
	}
	return r
}

// copied returns the size in bytes of the largest parameters of a stage that must be copied.
func (s *stackDNN) copied() int {
	return s.most(func(g *stageDNN) int {
		if g.whole {
			return 0
		}
		return g.lib.Weights()
	})
}

// prepare makes the kernel of RNN.
func (s *stackDNN) prepare(a *op.Args) (*op.Prepared, error) {
	var count attach.CUDAScratch
	s.newRoom(&count)
	k, err := attach.OnQueue(count.Used, func(q *cuda.Queue, c *op.Call) error {
		return s.forward(q, c, s.newRoom(&attach.CUDAScratch{Base: c.Scratch}))
	})
	if last := len(a.Out) - 1; s.keeps {
		k.Out = slices.Clone(a.Out)
		k.Out[last].Layout, k.Out[last].Bytes = dnnReserve{s.drops}, s.reserve
	}
	return k, err
}

// forward puts the layers on q.
func (s *stackDNN) forward(q *cuda.Queue, c *op.Call, room stackRoom) error {
	k, outs := s.k, c.Out[:len(c.Out)-1]
	reserve := c.Out[len(c.Out)-1].Data
	for i := range s.stages {
		g := &s.stages[i]
		x, err := s.input(q, i, c.In[0].Data, reserve, room.x)
		if err != nil {
			return err
		}
		w, err := g.pack(q, c.In[1].Data, room.weights)
		if err != nil {
			return err
		}
		args := cuda.RNNArgs{X: x, Weights: w, HX: s.states(g, c.In, 2, k.out), Y: outs[0].Data,
			HY: s.states(g, outs, 1, k.out), Work: room.work}
		if k.cell.memory {
			args.CX, args.CY = s.states(g, c.In, 3, k.hidden), s.states(g, outs, 2, k.hidden)
		}
		if s.keeps {
			args.Reserve, args.Y = unsafe.Add(reserve, g.kept), unsafe.Add(reserve, g.y)
		}
		if err := g.lib.Forward(q, &args); err != nil {
			return err
		}
		if !g.last {
			if err := s.draw(q, c, g, reserve); err != nil {
				return err
			}
		} else if s.keeps {
			return q.CopyFrom(outs[0].Data, q.Device(), args.Y, k.outBytes())
		}
	}
	return nil
}

// draw draws the dropout mask of a stage.
func (s *stackDNN) draw(q *cuda.Queue, c *op.Call, g *stageDNN, reserve unsafe.Pointer) error {
	for d := range s.k.dirs {
		args := lanesArgs{to: s.drawn(g, reserve, d), dir: d, key: c.Seed.Key,
			counter: c.Seed.Counter, stream: g.first, keep: 1 - s.k.p.P}
		if err := s.k.lanes(q, "lanes_draw", args); err != nil {
			return err
		}
	}
	return nil
}

// prepareGradDNN makes the kernel of RNNGrad for a reserve of cuDNN.
func (k *netCUDA) prepareGradDNN(a *op.Args, kept dnnReserve) (*op.Prepared, error) {
	s := k.newStack(a.Device.ID, kept.drops, true)
	if s == nil || s.reserve != a.In[len(a.In)-1].Bytes {
		return nil, errors.New("cuDNN has computed the forward pass but cannot compute the " +
			"gradient")
	}
	heads := len(visible(k.p))
	var count attach.CUDAScratch
	dx := a.Needs(0)
	s.newGradRoom(&count, dx)
	return attach.OnQueue(count.Used, func(q *cuda.Queue, c *op.Call) error {
		r := stackGrad{s, q, c.In[:heads], c.In[heads : len(c.In)-1], c.Out, c.In[len(c.In)-1].Data,
			s.newGradRoom(&attach.CUDAScratch{Base: c.Scratch}, dx)}
		return r.run()
	})
}

// stackGrad is one run of the gradient.
type stackGrad struct {
	*stackDNN
	q                    *cuda.Queue
	heads, inputs, grads []op.Tensor
	reserve              unsafe.Pointer
	room                 stackRoom
}

// run computes the gradients of the stages, last stage first.
func (r *stackGrad) run() error {
	dy := r.heads[0].Data
	for i := len(r.stages) - 1; i >= 0; i-- {
		dx := r.room.dy[i%2]
		if i == 0 {
			if dx = r.grads[0].Data; dx == nil {
				dx = r.room.dx
			}
		}
		if err := r.stage(i, dx, dy); err != nil {
			return err
		}
		if i > 0 {
			if err := r.mask(r.q, &r.stages[i-1], r.reserve, dx); err != nil {
				return err
			}
		}
		dy = dx
	}
	return nil
}

// stage computes the gradient of one stage.
func (r *stackGrad) stage(i int, dx, dy unsafe.Pointer) error {
	g, k := &r.stages[i], r.k
	if err := r.q.CopyFrom(r.room.kept, r.q.Device(), unsafe.Add(r.reserve, g.kept),
		g.lib.Reserve()); err != nil {
		return err
	}
	w, err := g.pack(r.q, r.inputs[1].Data, r.room.weights)
	if err != nil {
		return err
	}
	args := cuda.RNNArgs{Weights: w, Y: unsafe.Add(r.reserve, g.y), DY: dy, DX: dx,
		HX: r.states(g, r.inputs, 2, k.out), DHX: r.states(g, r.grads, 2, k.out),
		DHY: r.states(g, r.heads, 1, k.out), Work: r.room.work, Reserve: r.room.kept}
	if k.cell.memory {
		args.CX, args.DCX, args.DCY = r.states(g, r.inputs, 3, k.hidden), r.states(g, r.grads, 3,
			k.hidden), r.states(g, r.heads, 2, k.hidden)
	}
	if err := g.lib.Backward(r.q, &args); err != nil || r.grads[1].Data == nil {
		return err
	}
	return r.weights(i, args)
}

// weights computes the gradient of the parameters of a stage, after that of its input.
func (r *stackGrad) weights(i int, args cuda.RNNArgs) (err error) {
	g, flat := &r.stages[i], r.grads[1].Data
	if args.X, err = r.input(r.q, i, r.inputs[0].Data, r.reserve, r.room.x); err != nil {
		return err
	}
	var direct bool
	if args.DWeights, direct, err = g.place(r.q, flat, r.room.dweights, packedGrads); err != nil {
		return err
	}
	if err := r.q.Clear(args.DWeights, g.lib.Weights()); err != nil {
		return err
	}
	if err := g.lib.AddWeights(r.q, &args); err != nil || direct {
		return err
	}
	return g.unpack(r.q, flat, args.DWeights)
}
