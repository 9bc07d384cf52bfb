// Package arch holds tests of the repository's shape and nothing else: which
// package may import which, where C, ZeroMQ and CUDA are allowed to appear, how long a file
// may be, that every package introduces itself, that the pure cores stay pure
// and that operators are named as text in op only.
//
// The layer list of this package is the one that docs/architecture.md explains;
// a test compares the two. To add a package, put it on a line of both: above
// everything it imports, below everything that imports it.
//
// The tests read import clauses instead of calling the go command, so that they
// see the files of every platform and build tag, and take a fraction of a
// second. The meaning of a rule stands beside its check; every rule has a case
// in rules_test.go that breaks it.
package arch
