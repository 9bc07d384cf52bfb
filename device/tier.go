package device

import "sync/atomic"

// tierLimit is the highest tier that MaxTier returns, stored as its distance below TierC so that the zero value
// means no limit.
var tierLimit atomic.Uint32

// MaxTier returns the highest kernel tier that operators may use: TierC, unless LimitTier said otherwise.
func MaxTier() Tier { return TierC - Tier(tierLimit.Load()) }

// LimitTier makes MaxTier return t and returns what it was before. It holds for the whole process and for kernels
// that are prepared afterwards; it is meant for tests and for diagnosis, such as comparing a kernel with the
// reference.
func LimitTier(t Tier) (before Tier) {
	return TierC - Tier(tierLimit.Swap(uint32(TierC-min(t, TierC))))
}
