package mem

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"gomx/kvstore/wire"
)

// Faults sets the faults of a network. The zero value means no faults.
type Faults struct {
	Loss      float64 // probability that a message is lost
	Duplicate float64 // probability that a message arrives twice
	Reorder   float64 // probability that later messages may overtake a message
	MinDelay  time.Duration
	MaxDelay  time.Duration // delays are uniformly distributed from MinDelay to MaxDelay
}

// Network connects endpoints in one process. Its methods may be called from any goroutine.
type Network struct {
	seed uint64

	mu     sync.Mutex
	faults Faults
	group  map[wire.Node]int // partition of a node; a node without one reaches all nodes
	cut    map[pair]bool     // directions that lose all messages
	links  map[pair]*link
	at     map[string]*endpoint // open endpoints by address
	names  int                  // number of addresses generated
}

// pair is a direction between two nodes.
type pair struct{ from, to wire.Node }

// link is the state of a direction.
type link struct {
	rng  *rand.Rand // draws the faults
	last time.Time  // latest due time of a message that keeps the order
}

// NewNetwork returns a network without faults. The seed determines the faults that SetFaults adds.
func NewNetwork(seed uint64) *Network {
	return &Network{seed: seed, group: map[wire.Node]int{}, cut: map[pair]bool{},
		links: map[pair]*link{}, at: map[string]*endpoint{}}
}

// SetFaults sets the faults of messages that are sent from now on.
func (n *Network) SetFaults(f Faults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = f
}

// Partition lets messages pass only between nodes of the same group. Nodes of no group reach all
// nodes.
func (n *Network) Partition(groups ...[]wire.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.group = map[wire.Node]int{}
	for i, g := range groups {
		for _, node := range g {
			n.group[node] = i + 1
		}
	}
}

// Cut loses all messages from one node to another, and only in that direction.
func (n *Network) Cut(from, to wire.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[pair{from, to}] = true
}

// Heal ends partitions and cuts. Faults stay.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.group, n.cut = map[wire.Node]int{}, map[pair]bool{}
}

// enter adds an endpoint with address addr, or with a generated one if addr is empty.
func (n *Network) enter(e *endpoint, addr string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if addr == "" {
		n.names++
		addr = fmt.Sprintf("mem:%d", n.names)
	}
	if n.at[addr] != nil {
		return fmt.Errorf("mem: address %s is in use by %s", addr, n.at[addr].cfg.Self)
	}
	n.at[addr] = e
	e.addr = addr
	return nil
}

func (n *Network) leave(addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.at, addr)
}

// there reports whether an endpoint is open at an address.
func (n *Network) there(addr string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at[addr] != nil
}

// fate draws the due times of the copies of a message: none if it is lost.
func (n *Network) fate(from, to wire.Node, addr string) (at *endpoint, due []time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := pair{from, to}
	l := n.links[p]
	if l == nil {
		l = &link{rng: rand.New(rand.NewPCG(n.seed, nodeKey(from)<<32|nodeKey(to)))}
		n.links[p] = l
	}
	f := &n.faults
	// Every message draws the same number of random values, so that the k-th message of a direction
	// has the same values in every run.
	var draw [5]float64
	for i := range draw {
		draw[i] = l.rng.Float64()
	}
	at = n.at[addr]
	a, b := n.group[from], n.group[to]
	if at == nil || n.cut[p] || a != b && a != 0 && b != 0 || draw[0] < f.Loss {
		return nil, nil
	}
	due = append(due, n.due(l, draw[2] < f.Reorder, draw[3]))
	if draw[1] < f.Duplicate {
		due = append(due, n.due(l, true, draw[4]))
	}
	return at, due
}

// due returns the time of arrival. Messages keep their order unless overtaken allows later ones to
// pass.
func (n *Network) due(l *link, overtaken bool, draw float64) time.Time {
	f := &n.faults
	t := time.Now().Add(f.MinDelay + time.Duration(draw*float64(max(0, f.MaxDelay-f.MinDelay))))
	if overtaken {
		return t.Add(max(time.Millisecond, f.MaxDelay))
	}
	if t.Before(l.last) {
		t = l.last
	}
	l.last = t
	return t
}

func nodeKey(n wire.Node) uint64 { return uint64(n.Role)<<16 | uint64(n.Rank) }
