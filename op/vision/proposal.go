package vision

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// ProposalParams configures Proposal and MultiProposal.
type ProposalParams struct {
	PreNMSTopN    op.Opt[int]     `op:"rpn_pre_nms_top_n" default:"6000" doc:"number of boxes with the highest scores that are used; 0 or less: all"`
	PostNMSTopN   int             `op:"rpn_post_nms_top_n" default:"300" min:"1" doc:"number of proposals per image"`
	Threshold     op.Opt[float64] `op:"threshold" default:"0.7" doc:"overlap above which the box with the lower score is suppressed"`
	MinSize       op.Opt[int]     `op:"rpn_min_size" default:"16" doc:"least height and width of a box, in the image before scaling"`
	Scales        []float64       `op:"scales" default:"(4, 8, 16, 32)" doc:"sizes of anchors, in steps of the feature map"`
	Ratios        []float64       `op:"ratios" default:"(0.5, 1, 2)" doc:"ratios of height to width of anchors"`
	FeatureStride int             `op:"feature_stride" default:"16" min:"1" doc:"elements of the image per step of the feature map"`
	OutputScore   bool            `op:"output_score" doc:"return the scores as a second visible output"`
	IoULoss       bool            `op:"iou_loss" doc:"bbox_pred is added to the corners of anchors"`
}

// Proposal and MultiProposal propose regions, for one image and for several.
var (
	Proposal      = op.Declare[ProposalParams]("_contrib_Proposal")
	MultiProposal = op.Declare[ProposalParams]("_contrib_MultiProposal")
)

func init() {
	defineProposal(Proposal, "Proposal", `Proposal makes regions of interest from a region proposal network (Ren et al. 2015), for one image.

cls_prob has shape (1, 2·a, h, w), background before foreground, bbox_pred (1, 4·a, h, w) and
im_info (1, 3): height, width and scale of the image; a is the number of scales times the number of
ratios. Anchors are shifted by bbox_pred, clipped at the border of the image, sorted by probability,
and boxes that overlap a better one are removed. Boxes that are too small, and positions outside
the image, come last. The output has rpn_post_nms_top_n rows (image, left, top, right, bottom); if
there are fewer boxes, they are repeated from the first on. The scores are a second output. There is
no gradient.`)
	defineProposal(MultiProposal, "MultiProposal",
		`MultiProposal is Proposal for n images: n times as many rows, and im_info of shape (n, 3).`)
}

func defineProposal(h op.Handle[ProposalParams], goName, doc string) {
	h.Define(op.Spec[ProposalParams]{
		Traits:  op.Traits{GoName: goName, Doc: doc},
		Inputs:  prim.Inputs[ProposalParams]("cls_prob", "bbox_pred", "im_info"),
		Outputs: func(ProposalParams) []string { return []string{"output", "score"} },
		Visible: func(p ProposalParams) int {
			if p.OutputScore {
				return 2
			}
			return 1
		},
		Infer: func(p ProposalParams, in, out []dtype.Shape) error {
			images := -1
			if h == Proposal {
				images = 1
			}
			return inferProposal(p, images, in, out)
		},
		InferType:   op.FloatType[ProposalParams],
		Grad:        prim.ZeroGrad[ProposalParams],
		GradStorage: op.GradDense[ProposalParams],
		Ref:         inType(propose[float32], propose[float64]),
	})
}

func (p ProposalParams) anchors() int { return len(p.Scales) * len(p.Ratios) }

func inferProposal(p ProposalParams, images int, in, out []dtype.Shape) error {
	rows, ok := over(meet(extent(out[0], 0), extent(out[1], 0)), p.PostNMSTopN)
	if !ok {
		return op.Errorf("output", "shape %v, want %d rows for each image", out[0], p.PostNMSTopN)
	}
	n := meet(images, extent(in[0], 0), extent(in[1], 0), extent(in[2], 0), rows)
	h, w := meet(extent(in[0], 2), extent(in[1], 2)), meet(extent(in[0], 3), extent(in[1], 3))
	for i, want := range []dtype.Shape{{n, 2 * p.anchors(), h, w}, {n, 4 * p.anchors(), h, w},
		{n, 3}} {
		if err := op.Require([]string{"cls_prob", "bbox_pred", "im_info"}[i], &in[i],
			want); err != nil {
			return err
		}
	}
	if err := op.Require("output", &out[0], dtype.Shape{times(n, p.PostNMSTopN), 5}); err != nil {
		return err
	}
	return op.Require("score", &out[1], dtype.Shape{times(n, p.PostNMSTopN), 1})
}

// scored is a box by corners, including its last row and column, with its probability.
type scored[T float] struct {
	corner [4]T
	score  T
}

