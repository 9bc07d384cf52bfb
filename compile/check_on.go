//go:build invariants

package compile

// Invariants says whether every program is checked before Compile returns it.
const Invariants = true
