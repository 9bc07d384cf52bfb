package device

import "sync/atomic"

// tierLimit is the number of tiers between builtTier and the limit, so that the zero value means no
// limit.
var tierLimit atomic.Uint32

// MaxTier returns the highest kernel tier that operators may use: the highest tier of the binary,
// which is TierC with cgo and TierGo without, unless LimitTier has set a lower one.
func MaxTier() Tier { return builtTier - Tier(tierLimit.Load()) }

// LimitTier makes MaxTier return t, or the highest tier of the binary if that is lower, and returns
// the tier that MaxTier returned before. The limit applies to the whole process, to kernels that
// are prepared later; it serves tests and diagnosis, such as comparing a kernel with the reference.
func LimitTier(t Tier) (before Tier) {
	return builtTier - Tier(tierLimit.Swap(uint32(builtTier-min(t, builtTier))))
}
