// Command shape measures the packages of the tree and prints one row per package: lines of code
// and tests, coverage, share of comments, stems, widest struct, largest type, long lines, and
// comment lines with free relatives.
//
//	go run ./internal/shape                                  table on standard output
//	go run ./internal/shape --cover cover.out                with coverage of a test run
//	go run ./internal/shape --write docs/architecture.md     replaces the table in the page
//
// The limits are held by internal/arch.
package main
