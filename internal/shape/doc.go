// Command shape measures the packages of the tree and prints one row per package: lines of code
// and tests, coverage, share of comments, stems, widest struct, largest type, long lines, and
// comment lines with free relatives.
//
//	go run ./internal/shape                                  table on standard output
//	go run ./internal/shape --cover cover.out                with coverage, from a profile or from
//	                                                         the output of go test -cover
//	go run ./internal/shape --write docs/architecture.md     replaces the table in the page
//	go run ./internal/shape --picture docs/architecture.svg  draws the layers that the page lists
//
// A mark stands behind figures beyond the limits of package measure. internal/arch holds the limits
// and lists the exemptions.
package main
