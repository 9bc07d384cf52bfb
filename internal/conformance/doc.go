// Package conformance compares gomx with results of MXNet 1.9.1.
//
// The golden data is a folder of JSON indexes, npz archives and files that MXNet wrote; its
// README.md defines them. Each of the seven tests reads one folder of it:
//
//	TestOps      ops/      operators: outputs, gradients, auxiliary states
//	TestFormats  formats/  .params, checkpoints, symbol JSON, RecordIO, images, iterators
//	TestModels   models/   whole networks: shapes, forward, gradient norms
//	TestMemplan  memplan/  planned memory is not larger than MXNet's best
//	TestOptim    optim/    optimizers, update operators, schedules, metrics, compression
//	TestTrain    train/    twenty steps of training, and training on several machines
//
// TestRest rest/ operators and behaviours that were added later
//
// TestGluon gluon/ layers, losses, trainers, data and files of Gluon, and the networks of its zoo
//
// A field of a case that the test does not know is an error ("unknown field"), so that each case
// runs in full or not at all. testdata/own has our own cases, of kinds that the golden data lack;
// its make.py writes them with MXNet.
//
// Run one as
//
//	go test ./internal/conformance -run TestOps -v -golden DIR
//
// A relative DIR is relative to the module's root. Without -golden the tests read ../shared/golden
// if it exists, otherwise the small selection in testdata/golden. Every failing case prints one
// line with the reason; the last line is "TestOps: N passed, N failed".
//
// # Known failures
//
// testdata/known_failing/<Test>.txt lists the cases that are known to fail, one id per line. A test
// succeeds when exactly the cases of its list fail. A listed case that passes is an error, so that
// the list only shrinks. Ids that the golden data do not have are ignored. The flag -rewrite writes
// the list. Devices other than the processor have lists of their own, <Test>.gpu.txt, with the
// cases that their kernels do not support. Builds without C have <Test>.nocgo.txt: the JPEG decoder
// of the standard library differs in a few samples by one level more than the tolerance.
//
// A missing feature of gomx counts as failed, never as skipped. Only the largest models are left
// out, in size.go, without C kernels or under the race detector; without -golden the networks of the
// zoo with more than ten million parameters are left out, too.
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
