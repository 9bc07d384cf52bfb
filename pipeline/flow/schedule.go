package flow

// Action is a part of the work of a stage: the forward part or the backward part of a micro-batch.
type Action struct {
	Micro    int
	Backward bool
}

// Order chooses the order of the actions of a step.
type Order uint8

// The orders.
const (
	// OneForwardOneBackward overlaps the work of the stages; see the package's documentation.
	OneForwardOneBackward Order = iota
	// InTurn finishes a micro-batch before the next one begins: stages work one after the other.
	// It serves comparisons.
	InTurn
	// ForwardOnly has no backward parts.
	ForwardOnly
	// Collect sends each value of the links with a Round once: in action number j the values of
	// round j. It serves values that do not belong to micro-batches, such as parameters for a file.
	Collect
)

// Schedule returns the actions of a stage in a step of so many micro-batches or rounds, in their
// order.
func Schedule(o Order, stage, stages, micros int) []Action {
	list := make([]Action, 0, 2*micros)
	ahead, backward := InFlight(o, stage, stages, micros), o <= InTurn
	for j := range micros {
		list = append(list, Action{Micro: j})
		if backward && j+1 >= ahead {
			list = append(list, Action{j + 1 - ahead, true})
		}
	}
	for j := micros + 1 - ahead; backward && j < micros; j++ {
		list = append(list, Action{j, true})
	}
	return list
}

// InFlight returns the largest number of micro-batches of which a stage has done the forward part
// and not the backward part.
func InFlight(o Order, stage, stages, micros int) int {
	if o != OneForwardOneBackward {
		return 1
	}
	return min(stages-stage, micros)
}
