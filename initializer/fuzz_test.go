package initializer_test

import (
	"testing"

	"gomx/dtype"
	"gomx/initializer"
)

// FuzzParse checks that an initializer that was parsed fills an array or returns an error.
func FuzzParse(f *testing.F) {
	f.Add(`["xavier", {"rnd_type": "gaussian", "magnitude": 2}]`)
	f.Add("zeros")
	f.Add(`["lstmbias", {"forget_bias": 1.0}]`)
	f.Add(`["orthogonal", {"scale": 1e300}]`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := initializer.Parse(text); err != nil {
			return
		}
		for _, shape := range []dtype.Shape{{}, {0}, {3}, {2, 3}, {1, 1, 2, 2}} {
			d := initializer.Desc{Name: "w_weight", Shape: shape, Init: text}
			_ = initializer.Fill(initializer.Zero{}, d, make([]float32, shape.Size()))
		}
	})
}
