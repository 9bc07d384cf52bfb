// Package contrib defines operators of MXNet's namespace contrib that belong to no other family:
// attention with interleaved heads, Fourier transforms, count sketches, Hawkes processes, and small
// element-wise functions.
//
// Names, attributes, shapes and semantics equal MXNet 1.9.1's; registered names begin with
// _contrib_, generated functions with Contrib.
//
// # Attention
//
// Queries, keys and values of several heads are interleaved in the last axis of one projection: an
// array of shape (steps, batch, heads·parts·size) holds, for every head, parts vectors of the given
// size. Self-attention has three parts: query, key and value. In attention between an encoder and a
// decoder the queries are a separate array, and the other has two parts: key and value.
//
//	p := contrib.AttentionParams{Heads: 8}
//	scores := contrib.SelfAttQK.Apply(p, qkv)           // (batch·heads, steps, steps)
//	weights := prim.Softmax.Apply(prim.SoftmaxParams{}, scores)
//	y := contrib.SelfAttValAtt.Apply(p, qkv, weights)   // (steps, batch, heads·size)
//
// Scores are scaled by 1/√size.
//
// # Kernels
//
// An attention operator is a batch of matrix products with one matrix per head and sequence. The
// reference computes them with plain loops in float64, the kernel of tier c with device/cpu.
package contrib
