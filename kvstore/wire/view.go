package wire

import (
	"encoding/binary"
	"fmt"
)

// Member is a process of the job as the scheduler sees it.
type Member struct {
	Node        Node
	Incarnation uint32 // counts the processes of the whole job; 0: the place is free
	Alive       bool   // false: no heartbeat for too long, or gone for good
	// Left says that nobody has the place: its process said goodbye, or the place was added to a
	// running job and nobody has taken it yet.
	Left bool
	// Waits says that a worker has the place and is not in the group: rounds do not wait for it.
	Waits bool
	// Leaves says that the process is to leave: a worker with the next change of the group, a
	// server when its copies are elsewhere.
	Leaves bool
	// Enter is the incarnation that took the place when nobody had it; 0: the place has had a
	// process or waited for one since the job began.
	Enter uint32
	Nonce uint64 // drawn by the process, to recognize its own hello
	Addr  string // where the process listens; workers may have none
	Calls Calls  // of a worker
}

// Calls is how a worker's place takes part in barriers. A process that takes over a place runs its
// program again and leaves out the steps that are committed: from these numbers follows which of
// its calls repeat calls of its predecessor.
type Calls struct {
	Done uint64 // calls of this incarnation that have ended
	// steps that had ended when the job began: 0, or the steps of the snapshot that it continues
	// from
	Begin uint64
	First uint64 // barriers that processes in this place passed before their first step
	Step  uint64 // steps that had begun at the last barrier passed
	Here  uint64 // barriers passed at that step
}

// Replica is one copy of a shard. The zero value is no copy.
type Replica struct {
	Server      uint16
	Incarnation uint32
}

// IsZero reports whether there is no copy.
func (r Replica) IsZero() bool { return r.Incarnation == 0 }

// Shard says where a shard lives.
type Shard struct {
	Epoch   uint64 // grows whenever the primary changes or a backup is dropped
	Primary Replica
	Backup  Replica
	InSync  bool // the backup may be promoted, and the primary commits nothing without it
	Lost    bool // no copy is left
	// the two have changed places in this epoch, and the backup may not know yet from where on the
	// primary's log counts
	Swapped bool
	// Third is a copy that is being made to take the place of the backup, which stays in sync until
	// then. Attempt counts the third copies of the shard, so that a server knows a new one from an
	// earlier one.
	Third   Replica
	Attempt uint32
	// Moving says that the backup, of a shard that has one copy, is to become the only copy.
	Moving bool
}

// View is the scheduler's knowledge, which it makes durable before any other process hears of it.
// Views are ordered by Number.
type View struct {
	Job      uint64
	Number   uint64
	Next     uint32 // incarnation of the next process
	Barrier  uint64 // number of barriers that all workers have passed
	Snapshot uint64 // clock of the last snapshot asked for
	Group    Group
	// WantWorkers and WantServers are the numbers of places that the job is to have; 0: as many as
	// it began with.
	WantWorkers, WantServers uint32
	// Products are the classes of products that workers compute in bfloat16, as device.Products
	// spells them; empty: every worker chooses.
	Products string
	Servers  []Member
	Workers  []Member
	Shards   []Shard
}

// Group is the set of workers that rounds wait for. It changes when all of its workers have asked
// for it, between two rounds.
type Group struct {
	Number uint64   // counts the changes; 0: the group with which the job began
	Round  uint64   // rounds before the last change, as its workers count them
	Ranks  []uint16 // sorted; of group 0: all workers with which the job began
	Note   []byte   // of the workers, for workers that come later
}

// ViewVersion is the version of the encoding of views. Records of views that outlive their process
// hold it (package view).
const ViewVersion = 3

const (
	memberSize = 4 + 4 + 4 + 8 + 5*8 + 4 // without the address
	shardSize  = 8 + 3*6 + 4 + 1
)

// Append appends the view's encoding.
func (v *View) Append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, v.Job)
	dst = le.AppendUint64(dst, v.Number)
	dst = le.AppendUint32(dst, v.Next)
	dst = le.AppendUint64(dst, v.Barrier)
	dst = le.AppendUint64(dst, v.Snapshot)
	dst = le.AppendUint64(dst, v.Group.Number)
	dst = le.AppendUint64(dst, v.Group.Round)
	dst = le.AppendUint32(dst, uint32(len(v.Group.Ranks)))
	for _, r := range v.Group.Ranks {
		dst = le.AppendUint16(dst, r)
	}
	dst = appendBytes(dst, v.Group.Note)
	dst = le.AppendUint32(dst, v.WantWorkers)
	dst = le.AppendUint32(dst, v.WantServers)
	dst = appendString(dst, v.Products)
	for _, members := range [...][]Member{v.Servers, v.Workers} {
		dst = le.AppendUint32(dst, uint32(len(members)))
		for i := range members {
			dst = members[i].append(dst)
		}
	}
	dst = le.AppendUint32(dst, uint32(len(v.Shards)))
	for i := range v.Shards {
		s := &v.Shards[i]
		dst = le.AppendUint64(dst, s.Epoch)
		for _, r := range [...]Replica{s.Primary, s.Backup, s.Third} {
			dst = le.AppendUint16(dst, r.Server)
			dst = le.AppendUint32(dst, r.Incarnation)
		}
		dst = le.AppendUint32(dst, s.Attempt)
		dst = append(dst, bit(s.InSync, 0)|bit(s.Lost, 1)|bit(s.Swapped, 2)|
			bit(s.Moving, 3))
	}
	return dst
}

