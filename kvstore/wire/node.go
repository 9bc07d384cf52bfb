package wire

import "strconv"

// Role is the task of a process in a job.
type Role uint8

// The roles. The zero value is no role: it marks an absent node.
const (
	NoRole Role = iota
	Scheduler
	Server
	Worker
)

// String returns the role's name as DMLC_ROLE spells it.
func (r Role) String() string {
	switch r {
	case NoRole:
		return "nobody"
	case Scheduler:
		return "scheduler"
	case Server:
		return "server"
	case Worker:
		return "worker"
	}
	return "role " + strconv.Itoa(int(r))
}

// Valid reports whether r is one of the three roles.
func (r Role) Valid() bool { return r >= Scheduler && r <= Worker }

// Node names a place in a job: a role and a rank in the role, counted from 0. A process
// that replaces a dead one takes over its node with a higher incarnation. The zero value is nobody.
type Node struct {
	Role Role
	Rank uint16
}

// String returns "worker 3", and "scheduler" for the only one of its kind.
func (n Node) String() string {
	if n.Role == Scheduler || n.Role == NoRole {
		return n.Role.String()
	}
	return n.Role.String() + " " + strconv.Itoa(int(n.Rank))
}

// IsZero reports whether n is nobody.
func (n Node) IsZero() bool { return n == Node{} }

// Number returns the node as a number, for messages that are about a node.
func (n Node) Number() uint64 { return uint64(n.Role)<<16 | uint64(n.Rank) }

// NodeOf is the opposite of Number; ok is false for numbers of no node.
func NodeOf(number uint64) (n Node, ok bool) {
	n = Node{Role: Role(number >> 16), Rank: uint16(number)}
	return n, number>>24 == 0 && n.Role.Valid()
}
