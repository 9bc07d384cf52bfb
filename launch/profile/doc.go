// Package profile is the part of `gomx profile` that every process of a program has: it says
// whether the process is to record its operators, and into which folder, and it writes and reads
// such records.
//
// The folder is in the environment variable GOMX_PROFILE. In it each process writes a file of lines
// in JSON: a Head, then events as they end. Package engine writes them.
package profile
