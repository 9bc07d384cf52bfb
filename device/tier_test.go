package device_test

import (
	"testing"

	"gomx/device"
)

func TestLimitTier(t *testing.T) {
	if got := device.MaxTier(); got != device.TierC {
		t.Errorf("got %v without a limit, want c", got)
	}
	for _, tier := range []device.Tier{device.TierRef, device.TierGo, device.TierC} {
		before := device.LimitTier(tier)
		if got := device.MaxTier(); got != tier {
			t.Errorf("got %v under limit %v", got, tier)
		}
		if got := device.LimitTier(before); got != tier {
			t.Errorf("LimitTier returns %v, want the limit before, %v", got, tier)
		}
	}
}
