// Command mutate measures the strength of a package's tests: it plants one small fault at a time,
// runs the tests, and reports the faults that no test noticed.
//
//	go run ./internal/mutate -n 200 -seed 1 ./memplan
//	go run ./internal/mutate -n 50 ./engine -- -run 'TestSched|TestRandom'
//	go run ./internal/mutate -n 50 -also ./kvstore/ps ./kvstore/ps/server
//
// With -also the tests of other packages run over a mutant that the package's own tests leave
// alive: the parts of a protocol are tested together, in the package above them.
//
// Arguments after -- go to `go test`. The tree is not changed: faults are overlaid on it. A mutant
// is killed when the tests fail or take longer than -timeout; one that does not compile is replaced
// by another. The last line is `mutate: K of N killed (P %), seed S`; -min sets the share of killed
// mutants below which the command exits with 1.
package main
