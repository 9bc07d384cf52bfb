package quantize

import (
	"fmt"
	"slices"

	"gomx/checkpoint"
)

// Mode says how ranges of data are found.
type Mode string

// The modes, under MXNet's names where it has them.
const (
	None       Mode = "none"       // from each batch when the network runs
	Naive      Mode = "naive"      // the least and the greatest number
	Percentile Mode = "percentile" // without the outermost numbers
	Entropy    Mode = "entropy"    // by the least divergence of the distributions
)

// Config configures Calibrate.
type Config struct {
	Mode Mode // "": Entropy
	// Percentile is the share of numbers that the range covers in mode Percentile, in percent; 0:
	// 99.99.
	Percentile float64
	Batches    int      // number of batches that are read; 0: all of one epoch
	Exclude    []string // names of layers that stay float32
	// ForMXNet leaves layers in float32 that MXNet's quantized operators do not compute:
	// convolutions with groups, depthwise ones among them.
	ForMXNet bool
	// MaxLoss is the greatest relative error of the outputs: the Euclidean norm of the difference
	// from the float32 network, divided by the norm of its outputs, for the first batch. The layers
	// that cause the most error stay float32 until it holds. 0: no limit.
	MaxLoss float64
}

// Result is a quantized network.
type Result struct {
	Model  *checkpoint.Model
	Layers []Layer // convolutions and dense layers, in the order of the graph
}

// Layer says how a layer was treated.
type Layer struct {
	Name      string
	Operator  string  // Convolution or FullyConnected
	Quantized bool    // the layer computes with integers
	Reason    string  // of a layer that stays float32; else empty
	DType     string  // element type of the data: uint8 or int8
	Low, High float64 // range of the data; both 0 in mode None
	// Error is the relative error that the layer alone causes at the outputs. It is measured with
	// Config.MaxLoss; else it is 0.
	Error float64
}

// complete fills in defaults and checks the rest.
func (c Config) complete() (Config, error) {
	if c.Mode == "" {
		c.Mode = Entropy
	}
	if !slices.Contains([]Mode{None, Naive, Percentile, Entropy}, c.Mode) {
		return c, fmt.Errorf("quantize: mode %q, want none, naive, percentile or entropy", c.Mode)
	}
	if c.Percentile == 0 {
		c.Percentile = 99.99
	}
	if !(c.Percentile > 0 && c.Percentile <= 100) {
		return c, fmt.Errorf("quantize: percentile %v, want more than 0 and at most 100",
			c.Percentile)
	}
	if c.Batches < 0 {
		return c, fmt.Errorf("quantize: %d batches, want 0 or more", c.Batches)
	}
	if !(c.MaxLoss >= 0) {
		return c, fmt.Errorf("quantize: greatest loss %v, want 0 or more", c.MaxLoss)
	}
	return c, nil
}
