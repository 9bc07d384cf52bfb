// Package bench measures gomx and its peers on the same workloads, alternating within one run.
//
// A Suite is a list of Workloads, each a line name such as local.mlp.bs500 with a unit. The peers'
// side are the scripts below peers/, which print "name<TAB>value<TAB>unit" lines. Machines drift,
// so only ratios from one run count: every round measures gomx, then each peer, and the best of
// the rounds is compared. MXNet is run with its default number of threads and with two, and the
// better counts.
//
//	gomx bench local --peer mxnet=/opt/mx/bin/python
//
// A ratio above 1 means that gomx is better, whether the unit counts work per time or time per
// work.
package bench
