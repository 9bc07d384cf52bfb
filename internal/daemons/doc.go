// Package daemons starts real components for tests: ssh servers, a cluster of Slurm, and the
// example mnist, whose results it compares. Everything that a function starts ends with the test. A
// missing program is an error with the command that installs it.
//
// It is imported by tests only. Package hosts has the network namespaces.
package daemons
