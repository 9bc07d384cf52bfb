// Package wire spells the messages between schedulers, servers and workers, byte by byte.
//
// A Message is a fixed header of HeaderSize bytes, little-endian, sealed by a CRC-32C, and a
// payload:
//
//	var m wire.Message
//	err := wire.Decode(header, payload, &m)     // never panics, never allocates
//	buf = m.AppendHeader(buf[:0])
//
// The payload of a push or of a value is the values themselves, in the array's own element type or
// in the encoding that Codec names. Nothing on the way copies it: a transport sends header and
// payload as two parts.
//
// # Bodies
//
// Messages that carry a structure have an encoder of their own that appends to a slice, and a
// decoder that checks every count against the bytes that are there before it allocates:
//
//	View        processes of the job, and where every shard lives
//	Hello       how a process joins
//	Acks        a list of pushes and their outcomes; read in place
//	Batch       several small messages to one peer in one payload; read in place
//	Entry       head of an aggregated gradient, from a primary to its backup
//	Spec        an optimizer, as a name and parameters
//	Cursor      how far each key of a worker is committed
//	Manifest    the files of a snapshot
//
// Types that are read in place (Acks, Batch, Contributors) are views of the payload; they live as
// long as it does.
//
// # Owner of a payload
//
// A received payload is valid until the handler returns. When Owner is set the receiver may keep
// it: Take passes the payload and the duty to call Release to its caller. A payload whose Owner is
// Lent lies in memory of the sender; a receiver that has read it asks Intact before it relies on
// it.
//
// # Slices
//
// A large array travels as slices that are pushed and pulled on their own. Range says which bytes a
// slice covers; all slices but the last have the same length, a multiple of 64 bytes, so that no
// element and no code word of a compressed gradient is cut.
package wire
