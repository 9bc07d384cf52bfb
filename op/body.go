package op

// Runner runs a graph inside an operator again and again: the body of a loop, or a branch. It
// belongs to one call at a time. The calls have one tensor for every input of the graph and one for
// every output; outputs that BodyArgs.Need leaves out are passed over.
type Runner interface {
	// Begin is called before the first Run of a loop, with the inputs of BodyArgs.Fixed in place.
	Begin(c *Call) error
	// Run computes the outputs from the inputs of c. Seed is the place of the step in the random
	// stream; every node that draws adds its number to it.
	Run(c *Call) error
}

// Body is a graph inside an operator, made ready to run.
type Body struct {
	Scratch int // bytes of scratch memory of a Runner, which stays the same from Begin on
	Threads int // threads that a run uses at most
	// Over lists pairs {input, output} that may share memory: the last step that reads the input
	// writes the output in place.
	Over [][2]int
	New  func() Runner
}

// BodyArgs describes the operands that a graph inside an operator is made ready for.
type BodyArgs struct {
	Graph *Graph
	In    []Desc // plain, by input
	Fixed []bool // inputs whose content does not change between Begin and the last Run
	Need  []bool // outputs that are wanted
	Train bool
}

// AtStep returns the place in the random stream of one step, of graph number part among the
// operator's graphs. It is a stream of its own, which begins at counter 0.
func (s Seed) AtStep(part, step int) Seed {
	return Seed{Key: mix(s.Key ^ mix(s.Counter^mix(uint64(step)<<3|uint64(part)+1)))}
}

// AtNode returns the place in the random stream of node number stream of a graph.
func (s Seed) AtNode(stream uint64) Seed {
	return Seed{Key: s.Key + stream<<32, Counter: s.Counter}
}

// mix is the finalizer of SplitMix64 (Steele et al., Fast Splittable Pseudorandom Number
// Generators, 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
