package loss

import (
	"gomx/op"
)

// dataLabel lists the inputs of losses that compare data with a label.
func dataLabel[P any](P) []op.Input {
	return []op.Input{{Name: "data"}, {Name: "label", Role: op.Label}}
}
