//go:build !race

package module

// race says whether the race detector is on.
const race = false
