// Package nccl lets the GPUs of a process add up and spread arrays together by NCCL, NVIDIA's
// library of collective operations, where the machine has it. It is opened at run time. The package
// is the device.Joiner of GPUs; package kvstore uses it in its store device.
//
// Every list of devices that works together gets communicators, which take seconds to make, at its
// first use. Operations run on a stream per device that has no other work, and events order them
// with the work of other streams, so kernels run beside them. The host waits for nothing. One
// operation at a time is put on the streams, the parts of all devices as one group; therefore all
// devices have the operations in the same order, without which they would wait for each other for
// ever.
//
// NCCL does not promise the order in which it adds the operands of more than two devices, and adds
// 16-bit numbers without a wider sum. Allow(false) keeps a program from using it.
//
// Functions may be called from any goroutine. Without the tag cuda the package has none.
package nccl
