// Package memplan places the buffers of one run of a graph in one arena.
//
// It is pure: byte intervals in, offsets and order edges out. It knows no
// graph, no tensor and no device, starts nothing and reads no clock, and the
// same input always gives the same plan.
//
// # Model
//
// A run is a list of steps that would be correct if executed one after
// another. A [Buffer] occupies Bytes bytes from the step that first writes it
// to the last step that uses it, both included; two buffers may share bytes
// when their steps do not meet. A kernel's scratch memory is a buffer whose
// Start and End are the same step. A caller that computes a result in place of its
// input gives memplan one merged buffer that lives as long as both.
//
// [Compute] chooses an offset for every buffer. This is dynamic storage
// allocation, which is NP-hard (Garey and Johnson, Computers and Intractability, problem SR2).
// Several fast heuristics are tried and the best
// result is improved within a fixed amount of work; where they stay well above
// the bound, a bounded search with backtracking follows. [Plan.LowerBound], the
// most bytes alive at one step, says how much any planner could still gain,
// and [Plan.Naive] the bytes without any sharing.
//
// MXNet's pass PlanMemory works otherwise: it hands out whole blocks and matches them by size, so
// that a small result may occupy a large block. Offsets in one arena have no such loss.
//
// # Order
//
// Steps usually run in parallel wherever data allows it, and shared bytes take
// some of that freedom back: a step that overwrites bytes must wait for every
// step that still uses them. Compute therefore returns the missing order as
// [Plan.Hazards]. The contract is:
//
//	if every step waits for its After steps and for its hazards,
//	the result equals a run of the steps one after another.
//
// A plan orders the steps of one run. A caller that uses an arena again lets all steps of the next
// run wait for the end of the previous one, or gives each run an arena of its own.
//
// # Invariants
//
// [Verify] checks a plan from scratch, with other algorithms than those that
// made it. With the build tag invariants, Compute checks every plan before it returns it:
//
//  1. Offsets are multiples of Align, and every buffer lies inside the arena, and inside the part
//     of its lane where lanes are separate.
//  2. Two buffers that are alive at the same step have no byte in common.
//  3. LowerBound <= Total <= Naive, and each of the three is the sum that its comment says.
//  4. Two steps of which one writes bytes that the other one uses are ordered by After, by their
//     lanes and by hazards.
//  5. Hazards are sorted, and no hazard follows from the others.
//
// # Lanes
//
// A [Buffer] names the lane that works on it. With [Config.SeparateLanes]
// buffers of different lanes never share bytes, so that sharing cannot make
// one lane wait for another; this costs memory. [Plan.Lanes] then says which
// part of the arena each lane has, so that lanes can be devices with arenas of
// their own. Otherwise a lane takes over bytes of another only with a hazard
// between the two. A [Step] whose Lane is not zero is known to run after all
// earlier steps of that lane, as kernels of one GPU stream do, and needs no
// hazards for it.
//
// # Pictures
//
// [Plan.SVG] draws time from left to right and addresses from bottom to top:
// white space below the dashed line of the lower bound is waste of the plan.
package memplan
