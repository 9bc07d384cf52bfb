package vision

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// BoxNMSParams configures BoxNMS.
type BoxNMSParams struct {
	OverlapThresh op.Opt[float64] `op:"overlap_thresh" default:"0.5" doc:"overlap above which the box with the lower score is suppressed"`
	ValidThresh   float64         `op:"valid_thresh" doc:"lower bound of the scores of boxes, exclusive"`
	TopK          op.Opt[int]     `op:"topk" default:"-1" doc:"number of boxes with the highest scores that are used; negative: all, 0: the output equals data"`
	CoordStart    op.Opt[int]     `op:"coord_start" default:"2" doc:"index of the first of the four coordinates in a row"`
	ScoreIndex    op.Opt[int]     `op:"score_index" default:"1" doc:"index of the score in a row"`
	IDIndex       op.Opt[int]     `op:"id_index" default:"-1" doc:"index of the class in a row; negative: none"`
	BackgroundID  op.Opt[int]     `op:"background_id" default:"-1" doc:"class of boxes that are ignored"`
	ForceSuppress bool            `op:"force_suppress" doc:"compare boxes of different classes too"`
	InFormat      string          `op:"in_format" default:"corner" enum:"corner|center" doc:"meaning of the four coordinates of data"`
	OutFormat     string          `op:"out_format" default:"corner" enum:"corner|center" doc:"meaning of the four coordinates of the output"`
}

// BoxNMS and its gradient, which reads the indices of the rows from which the output came.
var (
	BoxNMS     = op.Declare[BoxNMSParams]("_contrib_box_nms")
	boxNMSGrad = op.Declare[BoxNMSParams]("_backward_contrib_box_nms")
)

func init() {
	BoxNMS.Define(op.Spec[BoxNMSParams]{
		Traits: op.Traits{
			GoName: "BoxNMS",
			Doc: `BoxNMS sorts boxes by score and removes boxes that overlap too much with a better one.

Data has shape (..., n, k): n rows with a score, four coordinates, optionally a class, and other
numbers. The output has the remaining rows first, the other rows are -1. Without force_suppress
boxes suppress boxes of the same class only. If the formats differ, rows whose first coordinate is
negative are not converted. The gradient is copied to the rows from which the boxes came, without
conversion of formats.`,
			Aliases: []string{"_contrib_box_non_maximum_suppression"},
			Once:    "boxes are selected, not learned",
		},
		Outputs:   func(BoxNMSParams) []string { return []string{"output0", "output1"} },
		Visible:   func(BoxNMSParams) int { return 1 },
		Infer:     inferNMS,
		InferType: indexOutput[BoxNMSParams],
		Grad: func(g *op.Grad, p BoxNMSParams) []op.Entry {
			return []op.Entry{boxNMSGrad.Apply(p, g.Head(0), g.Out(1))}
		},
		Ref: inType(boxNMS[float32], boxNMS[float64]),
	})
	boxNMSGrad.Define(op.Spec[BoxNMSParams]{
		Traits: op.Traits{Hidden: true, NoGrad: "the second derivative of box_nms is not provided"},
		Inputs: prim.Inputs[BoxNMSParams]("out_grad", "record"),
		Infer: func(p BoxNMSParams, in, out []dtype.Shape) error {
			fwd := []dtype.Shape{in[0], in[1]}
			if err := inferNMS(p, out, fwd); err != nil {
				return err
			}
			in[0], in[1] = fwd[0], fwd[1]
			return nil
		},
		InferType: indexInput[BoxNMSParams],
		Ref:       inType(boxNMSBack[float32], boxNMSBack[float64]),
	})
}

func inferNMS(p BoxNMSParams, in, out []dtype.Shape) error {
	if err := op.Same("output0", &in[0], &out[0]); err != nil {
		return err
	}
	if r := out[1]; len(r) > 0 {
		rows := r.Clone()
		rows[len(r)-1] = -1
		if err := op.Require("data", &in[0], rows); err != nil {
			return err
		}
	}
	s := in[0]
	if s == nil {
		return nil
	}
	if len(s) < 2 {
		return op.Errorf("data", "shape %v, want rows of boxes", s)
	}
	if k := s[len(s)-1]; k != -1 {
		if err := p.check(k); err != nil {
			return err
		}
	}
	record := s.Clone()
	record[len(s)-1] = 1
	out[0] = s.Clone()
	return op.Require("output1", &out[1], record)
}

