package vision

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// MultiBoxTargetParams configures MultiBoxTarget.
type MultiBoxTargetParams struct {
	OverlapThreshold       op.Opt[float64] `op:"overlap_threshold" default:"0.5" doc:"overlap above which an anchor gets the class of a label; 0 or less: only the best anchor of a label does"`
	IgnoreLabel            op.Opt[float64] `op:"ignore_label" default:"-1" doc:"class of anchors that are neither positive nor negative"`
	NegativeMiningRatio    op.Opt[float64] `op:"negative_mining_ratio" default:"-1" doc:"negative anchors per positive one; 0 or less: all others are negative"`
	NegativeMiningThresh   op.Opt[float64] `op:"negative_mining_thresh" default:"0.5" doc:"overlap below which an anchor can be negative, with mining"`
	MinimumNegativeSamples int             `op:"minimum_negative_samples" doc:"accepted for compatibility, without effect"`
	Variances              []float64       `op:"variances" default:"(0.1, 0.1, 0.2, 0.2)" doc:"divisors of the targets of x, y, width and height"`
}

// MultiBoxTarget computes the training targets of anchors.
var MultiBoxTarget = op.Declare[MultiBoxTargetParams]("_contrib_MultiBoxTarget")

func init() {
	MultiBoxTarget.Define(op.Spec[MultiBoxTargetParams]{
		Traits: op.Traits{
			Multi:  true,
			GoName: "MultiBoxTarget",
			Doc: `MultiBoxTarget assigns labels to anchors and computes their training targets (Liu et al. 2016).

anchor has shape (1, a, 4), label (n, l, 5 or more) with rows (class, left, top, right, bottom, ...)
that end at a row of -1, cls_pred (n, classes, a). Each label gets its best anchor; other anchors get
the label that they overlap most, if they overlap it enough. The outputs are loc_target (n, 4·a), the
offsets from anchors to labels, loc_mask of the same shape, 1 for positive anchors, and cls_target
(n, a): the class plus one, 0 for background, ignore_label for ignored anchors. With mining the
negative anchors are the anchors with the lowest probability of background. In images without labels
all anchors are ignored. There is no gradient.`,
			Aliases:   []string{"_npx_multibox_target"},
			Precision: op.Wide,
		},
		Inputs: prim.Inputs[MultiBoxTargetParams]("anchor", "label", "cls_pred"),
		Outputs: func(MultiBoxTargetParams) []string {
			return []string{"loc_target", "loc_mask", "cls_target"}
		},
		Infer:       inferTarget,
		InferType:   op.FloatType[MultiBoxTargetParams],
		Grad:        prim.ZeroGrad[MultiBoxTargetParams],
		GradStorage: op.GradDense[MultiBoxTargetParams],
		Ref:         inType(target[float32], target[float64]),
	})
}

// meet returns the first known value of one extent from several sources; Require reports conflicts.
func meet(list ...int) int {
	for _, n := range list {
		if n != -1 {
			return n
		}
	}
	return -1
}

// extent returns an extent of s, -1 if s is unknown.
func extent(s dtype.Shape, i int) int {
	if i >= len(s) {
		return -1
	}
	return s[i]
}

// quarter returns the number of boxes for a number of coordinates, -1 if unknown.
func quarter(n int) int {
	boxes, _ := over(n, 4)
	return boxes
}

func inferTarget(p MultiBoxTargetParams, in, out []dtype.Shape) error {
	if len(p.Variances) != 4 {
		return op.Errorf("variances", "%v, want four numbers", p.Variances)
	}
	n := meet(extent(in[1], 0), extent(in[2], 0), extent(out[0], 0), extent(out[1], 0),
		extent(out[2], 0))
	a := meet(extent(in[0], 1), extent(in[2], 2), extent(out[2], 1), quarter(extent(out[0], 1)),
		quarter(extent(out[1], 1)))
	for i, want := range []dtype.Shape{{1, a, 4}, {n, -1, -1}, {n, -1, a}} {
		if err := op.Require([]string{"anchor", "label", "cls_pred"}[i], &in[i], want); err != nil {
			return err
		}
	}
	if k := in[1][2]; k != -1 && k < 5 {
		return op.Errorf("label", "shape %v, want rows of at least five numbers", in[1])
	}
	for i, want := range []dtype.Shape{{n, times(a, 4)}, {n, times(a, 4)}, {n, a}} {
		if err := op.Require([]string{"loc_target", "loc_mask", "cls_target"}[i], &out[i],
			want); err != nil {
			return err
		}
	}
	return nil
}

// The states of an anchor.
const (
	ignored = iota
	negative
	positive
)

// assignment holds the matches of the anchors of one image.
type assignment[T float] struct {
	p      MultiBoxTargetParams
	iou    [][]T // overlap, per anchor and label
	state  []int
	label  []int // best label per anchor, -1: not computed
	best   []T   // overlap with the best label, per anchor
	labels int
}

