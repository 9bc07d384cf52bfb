//go:build cuda

package nn

import (
	"math"
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Attention, attentionCUDA)
	attach.CUDA(attentionGrad, attentionGradCUDA)
}

// attentionArgs is the parameter of the kernels in attention.cu.
type attentionArgs struct {
	q, k, v, dy                         unsafe.Pointer
	y, lse, delta                       unsafe.Pointer
	mask, length, position              unsafe.Pointer
	seed                                unsafe.Pointer
	dq, dk, dv, dmask                   unsafe.Pointer
	batch, n, keys, heads, groups, size int
	causal, chooses                     int
	lengthType, positionType            int
	strides, extents                    [4]int
	scale                               float64
	drops, keep                         int
	kept                                float64
	key, counter, base                  uint64
}

// The sizes of attention.cu: queries or keys of a block's tile, and elements of a result's vectors
// that a block computes.
const (
	attentionNarrow  = 64
	attentionWide    = 128
	attentionThreads = 256
)

// attentionTile returns the number of queries or keys of a block.
func attentionTile(t dtype.Type) int {
	if t == dtype.Float64 {
		return 32
	}
	return 64
}

// newAttentionArgs describes the work; in are query, key, value and so on.
func newAttentionArgs(p ScaledAttentionParams, in []op.Desc, train bool) (attentionArgs, error) {
	t, q := in[0].DType, in[0].Shape
	if !cuda.Serves("attention", t) || q.Size() == 0 || in[1].DType != t || in[2].DType != t {
		return attentionArgs{}, op.ErrUnsupported
	}
	k := attentionArgs{batch: q[0], n: q[1], keys: in[1].Shape[1], heads: p.Heads,
		groups: p.kvHeads(), size: q[2] / p.Heads, causal: attach.B2I(p.Causal)}
	k.scale = attending{p: p, size: k.size}.scale()
	if p.UseMask {
		k.strides, k.extents = maskStrides(in[3].Shape), [4]int{1, 1, 1, 1}
		copy(k.extents[4-len(in[3].Shape):], in[3].Shape)
		k.chooses = attach.B2I(in[3].DType == dtype.Bool)
		if k.chooses == 0 && in[3].DType != t {
			return k, op.ErrUnsupported
		}
	}
	rest := in[3+p.masks():]
	if p.UseLength {
		k.lengthType, rest = cuda.Code(rest[0].DType), rest[1:]
	}
	if p.UsePosition {
		k.positionType = cuda.Code(rest[0].DType)
	}
	if train && p.Dropout > 0 {
		k.drops, k.keep = 1, int(math.Ceil((1-p.Dropout)*(1<<24)))
		if p.Dropout < 1 {
			k.kept = 1 / (1 - p.Dropout)
		}
	}
	return k, nil
}

// with returns the arguments with the memory of query, key, value and so on.
func (k attentionArgs) with(p ScaledAttentionParams, in []op.Tensor) attentionArgs {
	k.q, k.k, k.v = in[0].Data, in[1].Data, in[2].Data
	rest := in[3:]
	if p.UseMask {
		k.mask, rest = rest[0].Data, rest[1:]
	}
	if p.UseLength {
		k.length, rest = rest[0].Data, rest[1:]
	}
	if p.UsePosition {
		k.position = rest[0].Data
	}
	return k
}

// attentionLaunch is a kernel of attention.cu with its grid.
type attentionLaunch struct {
	f    *cuda.Function
	grid cuda.Grid
}

// launch returns the kernel for vectors of this size. Its blocks have tiles of rows of lanes.
func (k *attentionArgs) launch(name string, t dtype.Type, lanes, rows int) attentionLaunch {
	wide := attentionNarrow
	if k.size > attentionNarrow {
		name, wide = name+"_wide", attentionWide
	}
	tile := attentionTile(t)
	blocks := lanes * ((rows + tile - 1) / tile) * ((k.size + wide - 1) / wide)
	return attentionLaunch{cuda.Func("attention", name, t),
		cuda.Grid{X: min(blocks, 1<<20), Y: 1, Threads: attentionThreads}}
}

func attentionCUDA(p ScaledAttentionParams, a *op.Args) (*op.Prepared, error) {
	fixed, err := newAttentionArgs(p, a.In, a.Train)
	if err != nil {
		return nil, err
	}
	l := fixed.launch("attention", a.In[0].DType, fixed.batch*fixed.heads, fixed.n)
	run := func(q *cuda.Queue, c *op.Call) error {
		k := fixed.with(p, c.In)
		k.y, k.lse = c.Out[0].Data, c.Out[1].Data
		if len(c.Out) > 2 {
			k.seed = c.Out[2].Data
		}
		if k.drops > 0 {
			k.key = c.Seed.Key
			k.counter, k.base = q.Seed(c.Seed.Counter)
		}
		return cuda.LaunchWith(q, l.f, l.grid, &k)
	}
	return attach.OnQueueDrawing(0, run)
}

// attentionGradCUDA prepares a kernel for the gradient of the queries, which also makes the sums that
// the other kernels read. It prepares a kernel for the gradients of keys and values, and one for the
// gradient of the mask, where the program wants these gradients.
func attentionGradCUDA(p ScaledAttentionParams, a *op.Args) (*op.Prepared, error) {
	in, t := a.In[p.first():], a.In[0].DType
	fixed, err := newAttentionArgs(p, in, a.Train)
	if err != nil || in[0].DType != t {
		return nil, op.ErrUnsupported
	}
	queries := fixed.launch("attention_query_grad", t, fixed.batch*fixed.heads, fixed.n)
	keys := fixed.launch("attention_key_grad", t, fixed.batch*fixed.groups, fixed.keys)
	mask := attentionLaunch{f: cuda.Func("attention", "attention_mask_grad", t)}
	if p.UseMask && in[3].Shape.Size() > 0 {
		scores := fixed.batch * fixed.heads * fixed.n * fixed.keys
		mask.grid = attach.LaneGrid(in[3].Shape.Size(), scores/in[3].Shape.Size())
	}
	sums := &attach.CUDAScratch{}
	sums.Take(8 * fixed.batch * fixed.heads * fixed.n)
	return attach.OnQueue(sums.Used, func(q *cuda.Queue, c *op.Call) error {
		k := fixed.with(p, c.In[p.first():])
		k.dy, k.y, k.lse, k.delta = c.In[0].Data, c.In[1].Data, c.In[2].Data, c.Scratch
		if p.Dropout > 0 {
			k.seed = c.In[3].Data
		}
		k.dq, k.dk, k.dv = c.Out[0].Data, c.Out[1].Data, c.Out[2].Data
		if err := cuda.LaunchWith(q, queries.f, queries.grid, &k); err != nil {
			return err
		}
		if (k.dk != nil || k.dv != nil) && fixed.keys > 0 {
			if err := cuda.LaunchWith(q, keys.f, keys.grid, &k); err != nil {
				return err
			}
		}
		if len(c.Out) < 4 || c.Out[3].Data == nil || mask.grid.X == 0 {
			return nil
		}
		if k.chooses > 0 {
			return q.Clear(c.Out[3].Data, c.Out[3].Bytes)
		}
		k.dmask = c.Out[3].Data
		return cuda.LaunchWith(q, mask.f, mask.grid, &k)
	})
}
