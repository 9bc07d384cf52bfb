// Package heap sets the share of garbage in the heap of a process that serves values:
//
//	defer heap.LimitGarbage()()
package heap
