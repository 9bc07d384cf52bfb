// Package compress compresses gradients for sending.
//
// The codes are lossy, but training keeps the loss: the sender keeps the residual, the difference
// between the gradient and the values that the receiver decodes, and adds it to the next gradient
// (error feedback). A residual belongs to one sender and one array, and begins as zeros:
//
//	m := compress.Method{Kind: compress.TwoBit, Threshold: 0.5}
//	payload, err := m.Append(nil, grad, residual) // changes residual
//	err = compress.Add(sum, m.Kind, payload)      // at the receiver
//
// To decode a payload a receiver needs only its kind and its number of elements, so it has no
// state: slices of an array are compressed one by one and may arrive in any order.
//
// # Kinds
//
//   - TwoBit is MXNet's code, bit for bit: an element becomes +threshold, -threshold or 0, sixteen
//     of them in four bytes.
//   - OneBit keeps the signs, and the mean of the elements of each sign (Seide et al., 2014).
//   - TopK keeps the elements of largest magnitude unchanged, with their indices.
//   - Half rounds to float16, BHalf to bfloat16.
//
// Payloads come from the network: Add never panics, checks the length before it writes, and rejects
// indices outside the array.
package compress
