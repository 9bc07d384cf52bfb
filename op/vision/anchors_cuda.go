//go:build cuda

package vision

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

// detectArgs, targetArgs and proposeArgs are parameters of the kernels for anchors in boxes.cu.
type (
	detectArgs struct {
		out, probs, locs, anchors, rows, score, order, list unsafe.Pointer
		images, classes, n, sort, force, clip, top          int
		least, threshold                                    float64
		variance                                            [4]float64
	}
	detectLists struct {
		d       detectArgs
		numbers unsafe.Pointer
	}
	targetArgs struct {
		loc, mask, cls, anchors, labels, preds       unsafe.Pointer
		iou, score, order, state, match, most, taken unsafe.Pointer
		images, n, rows, width, classes, mining      int
		threshold, ignore, ratio, miningThreshold    float64
		variance                                     [4]float64
	}
	proposeArgs struct {
		out, scores, probs, deltas, info             unsafe.Pointer
		corner, score, order, gone, kept             unsafe.Pointer
		images, anchors, h, w, stride, before, after int
		least, iouLoss                               int
		threshold                                    float64
		anchor                                       [4 * listed]float64
	}
)

// narrowed returns four parameters, rounded to float32, for a kernel.
func narrowed(list []float64) (v [4]float64) {
	for i := range v {
		v[i] = narrow[float64](list[i])
	}
	return v
}

// wide returns the size in bytes of the arithmetic type of an element type.
func wide(t dtype.Type) int { return max(t.Size(), 4) }

func detectCUDA(p MultiBoxDetectionParams, a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	s := a.In[0].Shape
	fixed := detectArgs{images: s[0], classes: s[1], n: s[2], force: attach.B2I(p.ForceSuppress),
		clip: attach.B2I(!p.NoClip), top: p.NMSTopK.Value(),
		least:     narrow[float64](p.Threshold.Value()),
		threshold: narrow[float64](p.NMSThreshold.Value()), variance: narrowed(p.Variances)}
	fixed.sort = attach.B2I(p.NMSThreshold.Value() > 0 && p.NMSThreshold.Value() <= 1)
	rows := fixed.images * fixed.n
	sorted := attach.Order{Lanes: fixed.images, N: fixed.n, Step: 1}
	each, join := cuda.Func("boxes", "detect_rows", t), cuda.Func("boxes", "detect", t)
	memory := func(s *attach.CUDAScratch) (k detectLists, room unsafe.Pointer) {
		k.d = fixed
		k.d.rows, k.d.list, k.d.score = s.Take(6*rows*wide(t)), s.Take(6*rows*wide(t)),
			s.Take(8*rows)
		k.numbers = s.Take(8 * rows)
		return k, s.Take(sorted.Scratch())
	}
	var size attach.CUDAScratch
	memory(&size)
	return attach.OnQueue(size.Used, func(q *cuda.Queue, c *op.Call) error {
		k, room := memory(&attach.CUDAScratch{Base: c.Scratch})
		k.d.out, k.d.probs, k.d.locs, k.d.anchors = c.Out[0].Data, c.In[0].Data, c.In[1].Data,
			c.In[2].Data
		if err := cuda.LaunchWith(q, each, q.Each(rows), &k.d); err != nil {
			return err
		}
		order, err := sorted.Run(q, double(k.d.score), room)
		if err != nil {
			return err
		}
		k.d.order = order
		return cuda.LaunchWith(q, join, attach.LaneGrid(fixed.images, fixed.n), &k)
	})
}

