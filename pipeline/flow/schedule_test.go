package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"gomx/pipeline/flow"
)

// text writes a schedule as F0 F1 B0.
func text(list []flow.Action) string {
	var words []string
	for _, a := range list {
		kind := "F"
		if a.Backward {
			kind = "B"
		}
		words = append(words, fmt.Sprint(kind, a.Micro))
	}
	return strings.Join(words, " ")
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		order                 flow.Order
		stage, stages, micros int
		want                  string
	}{
		{flow.OneForwardOneBackward, 0, 3, 4, "F0 F1 F2 B0 F3 B1 B2 B3"},
		{flow.OneForwardOneBackward, 1, 3, 4, "F0 F1 B0 F2 B1 F3 B2 B3"},
		{flow.OneForwardOneBackward, 2, 3, 4, "F0 B0 F1 B1 F2 B2 F3 B3"},
		{flow.OneForwardOneBackward, 0, 4, 2, "F0 F1 B0 B1"},
		{flow.OneForwardOneBackward, 0, 1, 2, "F0 B0 F1 B1"},
		{flow.InTurn, 0, 3, 2, "F0 B0 F1 B1"},
		{flow.ForwardOnly, 0, 3, 3, "F0 F1 F2"},
		{flow.Collect, 2, 3, 3, "F0 F1 F2"},
	} {
		if got := text(flow.Schedule(c.order, c.stage, c.stages, c.micros)); got != c.want {
			t.Errorf("order %d, stage %d of %d, %d micro-batches: got %s, want %s", c.order,
				c.stage,
				c.stages, c.micros, got, c.want)
		}
	}
}

// TestSchedulesAreComplete checks that every schedule has every micro-batch once in each direction,
// backward in ascending order and after its forward part, and keeps to InFlight.
func TestSchedulesAreComplete(t *testing.T) {
	for stages := 1; stages <= 6; stages++ {
		for stage := range stages {
			for micros := 1; micros <= 9; micros++ {
				list := flow.Schedule(flow.OneForwardOneBackward, stage, stages, micros)
				forward, backward, most := 0, 0, 0
				for _, a := range list {
					at := &forward
					if a.Backward {
						at = &backward
					}
					if a.Micro != *at {
						t.Fatalf("stage %d of %d: %s", stage, stages, text(list))
					}
					*at++
					most = max(most, forward-backward)
				}
				if want := flow.InFlight(flow.OneForwardOneBackward, stage, stages,
					micros); forward != micros || backward != micros || most != want {
					t.Fatalf("stage %d of %d: %s has %d in flight, want %d", stage, stages,
						text(list), most, want)
				}
			}
		}
	}
}
