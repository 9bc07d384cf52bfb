// Command gomx is the command line of gomx.
//
//	gomx bench local --peer mxnet=PYTHON   # measure, alternating with a peer
//	gomx im2rec --list --recursive data/birds photos && gomx im2rec data/birds photos --resize 256   # pictures to a .rec file
//	gomx inspect lenet-0001.params         # what is in a file; -o json for machines
//	gomx inspect net-symbol.json --shape data=1,3,224,224 --summary --explain   # layers, and what passes do to the graph
//	gomx inspect net-symbol.json --shape data=1,3,224,224 --train --svg graph.svg --memory plan.svg
//	gomx trace lenet -o step.svg           # what ran when in a training step
//	gomx version
//
// Every command explains itself with --help. Exit codes: 0 success, 1 failure, 2 wrong usage.
// Logs are readable on a terminal and JSON otherwise; results go to standard output.
package main
