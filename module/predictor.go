package module

import (
	"gomx/checkpoint"
	"gomx/device"
	"gomx/dtype"
	"gomx/predict"
)

// Predictor computes the outputs of a trained model for any number of goroutines at once: it is
// predict.Predictor, whose package describes it.
type Predictor = predict.Predictor

// PredictOption configures a Predictor.
type PredictOption = predict.Option

// NewPredictor is predict.New: it compiles a model for inference with the given inputs.
func NewPredictor(model *checkpoint.Model, opts ...PredictOption) (*Predictor, error) {
	return predict.New(model, opts...)
}

// Input is predict.Input: it names an argument that Predict takes and says its shape.
func Input(name string, dims ...int) PredictOption { return predict.Input(name, dims...) }

// InFlight is predict.InFlight: it bounds the number of runs at the same time.
func InFlight(n int) PredictOption { return predict.InFlight(n) }

// PredictOn is predict.On: it places the predictor on a device.
func PredictOn(d device.Device) PredictOption { return predict.On(d) }

// PredictPrecision is predict.Precision: layers that are mostly products compute in float16 or
// bfloat16.
func PredictPrecision(t dtype.Type) PredictOption { return predict.Precision(t) }

// PredictNarrowProducts is predict.NarrowProducts: it sets the classes of products that processors
// compute in bfloat16.
func PredictNarrowProducts(p device.Products) PredictOption { return predict.NarrowProducts(p) }
