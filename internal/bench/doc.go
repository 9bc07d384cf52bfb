// Package bench measures gomx and its peers on the same workloads, alternating within one run.
//
// A Suite is a list of Workloads. Each has the name of a line, such as local.mlp.bs500, and a unit.
// The scripts below peers/ measure the same in a peer and print "name<TAB>value<TAB>unit" lines.
// They are Python, run by the peer's interpreter, or C, compiled once per run against the library
// in its mxnet package. The speed of a machine drifts, so only ratios from one run count: every
// round measures gomx, then each peer, and the best of the rounds is compared. A peer may be run in
// several environments, of which the best counts: MXNet's operators with its default number of
// threads and with two, its engine with one worker and with two.
//
//	gomx bench local --peer mxnet=PYTHON
//
// A ratio above 1 means that gomx is better, whether the unit counts work per time or time per
// work. The output begins with a comment line that names the processor, and ends with geometric
// means: NAME.geomean.PEER against each peer, and NAME.geomean against the better peer of each
// line.
//
// The suite oddconvs has thousands of short lines. Each of its peers is a session: a process that
// reads names of lines and answers each with a figure. The suite measures processor time, of a
// tenth of its lines that a seed selects.
//
// The suites attention and narrow take turns call by call: gomx writes weights, inputs and outputs to
// a folder, each peer is a session that compares its outputs with them before it is measured.
//
// The suites platforms and staleness train with several processes; the processes are this program
// again, by hidden commands. With Config.Docs they write their tables and pictures.
//
// Another build of gomx may take the place of peers (Config.Against). Both builds then run as
// processes of their own, in turn, and medians are compared. The other build may be older than this
// one: it only needs the command line bench NAME --match LINE --rounds 1.
//
// A line that falls below the floor of its suite, or below 0.93 against another build, is measured
// once more after all others. The second figures count; a comment gives the first ratio.
package bench
