package arch_test

import "strings"

// layers lists every package of the module, the highest line first. A package
// imports nothing on its own line or above it; tests are exempt. Text behind
// three or more spaces is a remark.
const layers = `examples  cmd  internal/...               (optest, devicetest, transporttest, hostile, hosts, daemons, nettest, golden, manual, output, script are imported by tests, optest by opgen too)
gluon/estimator  gluon/embed  gluon/data/vision  board  launch/via/{ssh,mpi,slurm,k8s}  plan/measure
gluon/zoo                                 well-known networks
module  launch  plan  examples/data  gluon/{nn,rnn,loss,data,generate}
gluon  training                           networks as values; scores, history and progress of training loops
trainer                                   optimizer and store: the way of gradients to parameters
predict  monitor  pipeline  quantize  checkpoint/{safetensors,npy}      models in service; metrics and traces of jobs for other programs; stages of networks; networks with integers of 8 bits
interop/onnx  interop/onnx/export         models of ONNX: symbols and parameters of their files, and back
checkpoint  kvstore  rnn  runs  interop/onnx/internal/file
kvstore/update  kvstore/touched  kvstore/joint  runs/tensorboard  interop/onnx/internal/onnxpb                            what changes values: optimizers on slices, sums, replicas, devices together
symbol  optimizer  metric  initializer  io
exec                                      executors: arenas, runs, forms of weights; the engine comes from the arrays
autograd
ndarray                                   imperative arrays, the tape
compile  pipeline/cut                     graph, descriptions and options -> immutable Program; graphs divided into stages; pure
graph                                     passes on op.Node, shared by compile and the tape
op/quant
op/nn op/index op/loss op/rnn op/vision op/random op/update op/linalg op/contrib op/tensor op/control
op/prim                                   elementwise, reduce, broadcast, reshape, slice, take, cast, softmax, dot: what others' gradients are made of
op/attach                                 kernel attachments that several families share
op/loop  op/philox                        loops and random numbers that several families share
op                                        the registry and the graph IR
kvstore/transport/{mem,zmq,shm,bulk}  kvstore/ps/{sched,server,worker}  kvstore/spans  kvstore/view/etcd  kvstore/ring   transports; the machines of the protocols, pure
device/cpu/narrow device/cuda/nccl        the products that a processor computes in bfloat16; arrays that several GPUs add up
device/cpu device/cpu/pure device/cuda device/cuda/imitation device/null  kvstore/ps/node  kvstore/rows   a place in a job; rows that exist from their first touch on
kvstore/ps  kvstore/transport  kvstore/view   vocabulary of the protocol; the transport interface; where the scheduler's view is kept
engine                                    drives engine/core with workers and lanes
engine/core  memplan  kvstore/wire  kvstore/compress  kvstore/transport/bulk/gcm  pipeline/flow   wire: messages, shared by ps and transports; compress: codes of gradients; gcm: a cipher
device
dtype  tokenizer  io/image  io/text  launch/{rank,network,image,heap,profile}
`

// order maps packages to lines counted from below, and knows the folders on
// the topmost line whose whole content counts as one package.
type order struct {
	line  map[string]int
	trees map[string]int
}

// parseLayers reads the list.
func parseLayers(text string) order {
	o := order{line: map[string]int{}, trees: map[string]int{}}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		names, _, _ := strings.Cut(line, "   ")
		for _, name := range strings.Fields(names) {
			for _, pkg := range expand(name) {
				if i == 0 {
					o.trees[strings.TrimSuffix(pkg, "/...")] = len(lines) - i
				} else {
					o.line[pkg] = len(lines) - i
				}
			}
		}
	}
	return o
}

// expand writes out one pair of braces.
func expand(name string) []string {
	before, rest, found := strings.Cut(name, "{")
	if !found {
		return []string{name}
	}
	inside, after, _ := strings.Cut(rest, "}")
	var out []string
	for _, part := range strings.Split(inside, ",") {
		out = append(out, before+part+after)
	}
	return out
}

// of returns the line of a package, 0 if the list does not have it. The
// module's root counts as an example: it holds nothing but documentation.
func (o order) of(pkg string) int {
	if n, ok := o.line[pkg]; ok {
		return n
	}
	tree, _, _ := strings.Cut(pkg, "/")
	if pkg == "." {
		tree = "examples"
	}
	return o.trees[tree]
}

// testOnly are packages that only tests and the generator may import, and they each other.
var testOnly = map[string]bool{
	"internal/arch":          true,
	"internal/cluster":       true,
	"internal/conformance":   true,
	"internal/devicetest":    true,
	"internal/daemons":       true,
	"internal/golden":        true,
	"internal/hostile":       true,
	"internal/hosts":         true,
	"internal/manual":        true,
	"internal/nettest":       true,
	"internal/optest":        true,
	"internal/oracle":        true,
	"internal/output":        true,
	"internal/script":        true,
	"internal/transporttest": true,
	"internal/viewtest":      true,
}

// forbidden says why one package may not import another; "" means it may.
func (o order) forbidden(from, to string) string {
	f, t := o.of(from), o.of(to)
	switch {
	case f == 0:
		return from + " is not in the layer list"
	case t == 0:
		return to + " is not in the layer list"
	case testOnly[to]:
		if testOnly[from] || from == "internal/opgen" {
			return ""
		}
		return to + " is for tests only"
	case f > t:
		return ""
	case f == o.trees["cmd"] && sameTop(from, to):
		return ""
	case f == t:
		return to + " is on the same line of the layer list"
	}
	return to + " is on a line above in the layer list"
}

// sameTop settles the topmost line: commands and examples are made of packages
// under internal and of their own parts, never the other way round. A command
// under internal may have parts below its own folder.
func sameTop(from, to string) bool {
	a, _, _ := strings.Cut(from, "/")
	b, _, _ := strings.Cut(to, "/")
	if a == b {
		return a != "internal" && a != "examples" || a == "internal" &&
			strings.HasPrefix(to, from+"/")
	}
	return b == "internal"
}
