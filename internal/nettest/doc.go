// Package nettest holds networks and comparisons that the tests of symbol, compile, graph and exec
// share: small networks by name, random graphs of all kinds of operators, and trials that run a
// graph in training and inference and collect all that it leaves.
//
// It is imported by tests only.
package nettest
