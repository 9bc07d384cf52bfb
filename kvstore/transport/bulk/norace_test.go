//go:build !race

package bulk

const race = false