// anchorBoxes returns the anchors of the first position. They are rounded to integers, computed in
// float32 as in MXNet.
func (p ProposalParams) anchorBoxes() [][4]float32 {
	var list [][4]float32
	size := float32(p.FeatureStride)
	middle := (size - 1) / 2
	round := func(v float32) float32 { return float32(math.Floor(float64(v + 0.5))) }
	for _, r := range p.Ratios {
		ratio := float32(r)
		base := float32(math.Sqrt(math.Floor(float64(size * size / ratio))))
		for _, s := range p.Scales {
			scale := float32(s)
			w := round(base) * scale
			h := round(w/scale*ratio) * scale
			list = append(list, [4]float32{middle - (w-1)/2, middle - (h-1)/2, middle + (w-1)/2,
				middle + (h-1)/2})
		}
	}
	return list
}

// rpn holds the output of the network for one image.
type rpn[T float] struct {
	p          ProposalParams
	probs      []T // probabilities of the foreground: (a, h, w)
	deltas     []T // predicted offsets: (4·a, h, w)
	info       []T
	h, w       int
	rows, cols int // number of rows and columns of the feature map that are inside the image
}

func propose[T float](p ProposalParams, c *op.Call) error {
	probs, deltas, info, s := read[T](c.In[0]), read[T](c.In[1]), read[T](c.In[2]), c.In[0].Shape
	y, scores := blank[T](c.Out[0]), blank[T](c.Out[1])
	size := s[1] * s[2] * s[3]
	for n := range s[0] {
		r := rpn[T]{p: p, probs: probs[n*size+size/2 : (n+1)*size],
			deltas: deltas[2*n*size : 2*(n+1)*size],
			info:   info[3*n : 3*n+3], h: s[2], w: s[3]}
		stride := T(p.FeatureStride)
		r.rows, r.cols = whole(float64(r.info[0]/stride)), whole(float64(r.info[1]/stride))
		if r.rows > r.h || r.cols > r.w {
			return op.Errorf("im_info", "%v, want an image of at most %d·%d", r.info,
				r.h*p.FeatureStride, r.w*p.FeatureStride)
		}
		boxes := r.boxes()
		kept := thin(p, boxes)
		for i := range p.PostNMSTopN {
			row := n*p.PostNMSTopN + i
			if len(kept) == 0 {
				continue // no positions
			}
			b := boxes[kept[i%len(kept)]]
			y[5*row] = T(n)
			copy(y[5*row+1:], b.corner[:])
			scores[row] = b.score
		}
	}
	store(c.Out[0], y)
	store(c.Out[1], scores)
	return nil
}

// boxes returns the shifted anchors of all positions, position by position; boxes that are too
// small or outside the image get the score -1.
func (r *rpn[T]) boxes() []scored[T] {
	var list []scored[T]
	anchors := r.p.anchorBoxes()
	least := T(r.p.MinSize.Value()) * r.info[2]
	plane := r.h * r.w
	for at := range plane {
		row, col := at/r.w, at%r.w
		for k, a := range anchors {
			b := scored[T]{score: r.probs[k*plane+at]}
			for i, v := range a {
				b.corner[i] = T(v) + T([2]int{col, row}[i%2]*r.p.FeatureStride)
			}
			var d [4]T
			for i := range d {
				d[i] = r.deltas[(4*k+i)*plane+at]
			}
			b.corner = r.move(b.corner, d)
			if row >= r.rows || col >= r.cols {
				b.score = -1
			}
			if b.corner[2]-b.corner[0]+1 < least || b.corner[3]-b.corner[1]+1 < least {
				for i, sign := range [4]T{-1, -1, 1, 1} {
					b.corner[i] += sign * least / 2
				}
				b.score = -1
			}
			list = append(list, b)
		}
	}
	return list
}

// move applies a prediction to an anchor and clips it at the border of the image.
func (r *rpn[T]) move(a, d [4]T) [4]T {
	var b [4]T
	for axis := range 2 {
		lo, hi := a[axis]+d[axis], a[2+axis]+d[2+axis]
		if !r.p.IoULoss {
			size := a[2+axis] - a[axis] + 1
			middle := d[axis]*size + a[axis] + (size-1)/2
			half := (T(math.Exp(float64(d[2+axis])))*size - 1) / 2
			lo, hi = middle-half, middle+half
		}
		border := r.info[1-axis] - 1
		b[axis], b[2+axis] = max(min(lo, border), 0), max(min(hi, border), 0)
	}
	return b
}

// thin returns the indices of the proposed boxes, best first.
func thin[T float](p ProposalParams, boxes []scored[T]) []int {
	order := make([]int, len(boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return descending(boxes[i].score, boxes[j].score)
	})
	if n := p.PreNMSTopN.Value(); n > 0 {
		order = order[:min(n, len(order))]
	}
	area := func(b [4]T) T { return (b[2] - b[0] + 1) * (b[3] - b[1] + 1) }
	return greedy(order, p.PostNMSTopN, func(i, j int) bool {
		a, b := boxes[order[i]].corner, boxes[order[j]].corner
		inter := max(min(a[2], b[2])-max(a[0], b[0])+1, 0) * max(min(a[3], b[3])-max(a[1], b[1])+1,
			0)
		return inter/(area(a)+area(b)-inter) > narrow[T](p.Threshold.Value())
	})
}