// check checks the indices in a row of k numbers.
func (p BoxNMSParams) check(k int) error {
	start, score, id := p.CoordStart.Value(), p.ScoreIndex.Value(), p.IDIndex.Value()
	inBox := func(i int) bool { return i >= start && i < start+4 }
	switch {
	case start < 0 || start+4 > k:
		return op.Errorf("coord_start", "%d, want the place of four of %d numbers", start, k)
	case score < 0 || score >= k || inBox(score):
		return op.Errorf("score_index", "%d, want the place of one of %d numbers beside "+
			"coordinates %d to %d", score, k, start, start+3)
	case id >= 0 && (id >= k || id == score || inBox(id)):
		return op.Errorf("id_index", "%d, want the place of one of %d numbers beside score and "+
			"coordinates", id, k)
	}
	return nil
}

// suppress returns the indices of the rows, of k numbers each, that are kept, in order of their
// scores.
func suppress[T float](p BoxNMSParams, rows []T, k, limit int) []int {
	score, id, start := p.ScoreIndex.Value(), p.IDIndex.Value(), p.CoordStart.Value()
	var order []int
	for i := range len(rows) / k {
		row := rows[i*k:]
		if row[score] > narrow[T](p.ValidThresh) &&
			(id < 0 || row[id] != T(p.BackgroundID.Value())) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return descending(rows[i*k+score], rows[j*k+score])
	})
	order = order[:min(len(order), limit)]
	boxes := make([]box[T], len(order))
	for n, i := range order {
		boxes[n] = newBox(p.InFormat, rows[i*k+start:i*k+start+4])
	}
	byClass := !p.ForceSuppress && id >= 0
	return greedy(order, len(order), func(a, b int) bool {
		if byClass && whole(float64(rows[order[a]*k+id])) != whole(float64(rows[order[b]*k+id])) {
			return false
		}
		inter := intersection(boxes[a], boxes[b])
		return inter/(boxes[a].area+boxes[b].area-inter) > narrow[T](p.OverlapThresh.Value())
	})
}

// descending orders numbers from largest to smallest.
func descending[T float](a, b T) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// greedy returns up to limit elements of order: it skips an element if f returns true for an
// earlier kept element and it. The arguments of f are positions in order.
func greedy(order []int, limit int, suppresses func(a, b int) bool) []int {
	gone := make([]bool, len(order))
	var kept []int
	for a, i := range order {
		if len(kept) == limit {
			break
		}
		if gone[a] {
			continue
		}
		kept = append(kept, i)
		for b := a + 1; b < len(order); b++ {
			gone[b] = gone[b] || suppresses(a, b)
		}
	}
	return kept
}

func boxNMS[T float](p BoxNMSParams, c *op.Call) error {
	x, y, record := read[T](c.In[0]), blank[T](c.Out[0]), op.Slice[int64](c.Out[1])
	if record == nil {
		record = make([]int64, c.Out[1].Shape.Size())
	}
	s := c.In[0].Shape
	n, k := s[len(s)-2], s[len(s)-1]
	limit := p.TopK.Value()
	if limit < 0 {
		limit = n
	}
	if limit == 0 {
		copy(y, x)
		for i := range record {
			record[i] = int64(i)
		}
		store(c.Out[0], y)
		return nil
	}
	for i := range y {
		y[i] = -1
	}
	for i := range record {
		record[i] = -1
	}
	for first := 0; first < len(record); first += n {
		for at, i := range suppress(p, x[first*k:(first+n)*k], k, limit) {
			record[first+at] = int64(first + i)
			copy(y[(first+at)*k:(first+at+1)*k], x[(first+i)*k:])
		}
	}
	if p.InFormat != p.OutFormat {
		for i := range record {
			start := i*k + p.CoordStart.Value()
			reformat(p.OutFormat, y[start:start+4])
		}
	}
	store(c.Out[0], y)
	return nil
}

// reformat converts four coordinates to a format from the other format.
func reformat[T float](to string, v []T) {
	if v[0] < 0 {
		return
	}
	if to == "center" {
		v[0], v[1], v[2], v[3] = (v[0]+v[2])/2, (v[1]+v[3])/2, v[2]-v[0], v[3]-v[1]
		return
	}
	w, h := v[2]/2, v[3]/2
	v[0], v[1], v[2], v[3] = v[0]-w, v[1]-h, v[0]+w, v[1]+h
}

func boxNMSBack[T float](_ BoxNMSParams, c *op.Call) error {
	dy, record, dx := read[T](c.In[0]), op.Slice[int64](c.In[1]), blank[T](c.Out[0])
	k := c.Out[0].Shape[len(c.Out[0].Shape)-1]
	for i, row := range record {
		if row >= int64(len(record)) {
			return op.Errorf("record", "row %d, want one below %d", row, len(record))
		}
		if row >= 0 {
			copy(dx[int(row)*k:(int(row)+1)*k], dy[i*k:])
		}
	}
	store(c.Out[0], dx)
	return nil
}
