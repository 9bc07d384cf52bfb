package memplan

// bitset is a set of small integers: 64 to a word, so that uniting the predecessors of two steps
// costs a 64th of their number.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }

// words returns the length of a set that can hold the integers below n.
func words(n int) int { return (n + 63) / 64 }

// add unites b with o, which may be shorter.
func (b bitset) add(o bitset) {
	for i, w := range o {
		b[i] |= w
	}
}

// triangle returns n sets of which set i can hold the integers below i, in one
// allocation: the predecessors of each of n steps. It takes n²/16 bytes, half of the memory of sets
// of one size.
func triangle(n int) []bitset {
	total := 0
	for i := range n {
		total += words(i)
	}
	all := make(bitset, total)
	out := make([]bitset, n)
	for i := range out {
		out[i], all = all[:words(i):words(i)], all[words(i):]
	}
	return out
}

// Order is a partial order of steps that grows by pairs: an earlier step and a later one. Pairs
// are added in the order of their later steps, because a pair passes on the predecessors that its
// earlier step has at that time. So the relation is transitive after every call.
//
// An Order belongs to one goroutine. Add takes time in n/64 for n steps, Has constant time.
type Order struct{ before []bitset }

// NewOrder returns the order of n steps of which nothing is known.
func NewOrder(n int) *Order { return &Order{before: triangle(n)} }

// Add says that step a comes before the later step b, and so do all that come before a.
func (o *Order) Add(a, b int) {
	o.before[b].set(a)
	o.before[b].add(o.before[a])
}

// Has reports whether step a is known to come before step b.
func (o *Order) Has(a, b int) bool { return a < b && o.before[b].has(a) }
