//go:build !race

package ndarray_test

// race says whether the race detector is on.
const race = false
