//go:build cuda

package vision

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// pairsArgs, suppressArgs, priorArgs and matchArgs are parameters of the kernels in boxes.cu.
type (
	pairsArgs struct {
		out, lhs, rhs unsafe.Pointer
		n, m, center  int
	}
	suppressArgs struct {
		out, x, record, score, order, gone, kept     unsafe.Pointer
		batch, n, width, limit, start, scoreAt, idAt int
		byClass, center, toCenter                    int
		valid, background, threshold                 float64
	}
	priorArgs struct {
		out                            unsafe.Pointer
		h, w, sizes, ratios, clip      int
		stepY, stepX, offsetY, offsetX float64
		size, ratio                    [listed]float64
	}
	matchArgs struct {
		ofRow, ofCol, x, order         unsafe.Pointer
		count, rows, cols, ascend, top int
		threshold                      float64
	}
)

// listed is the largest number of elements of lists in kernels.
const listed = 32

// double returns t as an operand of doubles.
func double(p unsafe.Pointer) attach.Any {
	return attach.Any{Data: p, Type: cuda.Code(dtype.Float64)}
}

func nmsCUDA(p BoxNMSParams, a *op.Args) (*op.Prepared, error) {
	t, s := a.In[0].DType, a.In[0].Shape
	if !cuda.Serves("boxes", t) {
		return nil, op.ErrUnsupported
	}
	n, width, bytes := s[len(s)-2], s[len(s)-1], a.In[0].Bytes
	fixed := suppressArgs{batch: s[:len(s)-2].Size(), n: n, width: width, limit: p.TopK.Value(),
		start: p.CoordStart.Value(), scoreAt: p.ScoreIndex.Value(), idAt: p.IDIndex.Value(),
		byClass: attach.B2I(!p.ForceSuppress && p.IDIndex.Value() >= 0),
		center:  attach.B2I(p.InFormat == "center"), toCenter: -1,
		valid: narrow[float64](p.ValidThresh), background: float64(p.BackgroundID.Value()),
		threshold: narrow[float64](p.OverlapThresh.Value())}
	if p.InFormat != p.OutFormat {
		fixed.toCenter = attach.B2I(p.OutFormat == "center")
	}
	if fixed.limit < 0 {
		fixed.limit = n
	}
	rows := fixed.batch * n
	if fixed.limit == 0 {
		count := cuda.Func("fill", "arange", dtype.Unknown)
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			if c.Out[1].Data != nil {
				if err := q.Launch(count, q.Each(rows), cuda.P(c.Out[1].Data),
					cuda.I(cuda.Code(dtype.Int64)), cuda.I(rows), cuda.F(0), cuda.F(1), cuda.I(1),
					0, 0); err != nil {
					return err
				}
			}
			if c.Out[0].Data == nil || c.Out[0].Data == c.In[0].Data {
				return nil
			}
			return q.CopyFrom(c.Out[0].Data, q.Device(), c.In[0].Data, bytes)
		})
	}
	sorted := attach.Order{Lanes: fixed.batch, N: n, Step: 1}
	scores, suppress := cuda.Func("boxes", "nms_scores", t), cuda.Func("boxes", "nms", t)
	memory := func(s *attach.CUDAScratch, k suppressArgs) (suppressArgs, unsafe.Pointer,
		unsafe.Pointer) {
		k.score, k.gone, k.kept = s.Take(8*rows), s.Take(rows), s.Take(8*rows)
		return k, s.Take(sorted.Scratch()), s.Take(bytes)
	}
	var size attach.CUDAScratch
	memory(&size, fixed)
	return attach.OnQueue(size.Used, func(q *cuda.Queue, c *op.Call) error {
		k, room, spare := memory(&attach.CUDAScratch{Base: c.Scratch}, fixed)
		k.out, k.record, k.x = c.Out[0].Data, c.Out[1].Data, c.In[0].Data
		if k.out == nil {
			k.out = spare
		}
		if err := cuda.LaunchWith(q, scores, q.Each(rows), &k); err != nil {
			return err
		}
		order, err := sorted.Run(q, double(k.score), room)
		if err != nil {
			return err
		}
		k.order = order
		return cuda.LaunchWith(q, suppress, attach.LaneGrid(k.batch, n), &k)
	})
}

func matchCUDA(p BipartiteMatchingParams, a *op.Args) (*op.Prepared, error) {
	t, s := a.In[0].DType, a.In[0].Shape
	if !cuda.Serves("boxes", t) || s.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	r := len(s)
	fixed := matchArgs{count: s[:r-2].Size(), rows: s[r-2], cols: s[r-1],
		ascend: attach.B2I(p.IsAscend), top: p.TopK.Value(),
		threshold: narrow[float64](p.Threshold)}
	sorted := attach.Order{Lanes: fixed.count, N: fixed.rows * fixed.cols, Step: 1,
		Ascend: p.IsAscend}
	kind, f := cuda.Code(t), cuda.Func("boxes", "match", t)
	var size attach.CUDAScratch
	memory := func(s *attach.CUDAScratch) (order, row, col unsafe.Pointer) {
		return s.Take(sorted.Scratch()), s.Take(fixed.count * fixed.rows * t.Size()),
			s.Take(fixed.count * fixed.cols * t.Size())
	}
	memory(&size)
	return attach.OnQueue(size.Used, func(q *cuda.Queue, c *op.Call) error {
		k := fixed
		room, row, col := memory(&attach.CUDAScratch{Base: c.Scratch})
		if k.ofRow = c.Out[0].Data; k.ofRow == nil {
			k.ofRow = row
		}
		if k.ofCol = c.Out[1].Data; k.ofCol == nil {
			k.ofCol = col
		}
		order, err := sorted.Run(q, attach.Any{Data: c.In[0].Data, Type: kind}, room)
		if err != nil {
			return err
		}
		k.x, k.order = c.In[0].Data, order
		return cuda.LaunchWith(q, f, q.Each(k.count), &k)
	})
}
