package device

import (
	"fmt"
	"unsafe"

	"gomx/dtype"
)

// JointKind says which operation several devices compute together.
type JointKind uint8

// The operations of several devices.
const (
	SumToAll  JointKind = iota // every device gets the sum of all operands
	SumToRoot                  // one device gets the sum
	Spread                     // every device gets the operand of one
)

// Joint is one operation of several devices of a kind, each of which has a part in it.
type Joint struct {
	Kind     JointKind
	Type     dtype.Type
	Elements int // of each operand and result
	Root     int // index in Parts: the device of the result of SumToRoot, of the operand of Spread
	Parts    []JointPart
}

// JointPart is the part of one device. Its operand may lie where its result does.
type JointPart struct {
	ID   int            // number of the device
	From unsafe.Pointer // operand; Spread reads that of the root only
	To   unsafe.Pointer // result; SumToRoot writes that of the root only
}

// Joiner runs operations of several devices of one kind. Any goroutine may use it.
type Joiner interface {
	// Joins reports whether devices can compute together with elements of a type. It prepares that
	// at the first call for a list of devices, which may take seconds. An error is the reason why a
	// preparation has failed; there is none if the machine simply lacks the means.
	Joins(ids []int, t dtype.Type) (bool, error)
	// Join puts the operation on q, a queue of any of the devices: it begins after the work that is
	// on q, and work that is put on q later begins after its end on all devices. Joins must have
	// returned true for its devices and type.
	Join(q Queue, j *Joint) error
}

// RegisterJoiner sets the Joiner of a kind of devices. Only init functions may call it; it panics
// if the kind has one already.
func RegisterJoiner(k Kind, j Joiner) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.joiners[k] != nil {
		panic(fmt.Sprintf("device: kind %s has two joiners", k))
	}
	registry.joiners[k] = j
}

// JoinerOf returns the Joiner of a kind of devices, nil if it has none.
func JoinerOf(k Kind) Joiner {
	if int(k) >= len(registry.joiners) {
		return nil
	}
	return registry.joiners[k]
}
