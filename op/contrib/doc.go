// Package contrib defines operators that MXNet keeps in its namespace contrib and that belong to no
// other family: attention with interleaved heads, and small element-wise functions.
//
// Names, attributes, shapes and semantics are those of MXNet 1.9.1; registered names begin with
// _contrib_, generated functions with Contrib.
//
// # Attention
//
// Queries, keys and values of several heads lie interleaved in the last axis of one projection: an array of
// shape (steps, batch, heads·parts·size) holds, for every head, parts vectors of the given size. With self-attention
// there are three of them, query, key and value; between an encoder and a decoder the queries have
// an array of their own and two parts, key and value, remain.
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
// An attention operator copies the parts that it reads head by head, so that what remains is a batch of matrix
// products, and copies results back. The reference takes plain loops in float64 for the products,
// the kernel of tier c those of device/cpu.
package contrib
