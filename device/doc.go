// Package device says what a device is: a name, memory, and how many threads a kernel gets.
//
// A [Device] is a kind and a number: CPU(), CUDA(0), Null(0). The whole processor is one device;
// its kernels come in tiers (see [Tier]).
//
// # Memory
//
// Array data lives outside the Go heap, where the collector neither scans nor moves it. [Alloc]
// hands out a [Block]: 64-byte aligned, its content undefined, owned by the caller until Free.
//
//	b, err := device.Alloc(device.CPU(), 4*n, device.PurposeArray)
//	if err != nil {
//		return err
//	}
//	defer b.Free()
//	x := unsafe.Slice((*float32)(b.Ptr), n)
//
// Behind it stands one [Pool] per device with a free list per size class, so that a block which was
// freed is the next one handed out. Classes are an eighth of a power of two apart: rounding wastes
// at most 12.5 %. Blocks up to 32 KiB are cut from slabs, which stay; larger ones come from the
// backend one by one and go back to it by [Pool.Trim], or when cached bytes exceed those in use.
//
// The Go collector does not see this memory: an unreachable array of a gigabyte looks to it like
// the few words of its header. Therefore the pool watches the bytes whose purpose is PurposeArray
// and asks for a collection when they have doubled since the last one, and again before it reports
// that memory is out.
//
// Usage says per purpose what is in use. A limit is set by [Pool.SetLimit].
//
// # Backends
//
// A kind of device is made available by a [Backend], which packages below device register in init:
// gomx/device/cpu, gomx/device/null, and gomx/device/cuda in binaries with that tag. Registration
// ends with the first use of a pool.
//
// # Threads
//
// [Threads] decides how many threads a kernel uses, from its cost and the configured cores alone: the same
// operator on the same shapes always splits its work alike, so its results repeat bit for bit.
//
// Everything here may be used by many goroutines at once.
package device
