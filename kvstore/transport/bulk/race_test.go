//go:build race

package bulk

const race = true
