// Package device defines devices: their names, their memory and queues, and the number of threads
// of a kernel.
//
// A [Device] is a kind and a number: CPU(), CUDA(0), Null(0). The whole processor is one device;
// its kernels come in tiers (see [Tier]).
//
// # Memory
//
// Array data lives outside the Go heap, where the garbage collector neither scans nor moves it.
// [Alloc] returns a [Block]: 64-byte aligned, its content undefined, owned by the caller until
// Free.
//
//	b, err := device.Alloc(device.CPU(), 4*n, device.PurposeArray)
//	if err != nil {
//		return err
//	}
//	defer b.Free()
//	x := unsafe.Slice((*float32)(b.Ptr), n)
//
// Each device has a [Pool] with a free list per size class; the last block freed is the next one
// returned. Classes are an eighth of a power of two apart: rounding wastes at most 12.5 %. Blocks
// up to 32 KiB are cut from slabs, which are never released; larger blocks come from the backend
// one by one and return to it by [Pool.Trim], or when the pool caches more bytes than have been in
// use lately.
//
// Operations run later than the program that pushes them, so memory is freed later than the program
// lets go of it. [Block.Retire] announces this: an allocation for an array of a megabyte or more
// waits, ten seconds at most, when 64 MiB of its size, and two blocks, are on their way back. Memory
// therefore does not grow with the distance between a program and its operations.
//
// The garbage collector does not know the size of this memory: to it an unreachable array of a
// gigabyte is a header of a few words. Therefore the pool counts the bytes whose purpose is
// PurposeArray and starts a collection when they have doubled since the last one, and again before
// it reports that memory is exhausted.
//
// [Usage] returns the bytes in use by purpose. [Pool.SetLimit] sets a limit.
//
// # Backends
//
// Each kind of device has a [Backend], which these packages register in init: gomx/device/cpu,
// gomx/device/null, and gomx/device/cuda in binaries built with the tag cuda. Registration ends
// with the first use of a pool.
//
// # Threads
//
// [Threads] computes the number of threads of a kernel from its cost and the configured cores
// alone: the same operator on the same shapes always splits its work alike, so its results repeat
// bit for bit.
//
// All functions and types may be used by many goroutines at once.
package device
