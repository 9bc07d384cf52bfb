package device_test

import (
	"testing"

	"gomx/device"
)

func TestLimitTier(t *testing.T) {
	built := device.MaxTier()
	if built < device.TierGo {
		t.Errorf("got %v without a limit, want go or c", built)
	}
	for _, tier := range []device.Tier{device.TierRef, device.TierGo, built} {
		before := device.LimitTier(tier)
		if got := device.MaxTier(); got != tier {
			t.Errorf("got %v under limit %v", got, tier)
		}
		if got := device.LimitTier(before); got != tier {
			t.Errorf("LimitTier returns %v, want the limit before, %v", got, tier)
		}
	}
}
