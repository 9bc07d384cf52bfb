// Package imitation controls the imitated driver of device/cuda/fake from tests: it makes the
// imitation strict, reads its reports, counts calls of the driver, and lets calls fail.
//
// The imitation is a libcuda.so.1 that `make cuda-check` and `make cuda-strict` build and put in
// LD_LIBRARY_PATH. A strict one, which a seed other than 0 selects, runs the threads of a kernel in
// an order drawn by the seed, twice, and compares the results; checks every access to memory;
// reports barriers that some threads do not meet and shared memory that threads use without a
// barrier between them; fills fresh memory and the shared memory of blocks with patterns; keeps
// freed memory and looks whether it changes; and runs streams out of order unless events order
// them. Kernels are checked in processes that start with a seed in the environment variable
// GX_FAKE_SEED, because the imitated compiler adds the checks.
//
// The imitation runs kernels in one of two ways. Its own compiler makes code for the processor. If
// the environment variable GX_FAKE_PTX is set, and NVIDIA's compiler is found instead, the device
// has a compute capability that the compiler does not know, so it writes PTX, which the imitation
// interprets: a check of the code that NVIDIA's compiler makes of the kernels.
//
// A violation ends the process with a message on the standard error, unless [Collect] has been
// called. The functions do nothing on a machine with another driver, or without the tag cuda.
package imitation
