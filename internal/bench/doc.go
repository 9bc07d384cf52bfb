// Package bench measures gomx and its peers on the same workloads, alternating within one run.
//
// A Suite is a list of Workloads, each a line name such as local.mlp.bs500 with a unit. The peers'
// side are the scripts below peers/, which print "name<TAB>value<TAB>unit" lines: Python, run by the
// peer's interpreter, or C, compiled once per run against the library in its mxnet package. Machines
// drift, so only ratios from one run count: every round measures gomx, then each peer, and the best
// of the rounds is compared. A peer may be run in several environments, of which the best counts:
// MXNet's operators with its default number of threads and with two, its engine with one worker and
// with two.
//
//	gomx bench local --peer mxnet=PYTHON
//
// A ratio above 1 means that gomx is better, whether the unit counts work per time or time per
// work.
package bench
