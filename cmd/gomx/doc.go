// Command gomx is the command line of gomx.
//
//	# measure workloads, alternating with a peer
//	gomx bench local --peer mxnet=PYTHON
//	# pack pictures into a .rec file
//	gomx im2rec --list --recursive data/birds photos && gomx im2rec data/birds photos
//	# list the contents of a file; -o json for programs
//	gomx inspect lenet-0001.params
//	# print the layers of a symbol and the changes that passes make to its graph
//	gomx inspect net-symbol.json --shape data=1,3,224,224 --summary --explain
//	# draw the graph and the memory plan of training
//	gomx inspect net-symbol.json --shape data=1,3,224,224 --train --svg net.svg --memory plan.svg
//	# draw the operations of a training step over time
//	gomx trace lenet -o step.svg
//	# write a well-known network as MXNet's export does
//	gomx zoo export resnet18_v1 runs/resnet18
//	# list the inputs, outputs, operators and parameters of a model of ONNX, and run it
//	gomx inspect model.onnx && gomx run model.onnx --input x.npy --save y.npz
//	# convert models from and to ONNX
//	gomx convert resnet-symbol.json resnet.onnx --shape data=1,3,224,224
//	# show runs and jobs on a web page; print a table of a program's operators
//	gomx board runs
//	gomx profile -- ./program
//	gomx version
//
// Every command prints its documentation with --help. Exit codes: 0 success, 1 failure, 2 wrong
// usage. Results go to standard output, logs to standard error: as text on a terminal, as JSON
// elsewhere.
package main
