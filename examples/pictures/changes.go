package main

import "math"

// changes adds up how the pictures of an epoch differ from the same pictures of former epochs.
type changes struct {
	last  map[int][]float32 // pixels of each picture when it was shown last
	again int               // pictures that were shown again
	sum   float64           // of the absolute differences of their pixels
}

// add compares the pictures of a batch, whose numbers are index, with the former ones.
func (c *changes) add(index []int, pixels []float32) {
	size := len(pixels) / max(1, len(index))
	for i, picture := range index {
		now := pixels[i*size : (i+1)*size]
		if before := c.last[picture]; before != nil {
			c.again++
			for k, v := range now {
				c.sum += math.Abs(float64(v - before[k]))
			}
		}
		c.last[picture] = now
	}
}

// mean is the mean difference of a pixel, 1 if no picture was shown again.
func (c *changes) mean() float64 {
	if c.again == 0 {
		return 1
	}
	return c.sum / float64(c.again*3*side*side)
}
