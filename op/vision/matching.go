package vision

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// BipartiteMatchingParams configures BipartiteMatching.
type BipartiteMatchingParams struct {
	IsAscend  bool        `op:"is_ascend" doc:"lower scores are better"`
	Threshold float64     `op:"threshold,required" doc:"lower bound of a match's score, with is_ascend the upper bound, exclusive"`
	TopK      op.Opt[int] `op:"topk" default:"-1" doc:"matching ends after topk + 1 matches; -1: no limit"`
}

// BipartiteMatching matches rows and columns.
var BipartiteMatching = op.Declare[BipartiteMatchingParams]("_contrib_bipartite_matching")

func init() {
	BipartiteMatching.Define(op.Spec[BipartiteMatchingParams]{
		Traits: op.Traits{
			Multi:  true,
			GoName: "BipartiteMatching",
			Doc: `BipartiteMatching matches the rows of a matrix of scores with its columns, best scores first.

Data has shape (..., rows, columns). The outputs are the column of each row, (..., rows), and the
row of each column, (..., columns), or -1 for no match. As in MXNet, topk k gives up to k+1 matches.
There is no gradient.`,
		},
		Outputs:     func(BipartiteMatchingParams) []string { return []string{"output0", "output1"} },
		Infer:       inferMatching,
		InferType:   op.FloatType[BipartiteMatchingParams],
		Grad:        prim.ZeroGrad[BipartiteMatchingParams],
		GradStorage: op.GradDense[BipartiteMatchingParams],
		Ref:         inType(matchPairs[float32], matchPairs[float64]),
	})
}

func inferMatching(_ BipartiteMatchingParams, in, out []dtype.Shape) error {
	for k, name := range []string{"output0", "output1"} {
		if s := out[k]; len(s) > 0 {
			n := len(s)
			data := append(s[:n-1].Clone(), -1, -1)
			data[n-1+k] = s[n-1]
			if err := op.Require("data", &in[0], data); err != nil {
				return err
			}
		} else if s != nil {
			return op.Errorf(name, "shape (), want at least one axis")
		}
	}
	s := in[0]
	if s == nil {
		return nil
	}
	n := len(s)
	if n < 2 {
		return op.Errorf("data", "shape %v, want matrices of scores", s)
	}
	if err := op.Require("output0", &out[0], s[:n-1].Clone()); err != nil {
		return err
	}
	return op.Require("output1", &out[1], append(s[:n-2].Clone(), s[n-1]))
}

func matchPairs[T float](p BipartiteMatchingParams, c *op.Call) error {
	x, s := read[T](c.In[0]), c.In[0].Shape
	rows, columns := s[len(s)-2], s[len(s)-1]
	ofRow, ofColumn := blank[T](c.Out[0]), blank[T](c.Out[1])
	for _, list := range [][]T{ofRow, ofColumn} {
		for i := range list {
			list[i] = -1
		}
	}
	if size := rows * columns; size > 0 {
		for b := range len(x) / size {
			matchMatrix(p, x[b*size:(b+1)*size], ofRow[b*rows:(b+1)*rows],
				ofColumn[b*columns:(b+1)*columns])
		}
	}
	store(c.Out[0], ofRow)
	store(c.Out[1], ofColumn)
	return nil
}

// matchMatrix writes the matches of one matrix, -1 for no match.
func matchMatrix[T float](p BipartiteMatchingParams, scores, ofRow, ofColumn []T) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if p.IsAscend {
			i, j = j, i
		}
		return descending(scores[i], scores[j])
	})
	count, threshold := 0, narrow[T](p.Threshold)
	for _, i := range order {
		row, column := i/len(ofColumn), i%len(ofColumn)
		if ofRow[row] != -1 || ofColumn[column] != -1 {
			continue
		}
		if good := !p.IsAscend && scores[i] > threshold || p.IsAscend &&
			scores[i] < threshold; !good {
			return
		}
		ofRow[row], ofColumn[column] = T(column), T(row)
		if count++; p.TopK.Value() > 0 && count > p.TopK.Value() {
			return
		}
	}
}
