// Package initializer gives parameters their first values, with MXNet's initializers and rules.
//
//	init := initializer.Xavier{RndType: "gaussian", FactorType: "in", Magnitude: 2}
//	values := make([]float32, shape.Size())
//	err := initializer.Fill(init, initializer.Desc{Name: "conv1_weight", Shape: shape, Seed: 7}, values)
//
// # Which initializer
//
// Fill decides by the name of the parameter, as MXNet does. An __init__ attribute of the parameter
// ('["xavier", {"magnitude": 2}]', or just "zeros") has priority. Otherwise the suffix of the name
// decides: …weight gets the values of the initializer, …bias, …beta, …moving_mean, …running_mean
// and …min get 0, …gamma, …moving_var, …running_var and …max get 1. Any other name is an error.
// Mixed chooses by regular expression, Load takes existing values.
//
// # Randomness
//
// The random numbers of a parameter depend on seed and name only, not on the order of
// initialization or on other parameters.
//
// # Text form
//
// Format and Parse convert between initializers and MXNet's JSON, as symbol files carry it.
//
// Fields left zero have MXNet's defaults. Initializers are values without state and may be used by
// many goroutines.
package initializer
