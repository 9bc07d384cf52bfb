package memplan

// bitset is a set of small integers.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int)      { b[i/64] |= 1 << (i % 64) }

// add unites b with o, which may be shorter.
func (b bitset) add(o bitset) {
	for i, w := range o {
		b[i] |= w
	}
}

// triangle returns n sets of which set i can hold the integers below i, in one
// allocation: who came before each of n steps.
func triangle(n int) []bitset {
	total := 0
	for i := range n {
		total += (i + 63) / 64
	}
	all := make(bitset, total)
	out := make([]bitset, n)
	for i := range out {
		words := (i + 63) / 64
		out[i], all = all[:words:words], all[words:]
	}
	return out
}

// square returns n sets that can hold the integers below n each.
func square(n int) []bitset {
	words := (n + 63) / 64
	all := make(bitset, n*words)
	out := make([]bitset, n)
	for i := range out {
		out[i], all = all[:words:words], all[words:]
	}
	return out
}