func targetCUDA(p MultiBoxTargetParams, a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok {
		return nil, op.ErrUnsupported
	}
	l := a.In[1].Shape
	fixed := targetArgs{images: l[0], n: a.In[0].Shape[1], rows: l[1], width: l[2],
		classes: a.In[2].Shape[1], mining: attach.B2I(p.NegativeMiningRatio.Value() > 0),
		threshold: narrow[float64](p.OverlapThreshold.Value()),
		ignore:    narrow[float64](p.IgnoreLabel.Value()), ratio: p.NegativeMiningRatio.Value(),
		miningThreshold: narrow[float64](p.NegativeMiningThresh.Value()),
		variance:        narrowed(p.Variances)}
	anchors := fixed.images * fixed.n
	sorted := attach.Order{Lanes: fixed.images, N: fixed.n, Step: 1, Ascend: true}
	match, write := cuda.Func("boxes", "target_match", t), cuda.Func("boxes", "target_write", t)
	memory := func(s *attach.CUDAScratch) (k targetArgs, room unsafe.Pointer) {
		k = fixed
		k.iou, k.score, k.state, k.match = s.Take(anchors*k.rows*wide(t)), s.Take(8*anchors),
			s.Take(8*anchors), s.Take(8*anchors)
		k.most, k.taken = s.Take(8*k.images), s.Take(k.images*k.rows)
		for i, out := range []*unsafe.Pointer{&k.loc, &k.mask, &k.cls} {
			*out = s.Take(a.Out[i].Bytes) // the output is not requested
		}
		return k, s.Take(sorted.Scratch())
	}
	var size attach.CUDAScratch
	memory(&size)
	return attach.OnQueue(size.Used, func(q *cuda.Queue, c *op.Call) error {
		k, room := memory(&attach.CUDAScratch{Base: c.Scratch})
		k.anchors, k.labels, k.preds = c.In[0].Data, c.In[1].Data, c.In[2].Data
		for i, out := range []*unsafe.Pointer{&k.loc, &k.mask, &k.cls} {
			if c.Out[i].Data != nil {
				*out = c.Out[i].Data
			}
		}
		if err := cuda.LaunchWith(q, match, attach.LaneGrid(k.images, k.n), &k); err != nil {
			return err
		}
		if k.mining != 0 {
			order, err := sorted.Run(q, double(k.score), room)
			if err != nil {
				return err
			}
			k.order = order
		}
		return cuda.LaunchWith(q, write, q.Each(anchors), &k)
	})
}

func proposeCUDA(p ProposalParams, a *op.Args) (*op.Prepared, error) {
	t, ok := attach.OneFloat(a)
	if !ok || p.anchors() > listed {
		return nil, op.ErrUnsupported
	}
	s := a.In[0].Shape
	fixed := proposeArgs{images: s[0], anchors: p.anchors(), h: s[2], w: s[3],
		stride: p.FeatureStride, before: p.PreNMSTopN.Value(), after: p.PostNMSTopN,
		least: p.MinSize.Value(), iouLoss: attach.B2I(p.IoULoss),
		threshold: narrow[float64](p.Threshold.Value())}
	for i, b := range p.anchorBoxes() {
		for j, v := range b {
			fixed.anchor[4*i+j] = float64(v)
		}
	}
	each := fixed.h * fixed.w * fixed.anchors
	rows := fixed.images * each
	sorted := attach.Order{Lanes: fixed.images, N: each, Step: 1}
	boxes, thin := cuda.Func("boxes", "propose_boxes", t), cuda.Func("boxes", "propose", t)
	memory := func(s *attach.CUDAScratch) (k proposeArgs, room unsafe.Pointer) {
		k = fixed
		k.corner, k.score, k.gone, k.kept = s.Take(4*rows*wide(t)), s.Take(8*rows), s.Take(rows),
			s.Take(8*rows)
		return k, s.Take(sorted.Scratch())
	}
	var size attach.CUDAScratch
	memory(&size)
	return attach.OnQueue(size.Used, func(q *cuda.Queue, c *op.Call) error {
		k, room := memory(&attach.CUDAScratch{Base: c.Scratch})
		k.out, k.scores, k.probs, k.deltas, k.info = c.Out[0].Data, c.Out[1].Data, c.In[0].Data,
			c.In[1].Data, c.In[2].Data
		if err := cuda.LaunchWith(q, boxes, q.Each(rows), &k); err != nil {
			return err
		}
		order, err := sorted.Run(q, double(k.score), room)
		if err != nil {
			return err
		}
		k.order = order
		return cuda.LaunchWith(q, thin, attach.LaneGrid(k.images, each), &k)
	})
}
