//go:build !cgo

package main

// cgo says whether this build has the kernels in C.
const cgo = false
