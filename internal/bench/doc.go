// Package bench measures gomx and its peers on the same workloads, alternating within one run.
//
// A Suite is a list of Workloads, each a line name such as local.mlp.bs500 with a unit. The peers'
// side are the scripts below peers/, which print "name<TAB>value<TAB>unit" lines: Python, run by
// the peer's interpreter, or C, compiled once per run against the library in its mxnet package.
// Machines drift, so only ratios from one run count: every round measures gomx, then each peer, and
// the best of the rounds is compared. A peer may be run in several environments, of which the best
// counts: MXNet's operators with its default number of threads and with two, its engine with one
// worker and with two.
//
//	gomx bench local --peer mxnet=PYTHON
//
// A ratio above 1 means that gomx is better, whether the unit counts work per time or time per
// work. The output begins with a comment line that names the processor, and ends with geometric
// means: NAME.geomean.PEER against each peer, and NAME.geomean against the better peer of each
// line.
//
// The suite oddconvs has thousands of short lines. Its peers are sessions: processes that read
// names of lines and answer each with a figure. It measures processor time, and a seeded tenth of
// its lines.
//
// Another build of gomx may take the place of peers (Config.Against). Both builds then run as
// processes of their own, in turn, and medians are compared. The other build may be older than this
// one: all that it must understand is bench NAME --match LINE --rounds 1.
//
// A line that falls below the floor of its suite, or below 0.93 against another build, is measured
// once more when all others are done. The second figures count, and a comment has the first ratio.
package bench