func (m *Member) append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = append(dst, byte(m.Node.Role), bit(m.Alive, 0)|bit(m.Left, 1)|bit(m.Waits, 2)|
		bit(m.Leaves, 3))
	dst = le.AppendUint16(dst, m.Node.Rank)
	dst = le.AppendUint32(dst, m.Incarnation)
	dst = le.AppendUint32(dst, m.Enter)
	dst = le.AppendUint64(dst, m.Nonce)
	for _, n := range [...]uint64{m.Calls.Done, m.Calls.Begin, m.Calls.First, m.Calls.Step,
		m.Calls.Here} {
		dst = le.AppendUint64(dst, n)
	}
	return appendString(dst, m.Addr)
}

// DecodeView reads a view. It shares no memory with b.
func DecodeView(b []byte) (*View, error) {
	r := &reader{b: b}
	v := &View{Job: r.u64(), Number: r.u64(), Next: r.u32(), Barrier: r.u64(), Snapshot: r.u64()}
	v.Group.Number, v.Group.Round = r.u64(), r.u64()
	for range r.count(2) {
		v.Group.Ranks = append(v.Group.Ranks, r.u16())
	}
	v.Group.Note = append([]byte(nil), r.bytes()...)
	v.WantWorkers, v.WantServers = r.u32(), r.u32()
	v.Products = string(r.bytes())
	v.Servers = r.members()
	v.Workers = r.members()
	if n := r.count(shardSize); n > 0 {
		v.Shards = make([]Shard, n)
	}
	for i := range v.Shards {
		s := &v.Shards[i]
		s.Epoch = r.u64()
		s.Primary = Replica{Server: r.u16(), Incarnation: r.u32()}
		s.Backup = Replica{Server: r.u16(), Incarnation: r.u32()}
		s.Third = Replica{Server: r.u16(), Incarnation: r.u32()}
		s.Attempt = r.u32()
		bits := r.u8()
		s.InSync, s.Lost, s.Swapped, s.Moving = bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
		if bits > 15 {
			return nil, fmt.Errorf("%w: view with unknown bits %#x of shard %d", ErrBody, bits, i)
		}
		for _, c := range [...]Replica{s.Primary, s.Backup, s.Third} {
			if int(c.Server) >= len(v.Servers) && !r.bad {
				return nil, fmt.Errorf("%w: view with shard %d on server %d of %d", ErrBody, i,
					c.Server, len(v.Servers))
			}
		}
	}
	if err := r.end("view"); err != nil {
		return nil, err
	}
	for i := range v.Servers {
		if want := (Node{Server, uint16(i)}); v.Servers[i].Node != want {
			return nil, fmt.Errorf("%w: view has %s in the place of %s", ErrBody, v.Servers[i].Node,
				want)
		}
	}
	for i := range v.Workers {
		if want := (Node{Worker, uint16(i)}); v.Workers[i].Node != want {
			return nil, fmt.Errorf("%w: view has %s in the place of %s", ErrBody, v.Workers[i].Node,
				want)
		}
	}
	for _, rank := range v.Group.Ranks {
		if int(rank) >= len(v.Workers) {
			return nil, fmt.Errorf("%w: view with worker %d of %d in the group", ErrBody, rank,
				len(v.Workers))
		}
	}
	return v, nil
}

func (r *reader) members() []Member {
	n := r.count(memberSize)
	if n == 0 {
		return nil
	}
	out := make([]Member, n)
	for i := range out {
		m := &out[i]
		m.Node.Role = Role(r.u8())
		bits := r.u8()
		m.Alive, m.Left, m.Waits, m.Leaves = bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
		m.Node.Rank = r.u16()
		m.Incarnation = r.u32()
		m.Enter = r.u32()
		if bits > 15 {
			r.bad = true
		}
		m.Nonce = r.u64()
		m.Calls = Calls{Done: r.u64(), Begin: r.u64(), First: r.u64(), Step: r.u64(), Here: r.u64()}
		m.Addr = string(r.bytes())
	}
	return out
}

// Member returns the entry of a server or worker, nil for others.
func (v *View) Member(n Node) *Member {
	list := v.Servers
	if n.Role == Worker {
		list = v.Workers
	} else if n.Role != Server {
		return nil
	}
	if int(n.Rank) >= len(list) {
		return nil
	}
	return &list[n.Rank]
}

// Current reports whether incarnation is the one that holds the node's place.
func (v *View) Current(n Node, incarnation uint32) bool {
	m := v.Member(n)
	return m != nil && incarnation != 0 && m.Incarnation == incarnation
}

// Clone returns a copy that shares nothing with v.
func (v *View) Clone() *View {
	c := *v
	c.Servers = append([]Member(nil), v.Servers...)
	c.Workers = append([]Member(nil), v.Workers...)
	c.Shards = append([]Shard(nil), v.Shards...)
	c.Group.Ranks = append([]uint16(nil), v.Group.Ranks...) // notes are never changed
	return &c
}

// Over reports whether all workers have left: the job has ended. Workers that are not in the group
// do not count.
func (v *View) Over() bool {
	for i := range v.Workers {
		if m := &v.Workers[i]; !m.Left && !m.Waits {
			return false
		}
	}
	return true
}
