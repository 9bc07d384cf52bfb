//go:build !race

package kvstore_test

const race = false
