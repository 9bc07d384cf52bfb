package optimizer

import (
	"fmt"
	"math"
	"slices"

	"gomx/op"
)

// defaultLR is the learning rate if neither optimizer nor schedule sets one.
const defaultLR = 0.01

// Schedule is a learning rate that changes with the number of updates.
type Schedule interface {
	// Rate returns the learning rate after the given number of updates. lr is the optimizer's rate,
	// which takes precedence over the schedule's base rate; 0 means that the optimizer has none.
	Rate(lr float64, updates int) float64
}

// Warmup is the beginning of a schedule, with rates that lead to the schedule's own.
type Warmup struct {
	Steps int     `opt:"warmup_steps"`    // length of the warm-up in updates
	From  float64 `opt:"warmup_begin_lr"` // rate at the first update
	Mode  string  `opt:"warmup_mode"`     // linear (default) or constant
}

// FactorScheduler multiplies the rate by Factor every Step updates.
type FactorScheduler struct {
	Step   int             `opt:"step"`
	Factor float64         `opt:"factor,positive"`  // 0: 1
	StopLR op.Opt[float64] `opt:"stop_factor_lr"`   // smallest rate; unset: 1e-8
	BaseLR float64         `opt:"base_lr,positive"` // 0: 0.01
	Warmup
}

// MultiFactorScheduler multiplies the rate by Factor after each of the given numbers of updates.
type MultiFactorScheduler struct {
	Step   []int   `opt:"step"`            // increasing
	Factor float64 `opt:"factor,positive"` // 0: 1
	BaseLR float64 `opt:"base_lr,positive"`
	Warmup
}

// PolyScheduler lowers the rate from BaseLR to FinalLR as a power of the remaining share of
// updates.
type PolyScheduler struct {
	MaxUpdate int     `opt:"max_update"` // number of updates at which FinalLR is reached
	BaseLR    float64 `opt:"base_lr,positive"`
	Power     int     `opt:"pwr,positive"` // 0: 2
	FinalLR   float64 `opt:"final_lr"`
	Warmup
}

// CosineScheduler lowers the rate from BaseLR to FinalLR along half a period of the cosine.
type CosineScheduler struct {
	MaxUpdate int     `opt:"max_update"` // number of updates at which FinalLR is reached
	BaseLR    float64 `opt:"base_lr,positive"`
	FinalLR   float64 `opt:"final_lr"`
	Warmup
}

// base returns first if it is set, then second, then defaultLR. As in MXNet, the optimizer's rate
// replaces the base rate of FactorScheduler and MultiFactorScheduler, but not of the other
// schedules and of warm-ups.
func base(first, second float64) float64 {
	switch {
	case first != 0:
		return first
	case second != 0:
		return second
	}
	return defaultLR
}

// rate returns the rate during the warm-up, which ends at target; ok is false after it.
func (w Warmup) rate(target float64, updates int) (lr float64, ok bool) {
	switch {
	case updates >= w.Steps:
		return 0, false
	case w.Mode == "constant":
		return w.From, true
	}
	return w.From + (target-w.From)*float64(updates)/float64(w.Steps), true
}

// Rate returns the learning rate after the given number of updates.
func (s FactorScheduler) Rate(lr float64, updates int) float64 {
	rate := base(lr, s.BaseLR)
	if r, ok := s.Warmup.rate(base(s.BaseLR, lr), updates); ok {
		return r
	}
	factor, stop := s.Factor, s.StopLR.Or(1e-8)
	if factor == 0 {
		factor = 1
	}
	if s.Step <= 0 || factor == 1 || updates <= s.Step {
		return rate
	}
	// Repeated multiplication rounds as MXNet does; it stops early at the smallest rate.
	times := (updates - 1) / s.Step
	for range min(times, maxProducts) {
		if rate *= factor; rate < stop {
			return stop
		}
	}
	if times > maxProducts {
		rate = max(stop, rate*math.Pow(factor, float64(times-maxProducts)))
	}
	return rate
}

// maxProducts is the number of steps of a FactorScheduler that are multiplied one by one. A damaged
// or malicious state must not keep a server busy.
const maxProducts = 1 << 20

// Rate returns the learning rate after the given number of updates.
func (s MultiFactorScheduler) Rate(lr float64, updates int) float64 {
	rate := base(lr, s.BaseLR)
	if r, ok := s.Warmup.rate(base(s.BaseLR, lr), updates); ok {
		return r
	}
	for _, n := range s.Step {
		if updates > n && s.Factor != 0 {
			rate *= s.Factor
		}
	}
	return rate
}

// Rate returns the learning rate after the given number of updates.
func (s PolyScheduler) Rate(lr float64, updates int) float64 {
	rate := base(s.BaseLR, lr)
	if r, ok := s.Warmup.rate(rate, updates); ok {
		return r
	}
	power := s.Power
	if power == 0 {
		power = 2
	}
	left := 1 - share(updates, s.MaxUpdate, s.Warmup)
	return s.FinalLR + (rate-s.FinalLR)*math.Pow(left, float64(power))
}

// Rate returns the learning rate after the given number of updates.
func (s CosineScheduler) Rate(lr float64, updates int) float64 {
	rate := base(s.BaseLR, lr)
	if r, ok := s.Warmup.rate(rate, updates); ok {
		return r
	}
	return s.FinalLR + (rate-s.FinalLR)*(1+math.Cos(math.Pi*share(updates, s.MaxUpdate,
		s.Warmup)))/2
}

// share returns the completed share, 0 to 1, of the updates from the end of the warm-up to the last
// one.
func share(updates, last int, w Warmup) float64 {
	if last <= w.Steps {
		return 1
	}
	return float64(min(updates, last)-w.Steps) / float64(last-w.Steps)
}

func (w Warmup) check(baseLR float64) error {
	switch {
	case w.Steps < 0:
		return fmt.Errorf("warm-up of %d updates, want 0 or more", w.Steps)
	case w.From > base(0, baseLR):
		return fmt.Errorf("warm-up begins at rate %v, want at most the base rate %v", w.From,
			base(0, baseLR))
	case w.Mode != "" && w.Mode != "linear" && w.Mode != "constant":
		return fmt.Errorf("warm-up mode %q, want linear or constant", w.Mode)
	}
	return nil
}

func (s FactorScheduler) check() error {
	if s.Step < 1 || s.Factor > 1 {
		return fmt.Errorf("scheduler factor: step %d, factor %v, want a step of at least 1 and "+
			"a factor of at most 1", s.Step, s.Factor)
	}
	return s.Warmup.check(s.BaseLR)
}

func (s MultiFactorScheduler) check() error {
	if len(s.Step) == 0 || s.Step[0] < 1 || !slices.IsSorted(s.Step) ||
		len(slices.Compact(slices.Clone(s.Step))) != len(s.Step) || s.Factor > 1 {
		return fmt.Errorf("scheduler multifactor: steps %v, factor %v, want increasing steps "+
			"from 1 on and a factor of at most 1", s.Step, s.Factor)
	}
	return s.Warmup.check(s.BaseLR)
}

func (s PolyScheduler) check() error {
	if s.MaxUpdate < 1 {
		return fmt.Errorf("scheduler poly: %d updates, want at least 1", s.MaxUpdate)
	}
	return s.Warmup.check(s.BaseLR)
}

func (s CosineScheduler) check() error {
	if s.MaxUpdate < 1 {
		return fmt.Errorf("scheduler cosine: %d updates, want at least 1", s.MaxUpdate)
	}
	return s.Warmup.check(s.BaseLR)
}
