// Package narrow decides which products a processor computes in bfloat16 where a program asks for
// bfloat16, for example with module.MixedPrecision. Processors differ: one with AMX computes all
// classes of products several times faster than in float32, one with AVX-512 BF16 alone some, and
// others none. Classes that are not chosen compute in float32, so nothing is slower than in float32
// by choice.
//
// [Chosen] returns the choice of the process. It comes from the first of these sources that has
// one:
//
//   - [Use], which options and the schedulers of jobs call;
//   - a table of processor models that have been measured;
//   - a file in the folder of [Keep], where earlier processes have kept their measurements;
//   - a measurement of about half a second, which is then kept in that file.
//
// A processor without instructions for bfloat16, or one whose instructions ONEDNN_MAX_CPU_ISA
// hides, has no such class, and nothing is measured.
//
// Results of one choice repeat bit for bit; results of two choices differ by roundings. So a choice
// is part of the record of a run, and all workers of a job have one.
package narrow
