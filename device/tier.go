package device

import "sync/atomic"

// tierLimit is the highest tier that MaxTier returns, stored as its distance below the highest one
// built so that the zero value means no limit.
var tierLimit atomic.Uint32

// MaxTier returns the highest kernel tier that operators may use: the highest one that the binary
// has, TierC with cgo and TierGo without, unless LimitTier said otherwise.
func MaxTier() Tier { return builtTier - Tier(tierLimit.Load()) }

// LimitTier makes MaxTier return t, or the highest tier of the binary if that is lower, and returns
// what it was before. It holds for the whole process and for kernels that are prepared afterwards;
// it is meant for tests and for diagnosis, such as comparing a kernel with the reference.
func LimitTier(t Tier) (before Tier) {
	return builtTier - Tier(tierLimit.Swap(uint32(builtTier-min(t, builtTier))))
}
