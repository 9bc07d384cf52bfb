// Package profiling is the command `gomx profile`: it runs a program that records its operators
// (package launch/profile), sums them up in a Report, and writes a trace for Perfetto.
package profiling
