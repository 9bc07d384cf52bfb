package bench

import "math"

// platformNoise fills dst with numbers in [-0.5, 0.5) that depend on their positions, which begin
// at first, as peers/platforms_data.py does.
func platformNoise(dst []float32, first uint32) {
	for i := range dst {
		h := (first + uint32(i)) * 2654435761
		h ^= h >> 15
		h *= 2246822519
		h ^= h >> 13
		dst[i] = float32(h>>8)/(1<<24) - 0.5
	}
}

// part computes the samples of a worker and their labels.
func (p *platformPlan) part(rank int, x, y []float32) {
	d := p.Features
	platformNoise(x, uint32(rank*p.share()*d))
	blocks := p.Outputs
	if blocks == 1 {
		blocks = 2
	}
	width := d / blocks
	for i := range y {
		best, at := math.Inf(-1), 0
		for b := range blocks {
			sum := 0.0
			for _, v := range x[i*d+b*width : i*d+(b+1)*width] {
				sum += float64(v)
			}
			if sum > best {
				best, at = sum, b
			}
		}
		if p.Outputs == 1 {
			at = 1 - at // whether the first half has the larger sum
		}
		y[i] = float32(at)
	}
}

// weights fills dst with the initial weights of layer i, by He's rule. Biases are zero.
func (p *platformPlan) weights(i int, dst []float32) {
	platformNoise(dst, 4000000007+10000019*uint32(i))
	scale := float32(math.Sqrt(24 / float64(p.layers()[i][0])))
	for k := range dst {
		dst[k] *= scale
	}
}

// loss returns the mean cross-entropy of probabilities, and the accuracy.
func (p *platformPlan) loss(probs, labels []float32) (loss, accuracy float64) {
	hits := 0
	for i, l := range labels {
		row := probs[i*p.Outputs : (i+1)*p.Outputs]
		if p.Outputs == 1 {
			q := float64(row[0])
			if (q > 0.5) == (l > 0.5) {
				hits++
			}
			if l < 0.5 {
				q = 1 - q
			}
			loss -= math.Log(q)
			continue
		}
		best := 0
		for k := range row {
			if row[k] > row[best] {
				best = k
			}
		}
		if best == int(l) {
			hits++
		}
		loss -= math.Log(float64(row[int(l)]))
	}
	return loss / float64(len(labels)), float64(hits) / float64(len(labels))
}
