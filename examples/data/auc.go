package data

import (
	"cmp"
	"slices"

	dataio "gomx/io"
	nd "gomx/ndarray"
)

// ClickScore says how well scores predict clicks.
type ClickScore struct {
	AUC      float64
	Accuracy float64 // share of the samples whose label is the more likely one
}

// ScoreClicks compares the labels of all samples with their scores; scores computes the scores of a
// batch, which are logarithms of the odds of a click.
func ScoreClicks(it *dataio.TextIter, scores func(x *nd.Array) (*nd.Array, error)) (s ClickScore,
	err error) {
	var all, labels []float32
	for b, err := range it.Epoch() {
		if err != nil {
			return s, err
		}
		list, err := scores(b.Data[0])
		if err != nil {
			return s, err
		}
		for _, of := range []struct {
			array *nd.Array
			to    *[]float32
		}{{list, &all}, {b.Label[0], &labels}} {
			v, err := of.array.Float32s()
			if err != nil {
				return s, err
			}
			*of.to = append(*of.to, v[:it.BatchSize()-b.Pad]...)
		}
	}
	hits := 0
	for i, v := range all {
		if (v > 0) == (labels[i] > 0.5) {
			hits++
		}
	}
	return ClickScore{AUC(all, labels), float64(hits) / float64(max(1, len(all)))}, nil
}

// AUC returns the area under the ROC curve: the probability that a sample with the label 1 has a
// higher score than one with the label 0; a tie counts half. It is 0.5 if one label is missing.
func AUC(scores, labels []float32) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	wins, ones, zeros := 0.0, 0.0, 0.0 // zeros that have a lower score than the present one
	for len(order) > 0 {
		n := 1
		for n < len(order) && scores[order[n]] == scores[order[0]] {
			n++
		}
		tied := 0.0 // samples of this score with the label 1
		for _, i := range order[:n] {
			tied += float64(labels[i])
		}
		wins += tied * (zeros + (float64(n)-tied)/2)
		ones, zeros = ones+tied, zeros+float64(n)-tied
		order = order[n:]
	}
	if ones*zeros == 0 {
		return 0.5
	}
	return wins / (ones * zeros)
}
