package device

import "unsafe"

// Copy copies bytes bytes from src on device from to dst on device to, through the host if neither
// device is the processor, and returns when dst is filled.
func Copy(to Device, dst unsafe.Pointer, from Device, src unsafe.Pointer, bytes int) error {
	if bytes == 0 {
		return nil
	}
	p, err := PoolOf(to)
	if err != nil {
		return err
	}
	q, err := PoolOf(from)
	if err != nil {
		return err
	}
	switch {
	case from.Kind == KindCPU:
		p.backend.CopyIn(to.ID, dst, unsafe.Slice((*byte)(src), bytes))
	case to.Kind == KindCPU:
		q.backend.CopyOut(from.ID, unsafe.Slice((*byte)(dst), bytes), src)
	default:
		tmp, err := Alloc(CPU(), bytes, PurposeScratch)
		if err != nil {
			return err
		}
		defer tmp.Free()
		host := unsafe.Slice((*byte)(tmp.Ptr), bytes)
		q.backend.CopyOut(from.ID, host, src)
		p.backend.CopyIn(to.ID, dst, host)
	}
	return nil
}
