package vision

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// MultiBoxDetectionParams configures MultiBoxDetection.
type MultiBoxDetectionParams struct {
	NoClip        bool            `op:"clip,not" doc:"do not clip boxes at the border of the image"`
	Threshold     op.Opt[float64] `op:"threshold" default:"0.01" doc:"least probability of a detection"`
	BackgroundID  int             `op:"background_id" doc:"accepted for compatibility, the background is class 0"`
	NMSThreshold  op.Opt[float64] `op:"nms_threshold" default:"0.5" doc:"least overlap at which the less probable box is suppressed; outside (0, 1]: no sorting, no suppression"`
	ForceSuppress bool            `op:"force_suppress" doc:"compare boxes of different classes too"`
	Variances     []float64       `op:"variances" default:"(0.1, 0.1, 0.2, 0.2)" doc:"factors of the predictions of x, y, width and height"`
	NMSTopK       op.Opt[int]     `op:"nms_topk" default:"-1" doc:"number of detections with the highest probability that are used; 0 or less: all"`
}

// MultiBoxDetection converts predictions to detections.
var MultiBoxDetection = op.Declare[MultiBoxDetectionParams]("_contrib_MultiBoxDetection")

func init() {
	MultiBoxDetection.Define(op.Spec[MultiBoxDetectionParams]{
		Traits: op.Traits{
			GoName: "MultiBoxDetection",
			Doc: `MultiBoxDetection converts predictions for anchors to detections (Liu et al. 2016).

cls_prob has shape (n, classes, a) with the background as class 0, loc_pred (n, 4·a), anchor
(1, a, 4). The output has shape (n, a, 6): rows (class - 1, probability, left, top, right, bottom),
the most probable first. Rows with class -1 are not detections: suppressed detections keep their
other numbers, rows behind the last detection are all -1. There is no gradient.`,
			Aliases:   []string{"_npx_multibox_detection"},
			Precision: op.Wide,
		},
		Inputs:      prim.Inputs[MultiBoxDetectionParams]("cls_prob", "loc_pred", "anchor"),
		Infer:       inferDetection,
		InferType:   op.FloatType[MultiBoxDetectionParams],
		Grad:        prim.ZeroGrad[MultiBoxDetectionParams],
		GradStorage: op.GradDense[MultiBoxDetectionParams],
		Ref:         inType(detect[float32], detect[float64]),
	})
}

func inferDetection(p MultiBoxDetectionParams, in, out []dtype.Shape) error {
	if len(p.Variances) != 4 {
		return op.Errorf("variances", "%v, want four numbers", p.Variances)
	}
	n := meet(extent(in[0], 0), extent(in[1], 0), extent(out[0], 0))
	a := meet(extent(in[0], 2), extent(in[2], 1), extent(out[0], 1), quarter(extent(in[1], 1)))
	for i, want := range []dtype.Shape{{n, -1, a}, {n, times(a, 4)}, {1, a, 4}} {
		if err := op.Require([]string{"cls_prob", "loc_pred", "anchor"}[i], &in[i],
			want); err != nil {
			return err
		}
	}
	if in[0][1] == 0 {
		return op.Errorf("cls_prob", "shape %v: no classes, want at least the background", in[0])
	}
	return op.Require("output", &out[0], dtype.Shape{n, a, 6})
}

// detection is a row of the output.
type detection[T float] [6]T

func detect[T float](p MultiBoxDetectionParams, c *op.Call) error {
	probs, locs, anchors := read[T](c.In[0]), read[T](c.In[1]), read[T](c.In[2])
	y := blank[T](c.Out[0])
	n, classes, count := c.In[0].Shape[0], c.In[0].Shape[1], c.In[0].Shape[2]
	for i := range y {
		y[i] = -1
	}
	for b := range n {
		var list []detection[T]
		for i := range count {
			class, prob := likely(probs[b*classes*count+i:], classes, count)
			if class == 0 || prob < narrow[T](p.Threshold.Value()) {
				continue
			}
			d := detection[T]{T(class - 1), prob}
			decode(p, d[2:], anchors[4*i:4*i+4], locs[4*(b*count+i):])
			list = append(list, d)
		}
		if t := p.NMSThreshold.Value(); t > 0 && t <= 1 {
			list = rank(p, list)
		}
		for i, d := range list {
			copy(y[(b*count+i)*6:], d[:])
		}
	}
	store(c.Out[0], y)
	return nil
}

// likely returns the most probable class except the background, 0 if there is none, and its
// probability; values are stride elements apart.
func likely[T float](probs []T, classes, stride int) (class int, prob T) {
	prob = -1
	for k := 1; k < classes; k++ {
		if v := probs[k*stride]; v > prob {
			class, prob = k, v
		}
	}
	return class, prob
}

// decode writes the box that results from anchor and the prediction loc.
func decode[T float](p MultiBoxDetectionParams, dst, anchor, loc []T) {
	for axis := range 2 {
		size, middle := anchor[2+axis]-anchor[axis], (anchor[axis]+anchor[2+axis])/2
		middle += T(loc[axis]*narrow[T](p.Variances[axis])) * size
		half := T(math.Exp(float64(loc[2+axis]*narrow[T](p.Variances[2+axis])))) * size / 2
		dst[axis], dst[2+axis] = middle-half, middle+half
	}
	if !p.NoClip {
		for i, v := range dst {
			dst[i] = min(max(v, 0), 1)
		}
	}
}

// rank sorts detections by probability and marks the ones that overlap with a better one as
// suppressed.
func rank[T float](p MultiBoxDetectionParams, list []detection[T]) []detection[T] {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b detection[T]) int { return descending(a[1], b[1]) })
	if most := p.NMSTopK.Value(); most > 0 && most < len(list) {
		// Detections that are not used keep their positions from before the sorting.
		for i := most; i < len(list); i++ {
			sorted[i] = list[i]
			sorted[i][0] = -1
		}
	}
	for i := range sorted {
		a := &sorted[i]
		for j := i + 1; j < len(sorted) && a[0] >= 0; j++ {
			b := &sorted[j]
			if b[0] >= 0 && (p.ForceSuppress || a[0] == b[0]) &&
				overlap(a[2:], b[2:]) >= narrow[T](p.NMSThreshold.Value()) {
				b[0] = -1
			}
		}
	}
	return sorted
}

// overlap returns intersection over union of two boxes by corners, 0 for an empty union.
func overlap[T float](a, b []T) T {
	x, y := newBox("corner", a), newBox("corner", b)
	inter := intersection(x, y)
	union := x.signed() + y.signed() - inter
	if union <= 0 {
		return 0
	}
	return inter / union
}
