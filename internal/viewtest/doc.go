// Package viewtest tests implementations of view.Store: Run holds for all of them. Memory is a
// store within one process, for tests of programs above it, whose leads end when a test says so.
package viewtest
