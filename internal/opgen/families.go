package main

// Importing a family registers its operators.
import (
	_ "gomx/op/contrib"
	_ "gomx/op/control"
	_ "gomx/op/index"
	_ "gomx/op/linalg"
	_ "gomx/op/loss"
	_ "gomx/op/nn"
	_ "gomx/op/prim"
	_ "gomx/op/quant"
	_ "gomx/op/random"
	_ "gomx/op/rnn"
	_ "gomx/op/tensor"
	_ "gomx/op/update"
	_ "gomx/op/vision"
)
