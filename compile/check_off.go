//go:build !invariants

package compile

// invariants says whether every program is checked before Compile returns it.
const invariants = false
