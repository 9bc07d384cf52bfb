// Package compress makes gradients smaller before they travel.
//
// What a code loses is not lost to training: the sender keeps the difference between what it wanted
// to say and what the receiver will understand, the residual, and adds it to the next gradient
// (error feedback). A residual belongs to one sender and one array, and begins as zeros:
//
//	m := compress.Method{Kind: compress.TwoBit, Threshold: 0.5}
//	payload, err := m.Append(nil, grad, residual) // changes residual
//	err = compress.Add(sum, m.Kind, payload)      // on the other side
//
// A payload says everything that is needed to read it but its kind and the number of elements, so a
// receiver has no state: slices of an array are compressed one by one and may meet in any order.
//
// # Kinds
//
//   - TwoBit is MXNet's code, bit for bit: an element becomes +threshold, -threshold or 0, sixteen
//     of them in four bytes.
//   - OneBit keeps only signs, and the mean of the elements of each sign (Seide et al., 2014).
//   - TopK keeps the elements of largest magnitude as they are, with their places.
//   - Half rounds to float16.
//
// Payloads come from the network: Add never panics, checks the length before it writes, and
// rejects places outside of the array.
package compress
