package initializer

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"gomx/dtype"
)

// Desc describes a parameter that is to be initialized.
type Desc struct {
	Name  string
	Shape dtype.Shape
	Init  string // the __init__ attribute; empty: none
	Seed  uint64 // seed of the whole model; see Rand

	// Global is the initializer of the whole model; FusedRNN uses it for the parts of its vector.
	// Fill sets it.
	Global Initializer
}

// Rand returns the source of random numbers for the parameter: a function of seed and name.
func (d Desc) Rand() *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(d.Name))
	return rand.New(rand.NewPCG(d.Seed, h.Sum64()))
}

// Initializer gives values to weights.
type Initializer interface {
	// Weight fills dst, the elements of the parameter in row-major order, whatever its name is.
	Weight(d Desc, dst []float32) error
}

// chooser is an optional interface of initializers that choose the values by name themselves,
// without the rules of Fill.
type chooser interface {
	choose(d Desc, dst []float32) error
}

// Fill gives dst, whose length is the size of d.Shape, the values that the rules of the package
// and the initializer ask for.
func Fill(init Initializer, d Desc, dst []float32) error {
	if d.Shape.Size() != len(dst) {
		return fmt.Errorf("initializer: %s: room for %d values, want %d for shape %v", d.Name,
			len(dst), d.Shape.Size(), d.Shape)
	}
	if d.Global == nil {
		d.Global = init
	}
	err := fill(init, d, dst)
	if err != nil {
		return fmt.Errorf("initializer: %s: %w", d.Name, err)
	}
	return nil
}

func fill(init Initializer, d Desc, dst []float32) error {
	if d.Init != "" {
		own, err := Parse(d.Init)
		if err != nil {
			return fmt.Errorf("attribute __init__: %w", err)
		}
		return own.Weight(d, dst)
	}
	if c, ok := init.(chooser); ok {
		return c.choose(d, dst)
	}
	if strings.HasSuffix(d.Name, "weight") {
		return init.Weight(d, dst)
	}
	v, ok := bySuffix(d.Name)
	if !ok {
		return fmt.Errorf("no rule for this name: want the suffix weight, bias, gamma or beta, " +
			"or an __init__ attribute")
	}
	return Constant{Value: v}.Weight(d, dst)
}

// suffixes lists the constant values by the suffix of a parameter's name.
var suffixes = []struct {
	end   string
	value float64
}{
	{"bias", 0}, {"beta", 0}, {"moving_mean", 0}, {"running_mean", 0}, {"moving_avg", 0},
	{"moving_inv_var", 0},
	{"gamma", 1}, {"moving_var", 1}, {"running_var", 1}, {"min", 0}, {"max", 1},
}

func bySuffix(name string) (float64, bool) {
	for _, s := range suffixes {
		if strings.HasSuffix(name, s.end) {
			return s.value, true
		}
	}
	return 0, false
}
