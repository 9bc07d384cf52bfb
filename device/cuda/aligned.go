//go:build cuda

package cuda

import "unsafe"

// alignment is the alignment in bytes that operands of cuDNN must have: its kernels read 16 bytes
// at once, and an algorithm that was measured on aligned memory may fail on other memory. Views
// begin anywhere.
const alignment = 16

// bitsOf returns the bits of addresses, ORed.
func bitsOf(list ...unsafe.Pointer) (bits uintptr) {
	for _, p := range list {
		bits |= uintptr(p)
	}
	return bits
}

// operand is an operand of a library's call: the place of its address, its size in bytes, and
// whether the call reads and writes it.
type operand struct {
	p             *unsafe.Pointer
	bytes         int
	reads, writes bool
}

// mostOperands bounds the operands of one call.
const mostOperands = 16

// align lets every operand begin at an aligned address for the work that fn puts on q: copies of
// other operands, made on the device, replace them meanwhile. It keeps no pointer, so that a call
// whose operands are aligned allocates nothing.
func (q *Queue) align(list []operand, fn func() error) error {
	total := 0
	for _, o := range list {
		if uintptr(*o.p)%alignment != 0 {
			total += (o.bytes + 255) &^ 255
		}
	}
	if total == 0 {
		return fn()
	}
	space, err := q.room(&q.copies, total)
	if err != nil {
		return err
	}
	var original [mostOperands]unsafe.Pointer
	for i, o := range list {
		original[i] = *o.p
		if err != nil || uintptr(*o.p)%alignment == 0 {
			continue
		}
		if o.reads {
			err = q.CopyFrom(space, q.Device(), *o.p, o.bytes)
		}
		*o.p = space
		space = unsafe.Add(space, (o.bytes+255)&^255)
	}
	if err == nil {
		err = fn()
	}
	for i, o := range list {
		if err == nil && o.writes && *o.p != original[i] {
			err = q.CopyFrom(original[i], q.Device(), *o.p, o.bytes)
		}
		*o.p = original[i]
	}
	return err
}
