package cut

import (
	"fmt"
	"math"

	"gomx/graph"
	"gomx/op"
)

// Costs are the figures from which Balance places operators.
type Costs struct {
	// Seconds is the time of an operator for a whole batch, with its backward part.
	Seconds func(n *op.Node) float64
	// Bytes is the size of a value for a whole batch. Its gradient has the same size.
	Bytes func(e op.Entry) float64
	// Memory is the number of bytes that the parameters of an operator, and the values that its
	// backward part keeps, take in the stage that runs it. Nil: memory does not matter.
	Memory func(n *op.Node) float64
	// Limit is the largest sum of Memory of a stage, in bytes; 0: no limit.
	Limit float64
	// Link is the speed of the connections between stages, in bytes per second; 0: transfers cost
	// no time.
	Link float64
	// Latency is the time of one transfer in one direction besides its bytes, in seconds.
	Latency float64
	// Learned reports the variables whose gradients are wanted; later stages get them from the
	// first stage that reads them.
	Learned func(v *op.Node) bool
}

// Balanced is a placement with the time that Balance expects.
type Balanced struct {
	At      map[*op.Node]int
	Seconds float64 // expected time of the slowest stage for a batch, with its transfers
}

// Balance cuts the order of the operators (graph.Order) into as many contiguous parts as there are
// stages, so that the slowest stage takes the least time. The time of a stage is the time of its
// operators and of all transfers from and to it, in both directions. It takes time and memory
// proportional to the square of the number of operators.
func Balance(outs []op.Entry, stages int, c Costs) (*Balanced, error) {
	b := newBalancer(outs, c)
	n := len(b.ops)
	if stages < 1 || stages > n {
		return nil, fmt.Errorf("cut: %d stages for %d operators, want 1 to %d", stages, n, n)
	}
	// best[k][j] is the least time of the slowest of k+1 stages that run the first j operators, and
	// from[k][j] where the last of them begins.
	best, from := make([][]float64, stages), make([][]int, stages)
	for k := range best {
		best[k], from[k] = make([]float64, n+1), make([]int, n+1)
		for j := range best[k] {
			best[k][j] = math.Inf(1)
		}
	}
	for i := 0; i < n; i++ {
		b.extend(i, func(j int, seconds float64) {
			if i == 0 {
				best[0][j] = seconds
			}
			for k := 1; k < stages && i > 0; k++ {
				if t := math.Max(best[k-1][i], seconds); t < best[k][j] {
					best[k][j], from[k][j] = t, i
				}
			}
		})
	}
	if math.IsInf(best[stages-1][n], 1) {
		return nil, fmt.Errorf("cut: no %d contiguous stages keep to %.0f bytes each: want more "+
			"stages, or a higher limit", stages, c.Limit)
	}
	r := &Balanced{At: map[*op.Node]int{}, Seconds: best[stages-1][n]}
	for k, j := stages-1, n; k >= 0; k-- {
		i := from[k][j]
		for _, o := range b.ops[i:j] {
			r.At[o] = k
		}
		j = i
	}
	return r, nil
}

// balancer knows the costs of contiguous parts of a graph.
type balancer struct {
	costs Costs
	ops   []*op.Node
	reads [][]value // by operator: values that later stages may get from it or through it
	makes [][]value // by operator
}

// value is an entry that stages may send.
type value struct {
	entry op.Entry
	first int // operator that makes it, or the first operator that reads it
	last  int // last operator that reads it
}

func newBalancer(outs []op.Entry, c Costs) *balancer {
	b := &balancer{costs: c}
	first, last := map[op.Entry]int{}, map[op.Entry]int{}
	for _, n := range graph.Order(outs) {
		if n.IsVar() {
			continue
		}
		i := len(b.ops)
		b.ops = append(b.ops, n)
		for _, e := range n.In {
			if _, ok := first[e]; !ok && e.Node.IsVar() {
				first[e] = i
			}
			last[e] = i
		}
		for k := range n.NumOutputs() {
			first[n.Entry(k)] = i
		}
	}
	b.reads, b.makes = make([][]value, len(b.ops)), make([][]value, len(b.ops))
	for i, n := range b.ops {
		seen := map[op.Entry]bool{}
		for _, e := range n.In {
			if v := (value{e, first[e], last[e]}); !seen[e] && b.travels(v) {
				b.reads[i] = append(b.reads[i], v)
			}
			seen[e] = true
		}
		for k := range n.NumOutputs() {
			if v := (value{n.Entry(k), i, last[n.Entry(k)]}); v.last > i {
				b.makes[i] = append(b.makes[i], v)
			}
		}
	}
	return b
}

// travels reports whether a value is sent to stages that read it and do not make it.
func (b *balancer) travels(v value) bool {
	return !v.entry.Node.IsVar() || v.last > v.first && b.costs.Learned != nil &&
		b.costs.Learned(v.entry.Node)
}

// extend calls found with the time of every part that begins with operator i, by the end of the
// part. A part that needs more memory than the limit ends the calls.
func (b *balancer) extend(i int, found func(j int, seconds float64)) {
	seconds, memory, in, out := 0.0, 0.0, 0.0, 0.0
	held := map[op.Entry]bool{}
	leaving := map[int][]op.Entry{} // held values by their last readers
	for j := i; j < len(b.ops); j++ {
		n := b.ops[j]
		seconds += b.costs.Seconds(n)
		if b.costs.Memory != nil {
			memory += b.costs.Memory(n)
		}
		if b.costs.Limit > 0 && memory > b.costs.Limit {
			return
		}
		hold := func(v value) {
			if held[v.entry] {
				return
			}
			held[v.entry] = true
			if v.first < i {
				in += b.transfer(v.entry)
			}
			if v.last > j {
				out += b.transfer(v.entry)
				leaving[v.last] = append(leaving[v.last], v.entry)
			}
		}
		for _, e := range leaving[j] {
			out -= b.transfer(e)
		}
		for _, v := range b.reads[j] {
			hold(v)
		}
		for _, v := range b.makes[j] {
			hold(v)
		}
		found(j+1, seconds+in+out)
	}
}

// transfer is the time in which a value is sent and its gradient comes back.
func (b *balancer) transfer(e op.Entry) float64 {
	t := 2 * b.costs.Latency
	if b.costs.Link > 0 {
		t += 2 * b.costs.Bytes(e) / b.costs.Link
	}
	return t
}
