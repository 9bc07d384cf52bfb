// Package conformance holds gomx to what MXNet 1.9.1 computed.
//
// The golden data is a folder of JSON indexes, npz archives and files that the real MXNet wrote;
// its README.md defines them. Each of the seven tests reads one folder of it:
//
//	TestOps      ops/      operators: outputs, gradients, auxiliary states
//	TestFormats  formats/  .params, checkpoints, symbol JSON, RecordIO, images, iterators
//	TestModels   models/   whole networks: shapes, forward, gradient norms
//	TestMemplan  memplan/  planned memory is not larger than MXNet's best
//	TestOptim    optim/    optimizers, update operators, schedules, metrics, compression
//	TestTrain    train/    twenty steps of training, and training on several machines
//	TestRest     rest/     operators and behaviours that were added later: in graphs, and called on arrays
//
// A field of a case that a test has no place for is an error ("unknown field"), so that other cases
// of the same formats are run in full or refused. testdata/own has cases of our own, of kinds that
// the golden data have none of; its make.py writes them with MXNet.
//
// Run one as
//
//	go test ./internal/conformance -run TestOps -v -golden DIR
//
// A relative DIR counts from the module's root. Without -golden the tests read ../shared/golden
// when it is there, otherwise the small selection in testdata/golden. Every failing case prints
// one line with the reason; the last line is "TestOps: N passed, N failed".
//
// # Known failures
//
// testdata/known_failing/<Test>.txt names the cases that are known to fail, one id per line. A test
// succeeds when exactly the cases of its list fail. A listed case that passes is an error that asks
// for its removal, so the list only shrinks; an id that does not occur in the golden data is passed
// over. The flag -rewrite writes the list anew. Devices other than the processor have lists of
// their own, <Test>.gpu.txt: what their kernels do not serve by nature. So do builds without C
// where they need one, <Test>.nocgo.txt: the standard library's JPEGs differ by a level more than
// the tolerance in a few samples.
//
// What gomx does not have yet counts as failed, never as skipped. Only the largest models are
// left out, in size.go, where the C kernels are missing or the race detector slows them down.
//
// # Flags
//
//	-golden DIR       folder of golden data
//	-tier ref,go,c    kernel tiers; a case passes when it passes on each of them
//	-device cuda      device to compute on
//	-small            leave out the largest models, for devices that are slow
//	-only REGEXP      run the cases whose id matches, and do not consult the list
//	-rewrite          write the list of known failures anew
//	-select           write testdata/golden from the golden folder
package conformance
