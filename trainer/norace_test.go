//go:build !race

package trainer

// race says whether the race detector is on.
const race = false
