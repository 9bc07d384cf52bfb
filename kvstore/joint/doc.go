// Package joint lets devices add up and spread arrays together, where they have means to do so,
// such as NCCL of NVIDIA's GPUs.
//
// Its functions start an operation of the engine and return. They return false, and do nothing, if
// the devices cannot work together on these arrays: if there is one device only, if it holds two of
// the arrays, if an array is sparse, or if the machine lacks the means. The caller then copies and
// adds by itself. An error of the devices reaches the program when it waits for a result.
//
//	if !joint.Sum(gradients, gradients) {
//		// copy and add
//	}
package joint
