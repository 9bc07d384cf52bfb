package optimizer_test

import (
	"math"
	"testing"

	"gomx/op"
	"gomx/optimizer"
)

// TestScheduleWithOptimizersRate compares schedules that have a base rate of 0.4 with MXNet's under
// an optimizer whose own rate is 0.1.
func TestScheduleWithOptimizersRate(t *testing.T) {
	warm := optimizer.Warmup{Steps: 2}
	for _, c := range []struct {
		name    string
		s       optimizer.Schedule
		updates int
		want    float64
	}{
		{"factor", optimizer.FactorScheduler{Step: 3, Factor: 0.5, BaseLR: 0.4, Warmup: warm}, 4,
			0.05},
		{"factor warming up", optimizer.FactorScheduler{Step: 3, Factor: 0.5, BaseLR: 0.4,
			Warmup: warm}, 1, 0.2},
		{"poly", optimizer.PolyScheduler{MaxUpdate: 4, BaseLR: 0.4}, 2, 0.1},
		{"cosine", optimizer.CosineScheduler{MaxUpdate: 4, BaseLR: 0.4}, 2, 0.2},
		{"poly without a rate", optimizer.PolyScheduler{MaxUpdate: 4}, 2, 0.025},
	} {
		if got := c.s.Rate(0.1, c.updates); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v after %d updates, want %v", c.name, got, c.updates, c.want)
		}
	}
}

// TestFactorOfAnyCount asks for the rate after a count of updates that no job reaches.
func TestFactorOfAnyCount(t *testing.T) {
	slow := optimizer.FactorScheduler{Step: 1, Factor: 1 - 1e-9, BaseLR: 1, StopLR: op.Some(0.)}
	want := math.Exp(-1e-9 * (1<<21 - 1))
	if got := slow.Rate(1, 1<<21); math.Abs(got-want) > 1e-8 {
		t.Errorf("got %v after %d updates, want %v", got, 1<<21, want)
	}
	if got := slow.Rate(1, math.MaxInt); got != 0 {
		t.Errorf("got %v after %d updates, want 0", got, math.MaxInt)
	}
}
