//go:build cuda

package rnn

import (
	"cmp"
	"slices"
	"unsafe"

	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

// stackDNN is the network in cuDNN: one call for all layers or, where outputs are dropped between them, one for each. What is dropped is drawn by a kernel
// of our own, so that it is what other kernels drop, whenever a layer is computed again.
type stackDNN struct {
	k       *netCUDA
	drops   bool
	keeps   bool // for a gradient
	stages  []stageDNN
	reserve int // bytes of what is kept for the gradient
}

// dnnReserve is the layout of a reserve that cuDNN filled.
type dnnReserve struct{ drops bool }

// stageDNN is a call of the library. Numbers of bytes say where its parts of the reserve begin: the library's own, its output, and what that is multiplied by.
type stageDNN struct {
	lib         *cuda.RNN
	first       int     // layer
	pieces      []piece // of the parameters
	kept, y     int
	mask        int
	whole, last bool // the parameters lie as the library wants them, from one place on; there is no stage behind
}

// piece is a run of bytes of parameters that lie alike in our vector and in the library's.
type piece struct{ ours, theirs, bytes int }

// stackFor returns the network in cuDNN, nil where the library does not serve it: the lengths of sequences would have to be known to the host, and
// what it keeps has no place unless somebody leaves it the layout.
func (k *netCUDA) stackFor(a *op.Args) *stackDNN {
	last := len(a.Out) - 1
	drops := a.Train && k.drops
	if !a.Needs(0) || a.Needs(last) && !a.Chooses(last) || !a.Needs(last) && drops {
		return nil
	}
	return k.newStack(a.Device.ID, drops, a.Needs(last))
}

// newStack returns the network on a device; keeps says that a gradient will be wanted.
func (k *netCUDA) newStack(device int, drops, keeps bool) *stackDNN {
	if k.p.UseSequenceLength {
		return nil
	}
	s := &stackDNN{k: k, drops: drops, keeps: keeps}
	layers := k.layers
	if drops {
		layers = 1
	}
	var parts attach.CUDAScratch
	at := func(bytes int) int {
		parts.Take(bytes)
		return parts.Used - (bytes+255)&^255
	}
	for l := 0; l < k.layers; l += layers {
		d := cuda.RNNDims{Mode: cuda.RNNMode(k.mode), Both: k.dirs == 2, Train: keeps, Steps: k.steps, Batch: k.batch, Input: k.inputSize(l), Layers: layers,
			Hidden: k.hidden, Out: k.out}
		g := stageDNN{first: l, lib: cuda.NewRNN(device, k.t, d), last: l+layers == k.layers}
		if g.lib == nil || !g.findPieces(k, device, layers) {
			return nil
		}
		g.kept, g.y = at(g.lib.Reserve()), at(k.outBytes())
		if drops && !g.last {
			g.mask = at(k.outBytes())
		}
		s.stages = append(s.stages, g)
	}
	s.reserve = parts.Used
	return s
}

// outBytes is the size of the outputs of a layer.
func (k *netCUDA) outBytes() int { return k.cells() * k.dirs * k.out * k.t.Size() }

// findPieces asks the library where it wants the parameters of a stage. It reports whether it has the same ones.
func (g *stageDNN) findPieces(k *netCUDA, device, layers int) bool {
	size := k.t.Size()
	for l := range layers * k.dirs {
		layer := g.first + l/k.dirs
		at := k.placesOf(layer, l%k.dirs)
		add := func(ours *int, theirs, found, want int) bool {
			g.pieces = append(g.pieces, piece{*ours * size, theirs, want * size})
			*ours += want
			return found == want
		}
		for gate := range 2 * k.cell.gates {
			cols := k.inputSize(layer)
			if gate >= k.cell.gates {
				cols = k.out
			}
			p, err := g.lib.Part(device, l, gate)
			if err != nil || !add(&at.weights, p.MatrixAt, p.Matrix, k.hidden*cols) || !add(&at.biases, p.BiasAt, p.Bias, k.hidden) {
				return false
			}
		}
		if k.projected && k.out != k.hidden {
			p, err := g.lib.Part(device, l, 8)
			if err != nil || !add(&at.weights, p.MatrixAt, p.Matrix, k.out*k.hidden) {
				return false
			}
		}
	}
	g.join()
	return true
}

// join makes one piece of neighbours.
func (g *stageDNN) join() {
	slices.SortFunc(g.pieces, func(a, b piece) int { return cmp.Compare(a.theirs, b.theirs) })
	joined := g.pieces[:1]
	for _, p := range g.pieces[1:] {
		last := &joined[len(joined)-1]
		if last.ours+last.bytes == p.ours && last.theirs+last.bytes == p.theirs {
			last.bytes += p.bytes
			continue
		}
		joined = append(joined, p)
	}
	g.pieces = joined
	g.whole = len(joined) == 1 && joined[0].theirs == 0 && joined[0].bytes == g.lib.Weights()
}

// aligned reports whether the library may read numbers from p on.
func aligned(p unsafe.Pointer) bool { return uintptr(p)%16 == 0 }

// The two vectors of parameters that a run may need beside ours.
const packedWeights, packedGrads = 0, 1

// place returns where the library reads a vector like flat, or writes one: in flat itself, or beside it in room or, where flat lies as no vector of a
// model does, in memory of the queue.
func (g *stageDNN) place(q *cuda.Queue, flat, room unsafe.Pointer, vector int) (p unsafe.Pointer, direct bool, err error) {
	if !g.whole {
		return room, false, nil
	}
	if p = unsafe.Add(flat, g.pieces[0].ours); aligned(p) {
		return p, true, nil
	}
	bytes := (g.lib.Weights() + 255) &^ 255
	if p, err = q.Workspace(2 * bytes); err != nil {
		return nil, false, err
	}
	return unsafe.Add(p, vector*bytes), false, nil
}

// pack returns the parameters of a stage as the library wants them.
func (g *stageDNN) pack(q *cuda.Queue, flat, room unsafe.Pointer) (unsafe.Pointer, error) {
	room, direct, err := g.place(q, flat, room, packedWeights)
	if err != nil || direct {
		return room, err
	}
	for _, p := range g.pieces {
		if err := q.CopyFrom(unsafe.Add(room, p.theirs), q.Device(), unsafe.Add(flat, p.ours), p.bytes); err != nil {
			return nil, err
		}
	}
	return room, nil
}

// unpack copies back what pack copies.
func (g *stageDNN) unpack(q *cuda.Queue, flat, room unsafe.Pointer) error {
	for _, p := range g.pieces {
		if err := q.CopyFrom(unsafe.Add(flat, p.ours), q.Device(), unsafe.Add(room, p.theirs), p.bytes); err != nil {
			return err
		}
	}
	return nil
}

// most returns the largest of a number of all stages.
func (s *stackDNN) most(of func(g *stageDNN) int) int {
	n := 0
	for i := range s.stages {
		n = max(n, of(&s.stages[i]))
	}
	return n
}

// states returns the part of a stage of an array of the states of all layers, nil where there is no array.
func (s *stackDNN) states(g *stageDNN, list []op.Tensor, i, size int) unsafe.Pointer {
	if i >= len(list) || list[i].Data == nil {
		return nil
	}
	return unsafe.Add(list[i].Data, g.first*s.k.dirs*s.k.batch*size*s.k.t.Size())
}

// input returns what stage i reads: data, or a copy in room of the output before it without what was dropped.
func (s *stackDNN) input(q *cuda.Queue, i int, data, reserve, room unsafe.Pointer) (unsafe.Pointer, error) {
	if i == 0 {
		return data, nil
	}
	before := &s.stages[i-1]
	if err := q.CopyFrom(room, q.Device(), unsafe.Add(reserve, before.y), s.k.outBytes()); err != nil {
		return nil, err
	}
	return room, s.mask(q, before, reserve, room)
}

// mask multiplies numbers that lie as the outputs of a stage do by what was drawn for it.
func (s *stackDNN) mask(q *cuda.Queue, g *stageDNN, reserve, to unsafe.Pointer) error {
	for d := range s.k.dirs {
		if err := s.k.lanes(q, "lanes_mask", lanesArgs{to: to, mask: s.drawn(g, reserve, d), dir: d}); err != nil {
			return err
		}
	}
	return nil
}

// drawn is where what one direction of a stage is multiplied by lies.
func (s *stackDNN) drawn(g *stageDNN, reserve unsafe.Pointer, dir int) unsafe.Pointer {
	return unsafe.Add(reserve, g.mask+dir*s.k.outBytes()/s.k.dirs)
}
