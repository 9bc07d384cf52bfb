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

// stackDNN is the network in cuDNN: one call for all layers or, with dropout between them, one per
// layer. A kernel of gomx draws the dropout masks, so that they equal the masks of other kernels,
// also when a layer is computed again.
type stackDNN struct {
	k       *netCUDA
	drops   bool
	keeps   bool // the reserve is kept for a gradient
	stages  []stageDNN
	reserve int // size of the reserve in bytes
}

// dnnReserve is the layout of a reserve that cuDNN has filled.
type dnnReserve struct{ drops bool }

// stageDNN is a call of cuDNN. Its parts of the reserve are at offsets in bytes: cuDNN's own
// reserve, the output, and the dropout mask.
type stageDNN struct {
	lib         *cuda.RNN
	first       int     // layer
	pieces      []piece // positions of the parameters
	kept, y     int
	mask        int
	whole, last bool // the parameters are one piece; the stage is the last one
}

// piece is a run of bytes that is contiguous in gomx's vector of parameters and in cuDNN's.
type piece struct{ ours, theirs, bytes int }

// stackFor returns the network in cuDNN, nil if cuDNN cannot compute it: with lengths of sequences,
// which the host would have to know, and for a reserve whose layout the kernel cannot choose.
func (k *netCUDA) stackFor(a *op.Args) *stackDNN {
	last := len(a.Out) - 1
	drops := a.Train && k.drops
	if !a.Needs(0) || a.Needs(last) && !a.Chooses(last) || !a.Needs(last) && drops {
		return nil
	}
	return k.newStack(a.Device.ID, drops, a.Needs(last))
}

// newStack returns the network on a device; keeps says that a gradient will be computed.
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
		d := cuda.RNNDims{Mode: cuda.RNNMode(k.mode), Both: k.dirs == 2, Train: keeps,
			Steps: k.steps, Batch: k.batch, Input: k.inputSize(l), Layers: layers,
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

// outBytes returns the size of the outputs of a layer in bytes.
func (k *netCUDA) outBytes() int { return k.cells() * k.dirs * k.out * k.t.Size() }

// findPieces computes the positions of the parameters of a stage in cuDNN's vector. It returns
// false if cuDNN does not have the same parameters.
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
			if err != nil || !add(&at.weights, p.MatrixAt, p.Matrix, k.hidden*cols) ||
				!add(&at.biases, p.BiasAt, p.Bias, k.hidden) {
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

// join merges adjacent pieces.
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

// aligned reports whether p has the alignment that cuDNN requires.
func aligned(p unsafe.Pointer) bool { return uintptr(p)%16 == 0 }

// The two vectors in cuDNN's order that a run may need: parameters and their gradients.
const packedWeights, packedGrads = 0, 1

// place returns the address at which cuDNN reads or writes a vector like flat: in flat itself, in
// room, or, if flat is not aligned, in memory of the queue.
func (g *stageDNN) place(q *cuda.Queue, flat, room unsafe.Pointer, vector int) (p unsafe.Pointer,
	direct bool, err error) {
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

// pack returns the parameters of a stage in cuDNN's order.
func (g *stageDNN) pack(q *cuda.Queue, flat, room unsafe.Pointer) (unsafe.Pointer, error) {
	room, direct, err := g.place(q, flat, room, packedWeights)
	if err != nil || direct {
		return room, err
	}
	for _, p := range g.pieces {
		if err := q.CopyFrom(unsafe.Add(room, p.theirs), q.Device(), unsafe.Add(flat, p.ours),
			p.bytes); err != nil {
			return nil, err
		}
	}
	return room, nil
}

// unpack copies the vector of pack back to flat.
func (g *stageDNN) unpack(q *cuda.Queue, flat, room unsafe.Pointer) error {
	for _, p := range g.pieces {
		if err := q.CopyFrom(unsafe.Add(flat, p.ours), q.Device(), unsafe.Add(room, p.theirs),
			p.bytes); err != nil {
			return err
		}
	}
	return nil
}

// most returns the largest value of a function over all stages.
func (s *stackDNN) most(of func(g *stageDNN) int) int {
	n := 0
	for i := range s.stages {
		n = max(n, of(&s.stages[i]))
	}
	return n
}

// states returns the address of a stage's part of list[i], an array of the states of all layers;
// nil if the array does not exist.
func (s *stackDNN) states(g *stageDNN, list []op.Tensor, i, size int) unsafe.Pointer {
	if i >= len(list) || list[i].Data == nil {
		return nil
	}
	return unsafe.Add(list[i].Data, g.first*s.k.dirs*s.k.batch*size*s.k.t.Size())
}

// input returns the input of stage i: data, or in room a copy of the previous output with dropout.
func (s *stackDNN) input(q *cuda.Queue, i int, data, reserve, room unsafe.Pointer) (unsafe.Pointer,
	error) {
	if i == 0 {
		return data, nil
	}
	before := &s.stages[i-1]
	if err := q.CopyFrom(room, q.Device(), unsafe.Add(reserve, before.y),
		s.k.outBytes()); err != nil {
		return nil, err
	}
	return room, s.mask(q, before, reserve, room)
}

// mask multiplies an array of the layout of a stage's outputs by the stage's dropout mask.
func (s *stackDNN) mask(q *cuda.Queue, g *stageDNN, reserve, to unsafe.Pointer) error {
	for d := range s.k.dirs {
		if err := s.k.lanes(q, "lanes_mask", lanesArgs{to: to, mask: s.drawn(g, reserve, d),
			dir: d}); err != nil {
			return err
		}
	}
	return nil
}

// drawn returns the address of the dropout mask of one direction of a stage.
func (s *stackDNN) drawn(g *stageDNN, reserve unsafe.Pointer, dir int) unsafe.Pointer {
	return unsafe.Add(reserve, g.mask+dir*s.k.outBytes()/s.k.dirs)
}
