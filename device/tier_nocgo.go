//go:build !cgo

package device

// builtTier is the highest kernel tier of the binary.
const builtTier = TierGo
