package nn

import (
	"fmt"
	"math"

	"gomx/device"
	"gomx/dtype"
	"gomx/gluon"
	nd "gomx/ndarray"
	"gomx/op"
)

// MultiHeadAttention lets each step of a sequence read the steps of the same sequence or of another
// one, the memory (Vaswani et al., Attention Is All You Need). Each head compares queries with keys
// and returns the average of the values, weighted by the softmax of query·key/√size, where size is
// Units/Heads.
//
// Sequences have the shape (n, steps, size).
type MultiHeadAttention struct {
	gluon.Hooks
	Units   int     // size of the output
	Heads   int     // a divisor of Units; 0 is 1
	NoBias  bool    // leave the biases out
	Dropout float64 // share of the weights that is dropped in training

	Query, Key, Value, Out *Dense
}

// Declare makes the four projections.
func (m *MultiHeadAttention) Declare() {
	for _, d := range []**Dense{&m.Query, &m.Key, &m.Value, &m.Out} {
		if *d == nil {
			*d = &Dense{Units: m.Units, KeepAxes: true, NoBias: m.NoBias}
		}
	}
}

// Forward is self-attention: x reads itself.
func (m *MultiHeadAttention) Forward(x *nd.Array) *nd.Array { return m.Attend(x, x) }

// Attend lets x read the memory, and returns an array of shape (n, steps of x, Units). ValidLength,
// Mask and Causal limit the steps of the memory that a step of x reads. A step that may read
// nothing gets the average of no values, zeros, before the last projection.
func (m *MultiHeadAttention) Attend(x, memory *nd.Array, opts ...AttentionOption) *nd.Array {
	if m.Out == nil {
		m.Declare()
	}
	heads := max(1, m.Heads)
	if x.Rank() != 3 || memory.Rank() != 3 {
		panic(misuse("MultiHeadAttention", "inputs of shapes %v and %v, want (n, steps, size)",
			x.Shape(), memory.Shape()))
	}
	if m.Units <= 0 || m.Units%heads != 0 {
		panic(misuse("MultiHeadAttention", "%d units, want a positive multiple of %d heads",
			m.Units, heads))
	}
	call := m.Enter(m, x, memory)
	both := gluon.OneTape([]*nd.Array{x, memory})
	x, memory = both[0], both[1]
	q, k, v := m.Query.Forward(x), m.Key.Forward(memory), m.Value.Forward(memory)
	return call.Leave(m.Out.Forward(Attention(q, k, v, heads, m.Dropout, opts...)))
}

// Attention lets queries, of shape (n, steps, heads·size), read keys and values, of shape (n, steps
// read, heads·size), head by head: softmax(query·key/√size)·value. ValidLength, Mask and Causal
// limit the steps that are read, and a share dropout of the weights is dropped in training. The
// result has the shape of the queries.
//
// It is one operator where nothing is recorded. On tapes it is spelled out, so that gradients can be
// differentiated again and exported networks are MXNet's; compilation then finds it.
func Attention(q, k, v *nd.Array, heads int, dropout float64, opts ...AttentionOption) *nd.Array {
	mask := newAttentionMask(opts)
	if operatorServes(q, k, v) {
		return mask.attention(q, k, v, heads)
	}
	scale := 1 / math.Sqrt(float64(q.Shape()[2]/heads))
	q, k, v = apart(q.MulScalar(scale), heads), apart(k, heads), apart(v, heads)
	scores := nd.BatchDot(q, k, nd.DotParams{TransposeB: true}) // (n·heads, steps, steps read)
	y := nd.BatchDot(mask.weights(scores, heads, dropout), v, nd.DotParams{})
	return y.Reshape(-4, -1, heads, 0, 0).Transpose(0, 2, 1, 3).Reshape(0, 0, -3)
}

// operatorServes reports whether attention is one operator: where nothing is recorded, on devices
// that have it, and in types that it is fast in.
func operatorServes(list ...*nd.Array) bool {
	for _, a := range list {
		kind := a.Device().Kind
		if a.Tape() != nil || kind != device.KindCPU && kind != device.KindCUDA ||
			a.DType() == dtype.Float64 {
			return false
		}
	}
	return true
}

// weights returns the weights of the values.
func (m attentionMask) weights(scores *nd.Array, heads int, dropout float64) *nd.Array {
	if may := m.array(scores, heads); may != nil {
		bias := may.SubScalar(1).MulScalar(lowest(scores.DType()))
		all := scores.Reshape(-4, -1, heads, 0, 0)
		scores = all.Add(bias).Softmax().Mul(may).Reshape(-3, 0, 0)
	} else {
		scores = scores.Softmax()
	}
	if dropout > 0 {
		scores = nd.Dropout(scores, nd.DropoutParams{P: nd.Some(dropout)})
	}
	return scores
}

// apart moves the heads of (n, steps, heads·size) to the batch: (n·heads, steps, size).
func apart(x *nd.Array, heads int) *nd.Array {
	return x.Reshape(0, 0, -4, heads, -1).Transpose(0, 2, 1, 3).Reshape(-3, 0, 0)
}

// lowest returns a number that a masked score is lowered by: its softmax is then zero.
func lowest(t dtype.Type) float64 {
	if t == dtype.Float16 {
		return 3e4
	}
	return 1e30
}

func misuse(what, format string, args ...any) *op.Error {
	return &op.Error{Op: "nn." + what, Msg: fmt.Sprintf(format, args...), Site: op.CallSite()}
}