func target[T float](p MultiBoxTargetParams, c *op.Call) error {
	anchors, labels, preds := read[T](c.In[0]), read[T](c.In[1]), read[T](c.In[2])
	loc, mask, class := blank[T](c.Out[0]), blank[T](c.Out[1]), blank[T](c.Out[2])
	n, rows, width := c.In[1].Shape[0], c.In[1].Shape[1], c.In[1].Shape[2]
	count, classes := c.In[0].Shape[1], c.In[2].Shape[1]
	for i := range class {
		class[i] = narrow[T](p.IgnoreLabel.Value())
	}
	for b := range n {
		gt, err := validLabels(labels[b*rows*width:(b+1)*rows*width], width)
		if err != nil {
			return err
		}
		if len(gt) == 0 {
			continue
		}
		a := newAssignment(p, anchors, gt)
		a.matchBest()
		a.matchOverlapping()
		a.chooseNegatives(preds[b*classes*count:(b+1)*classes*count], classes)
		for i, state := range a.state {
			switch at := b*count + i; state {
			case negative:
				class[at] = 0
			case positive:
				row := gt[a.label[i]]
				class[at] = row[0] + 1
				encode(p, loc[4*at:4*at+4], anchors[4*i:4*i+4], row[1:5])
				copy(mask[4*at:4*at+4], []T{1, 1, 1, 1})
			}
		}
	}
	store(c.Out[0], loc)
	store(c.Out[1], mask)
	store(c.Out[2], class)
	return nil
}

// validLabels returns the rows before the first row of class -1.
func validLabels[T float](labels []T, width int) ([][]T, error) {
	var rows [][]T
	for at := 0; at < len(labels); at += width {
		row := labels[at : at+width]
		if row[0] == -1 {
			if slices.ContainsFunc(row[:5], func(v T) bool { return v != -1 }) {
				return nil, op.Errorf("label", "row %v has class -1 and a box, want -1 throughout",
					row)
			}
			break
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func newAssignment[T float](p MultiBoxTargetParams, anchors []T, labels [][]T) *assignment[T] {
	n := len(anchors) / 4
	a := &assignment[T]{p: p, iou: make([][]T, n), state: make([]int, n), label: make([]int, n),
		best: make([]T, n), labels: len(labels)}
	for i := range n {
		a.label[i], a.best[i] = -1, -1
		x := newBox("corner", anchors[4*i:4*i+4])
		for _, row := range labels {
			y := newBox("corner", row[1:5])
			inter := intersection(x, y)
			union := x.signed() + y.signed() - inter
			var iou T
			if union != 0 {
				iou = inter / union
			}
			a.iou[i] = append(a.iou[i], iou)
		}
	}
	return a
}

// matchBest assigns to each label the best free anchor, pairs with the largest overlap first.
func (a *assignment[T]) matchBest() {
	taken := make([]bool, a.labels)
	for range a.labels {
		anchor, label, most := -1, -1, T(1e-6)
		for i, iou := range a.iou {
			for k, v := range iou {
				if a.state[i] != positive && !taken[k] && v > most {
					anchor, label, most = i, k, v
				}
			}
		}
		if anchor < 0 {
			return
		}
		taken[label] = true
		a.state[anchor], a.label[anchor], a.best[anchor] = positive, label, most
	}
}

// findBest computes the label that anchor i overlaps most.
func (a *assignment[T]) findBest(i int) {
	for k, v := range a.iou[i] {
		if v > a.best[i] {
			a.label[i], a.best[i] = k, v
		}
	}
}

// matchOverlapping assigns to the other anchors the label that they overlap more than the
// threshold.
func (a *assignment[T]) matchOverlapping() {
	for i, state := range a.state {
		if state == positive {
			continue
		}
		a.findBest(i)
		if t := narrow[T](a.p.OverlapThreshold.Value()); t > 0 && a.best[i] > t {
			a.state[i] = positive
		}
	}
}

// chooseNegatives makes anchors background: all remaining ones, or with mining the ones with the
// worst predictions. If there are fewer candidates than the ratio requires, all become background.
func (a *assignment[T]) chooseNegatives(preds []T, classes int) {
	count := 0
	for _, state := range a.state {
		if state == positive {
			count++
		}
	}
	ratio := a.p.NegativeMiningRatio.Value()
	var candidates []int
	for i, state := range a.state {
		if state != positive && (ratio <= 0 ||
			a.best[i] < narrow[T](a.p.NegativeMiningThresh.Value())) {
			candidates = append(candidates, i)
		}
	}
	if ratio > 0 {
		prob := make([]T, len(a.state))
		for _, i := range candidates {
			prob[i] = background(preds[i:], classes, len(a.state))
		}
		slices.SortStableFunc(candidates, func(i, j int) int {
			return descending(prob[j], prob[i])
		})
		most := int(float32(count) * float32(ratio))
		candidates = candidates[:min(most, len(candidates))]
	}
	for _, i := range candidates {
		a.state[i] = negative
	}
}

// background returns the probability of class 0: a softmax over scores that are stride elements
// apart.
func background[T float](scores []T, classes, stride int) T {
	most, sum := scores[0], T(0)
	for k := range classes {
		most = max(most, scores[k*stride])
	}
	for k := range classes {
		sum += T(math.Exp(float64(scores[k*stride] - most)))
	}
	return T(math.Exp(float64(scores[0]-most))) / sum
}

// encode writes the offsets from an anchor to a box.
func encode[T float](p MultiBoxTargetParams, dst, anchor, box []T) {
	for axis := range 2 {
		size, want := anchor[2+axis]-anchor[axis], box[2+axis]-box[axis]
		middle, goal := (anchor[axis]+anchor[2+axis])/2, (box[axis]+box[2+axis])/2
		dst[axis] = (goal - middle) / size / narrow[T](p.Variances[axis])
		dst[2+axis] = T(math.Log(float64(want/size))) / narrow[T](p.Variances[2+axis])
	}
}
