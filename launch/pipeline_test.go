//go:build cgo && linux

package launch_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gomx/device"
	"gomx/initializer"
	"gomx/internal/output"
	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/launch"
	"gomx/metric"
	"gomx/module"
	nd "gomx/ndarray"
	"gomx/optimizer"
	sym "gomx/symbol"
)

func init() {
	plays["pipeline"] = func(string, string) int {
		err := launch.Run(context.Background(), pipePlay)
		if err != nil {
			fmt.Println(err)
		}
		return launch.ExitCode(err)
	}
}

// pipeEnv reads a number for pipePlay from the environment.
func pipeEnv(name string, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv("PIPE_" + name)); err == nil {
		return n
	}
	return fallback
}

// pipeLSTM is a stack of recurrent layers in three groups. Data has the shape (samples, steps,
// size).
func pipeLSTM(size int) *sym.Symbol {
	x := sym.SwapAxis(sym.Var("data"), sym.SwapAxisParams{Dim1: 0, Dim2: 1}, sym.Name("steps"),
		sym.CtxGroup("g0"))
	for i := range 3 {
		g := sym.NewScope("", sym.CtxGroup(fmt.Sprint("g", i)))
		zeros := func(name string) *sym.Symbol {
			return sym.Zeros(sym.InitParams{Shape: []int{1, 0, size}}, g.Name(fmt.Sprint(name, i)))
		}
		x = sym.RNN(x, sym.RNNParams{Mode: "lstm", StateSize: size, NumLayers: 1},
			g.Name(fmt.Sprint("lstm", i)), sym.With("state", zeros("h")),
			sym.With("state_cell", zeros("c"))).At(0)
	}
	g := sym.NewScope("", sym.CtxGroup("g2"))
	x = sym.SequenceLast(x, sym.SequenceParams{}, g.Name("last"))
	x = sym.FullyConnected(x, sym.FullyConnectedParams{NumHidden: 4}, g.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, g.Name("softmax"))
}

// pipeResNet is a residual network with batch norm, whose units are in three groups. The shortcut
// of the last unit comes from the first group.
func pipeResNet(width int) *sym.Symbol {
	conv := func(x *sym.Symbol, g *sym.Scope, name string) *sym.Symbol {
		x = sym.Convolution(x, sym.ConvolutionParams{Kernel: []int{3, 3}, Pad: []int{1, 1},
			NumFilter: width, NoBias: true}, g.Name(name))
		return sym.BatchNorm(x, sym.BatchNormParams{NoFixGamma: true, Eps: sym.Some(1e-3)},
			g.Name(name+"_bn")).At(0)
	}
	relu := func(x *sym.Symbol, g *sym.Scope, name string) *sym.Symbol {
		return sym.Activation(x, sym.ActivationParams{ActType: "relu"}, g.Name(name))
	}
	g := sym.NewScope("", sym.CtxGroup("g0"))
	x := relu(conv(sym.Var("data"), g, "stem"), g, "stem_relu")
	first := x
	const units = 12
	for i := range units {
		// the first stage keeps the values of three micro-batches, the last stage of one
		stage := 2
		if i < 1 {
			stage = 0
		} else if i < 5 {
			stage = 1
		}
		g = sym.NewScope("", sym.CtxGroup(fmt.Sprint("g", stage)))
		name := fmt.Sprint("unit", i)
		y := conv(relu(conv(x, g, name+"_a"), g, name+"_relu"), g, name+"_b")
		short := x
		if i == units-1 {
			short = sym.ElemwiseAdd(x, first, g.Name("long"))
		}
		x = relu(sym.ElemwiseAdd(y, short, g.Name(name+"_add")), g, name+"_out")
	}
	x = sym.Pooling(x, sym.PoolingParams{Kernel: []int{1, 1}, GlobalPool: true, PoolType: "avg"},
		g.Name("pool"))
	x = sym.FullyConnected(sym.Flatten(x, g.Name("flat")), sym.FullyConnectedParams{NumHidden: 4},
		g.Name("fc"))
	return sym.SoftmaxOutput(x, sym.SoftmaxOutputParams{}, g.Name("softmax"))
}

// pipeNet returns the network and the shape of a sample.
func pipeNet() (*sym.Symbol, nd.Shape) {
	if os.Getenv("PIPE_NET") == "lstm" {
		return pipeLSTM(pipeEnv("SIZE", 320)), nd.Shape{6, 320}
	}
	side := pipeEnv("SIDE", 8)
	return pipeResNet(pipeEnv("SIZE", 160)), nd.Shape{3, side, side}
}

// pipePlay trains a network in a pipeline. It prints checksums of the gradients of every step, of
// the parameters and states in the end, the memory and the time of a step.
func pipePlay(ctx context.Context) error {
	if limit := pipeEnv("LIMIT", 0); limit > 0 {
		pool, err := device.PoolOf(device.CPU())
		if err != nil {
			return err
		}
		pool.SetLimit(int64(limit))
	}
	net, shape := pipeNet()
	batch, steps := pipeEnv("BATCH", 16), pipeEnv("STEPS", 3)
	rng := rand.New(rand.NewPCG(11, 0))
	data := make([]float32, steps*batch*shape.Size())
	for i := range data {
		data[i] = rng.Float32()*2 - 1
	}
	label := make([]float32, steps*batch)
	for i := range label {
		label[i] = float32(rng.IntN(4))
	}
	train, err := dataio.NDArrayIter(dataio.NDArrayConfig{BatchSize: batch,
		Data:  []*nd.Array{nd.FromSlice(data, append(nd.Shape{steps * batch}, shape...)...)},
		Label: []*nd.Array{nd.FromSlice(label)}})
	if err != nil {
		return err
	}
	p := module.Pipeline{Stages: pipeEnv("STAGES", 3), MicroBatches: pipeEnv("MICROS", 8),
		InTurn: os.Getenv("PIPE_TURN") != "", Patience: time.Duration(
			pipeEnv("PATIENCE", 20)) * time.Second}
	if os.Getenv("PIPE_AUTO") == "" {
		p.Groups = map[string]int{"g0": 0, "g1": 1, "g2": 2}
	}
	if os.Getenv("PIPE_PIN") != "" {
		core := fmt.Sprint(kvstore.JobOf(ctx).Rank())
		if out, err := exec.Command("taskset", "-a", "-cp", core,
			fmt.Sprint(os.Getpid())).CombinedOutput(); err != nil {
			return fmt.Errorf("taskset: %w: %s", err, out)
		}
	}
	m := module.New(net, module.Seed(5), module.Pipelined(p))
	start := time.Now()
	err = m.Fit(ctx, train, module.Epochs(pipeEnv("EPOCHS", 1)), module.Init(initializer.Xavier{}),
		module.Metric(metric.CrossEntropy()),
		module.Optimize(optimizer.SGD{LR: 0.05, Momentum: 0.9}),
		module.OnBatch(func(e *module.BatchEnd) error {
			if e.Batch == 0 {
				start = time.Now() // without compilation
			}
			if job := kvstore.JobOf(ctx); os.Getenv("PIPE_STALL") != "" && e.Batch == 1 &&
				job.Rank() == 1 {
				if os.Getenv("PIPE_STALL") == "die" {
					os.Exit(3)
				}
				time.Sleep(time.Hour)
			}
			if os.Getenv("PIPE_QUIET") != "" {
				return nil
			}
			return pipePrint(ctx, fmt.Sprint("gradient ", e.Batch), m.Grads())
		}),
		module.OnEpoch(func(e *module.EpochEnd) error {
			fmt.Printf("time %d\n", time.Since(start))
			return nil
		}),
		module.Checkpoint(os.Getenv("PIPE_PREFIX")))
	if err != nil {
		return err
	}
	args, aux := m.Params()
	pool, err := device.PoolOf(device.CPU())
	if err != nil {
		return err
	}
	fmt.Printf("memory %d\n", pool.Usage().Reserved)
	return errors.Join(pipePrint(ctx, "parameter", args), pipePrint(ctx, "state", aux))
}

// pipePrint prints checksums of arrays.
func pipePrint(ctx context.Context, what string, arrays map[string]*nd.Array) error {
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		b := make([]byte, arrays[name].Bytes())
		if err := arrays[name].ReadBytes(ctx, b); err != nil {
			return err
		}
		fmt.Printf("%s %s %x\n", what, name, sha256.Sum256(b))
	}
	return nil
}

// pipeJob runs pipePlay as a job of so many workers, or by itself for 0 workers.
func pipeJob(t *testing.T, workers int, env ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out := &output.Buffer{}
	env = append(env, "LAUNCH_TEST_PLAY=pipeline", "GOMAXPROCS=1", "OMP_NUM_THREADS=1")
	if workers == 0 {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Stdout, cmd.Stderr, cmd.Env = out, out, append(os.Environ(), env...)
		err := cmd.Run()
		return out.String(), err
	}
	restarts := -1
	if slices.Contains(env, "PIPE_STALL=die") {
		restarts = 0 // the launcher goes on, and the other workers have to notice
	}
	err := launch.Local{Program: []string{os.Args[0]}, Workers: workers, Servers: 1, Stdout: out,
		Stderr: out, Threads: 1, Restarts: restarts, Env: env}.Run(ctx)
	return out.String(), err
}

// lines returns the sorted results in an output, without the names of the workers.
func lines(out string) []string {
	list := regexp.MustCompile(`(?m)(gradient|parameter|state) .*$`).FindAllString(out, -1)
	slices.Sort(list)
	return slices.Compact(list)
}

// numbersOf returns the numbers that lines of an output have behind a word.
func numbersOf(out, word string) (list []int) {
	for _, m := range regexp.MustCompile(word+` (\d+)`).FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(m[1])
		list = append(list, n)
	}
	return list
}

// TestPipelineFitsWhereTheModelDoesNot trains an LSTM and a residual network by three processes
// under a limit of their memory that one process exceeds. Gradients and parameters are, bit for
// bit, those of one process without a limit, which accumulates the same micro-batches.
func TestPipelineFitsWhereTheModelDoesNot(t *testing.T) {
	for _, net := range []string{"lstm", "resnet"} {
		t.Run(net, func(t *testing.T) {
			dir := t.TempDir()
			env := []string{"PIPE_NET=" + net}
			alone, err := pipeJob(t, 0, append(env, "PIPE_PREFIX="+dir+"/alone")...)
			if err != nil {
				t.Fatalf("%v\n%s", err, alone)
			}
			limit := fmt.Sprint("PIPE_LIMIT=", numbersOf(alone, "memory")[0]*8/10)
			if out, err := pipeJob(t, 0, append(env, limit)...); err == nil {
				t.Errorf("one process keeps to %s:\n%s", limit, out)
			}
			out, err := pipeJob(t, 3, append(env, limit, "PIPE_PREFIX="+dir+"/job")...)
			if err != nil {
				t.Fatalf("%v\n%s", err, tail(out, 40))
			}
			if got, want := lines(out), lines(alone); !slices.Equal(got, want) {
				t.Errorf("got %d lines, want %d:\n%s\nwant\n%s", len(got), len(want),
					strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			got, err := os.ReadFile(dir + "/job-0001.params")
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(dir + "/alone-0001.params")
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("checkpoints of %d and %d bytes differ: %v", len(got), len(want), err)
			}
		})
	}
}

// TestPipelineFaults lets the worker of the second stage stand still, or die without a word: the
// job ends by the patience of the other workers, with errors that name it.
func TestPipelineFaults(t *testing.T) {
	for _, fault := range []string{"sleep", "die"} {
		t.Run(fault, func(t *testing.T) {
			out, err := pipeJob(t, 3, "PIPE_NET=lstm", "PIPE_SIZE=16", "PIPE_STALL="+fault,
				"PIPE_PATIENCE=3", "PIPE_QUIET=1")
			if err == nil {
				t.Fatalf("no error:\n%s", tail(out, 40))
			}
			// The launcher ends the others when the first one has given up, so there may be one
			// line.
			named := regexp.MustCompile(
				`\[worker [02]\] epoch 0: batch [12]: module: pipeline: (.*?):`).
				FindAllStringSubmatch(out, -1)
			for _, m := range named {
				if m[1] != "worker 1 (stage 1)" {
					t.Errorf("%q blames %s, want worker 1", m[0], m[1])
				}
			}
			if len(named) == 0 {
				t.Errorf("no worker says who ended the pipeline:\n%s", tail(out, 40))
			}
		})
	}
}

// TestPipelinesSideBySide trains on two pipelines of two stages, found by costs. The workers of a
// stage have the same parameters, and a second run repeats all of them bit for bit.
func TestPipelinesSideBySide(t *testing.T) {
	var runs [2][]string
	for i := range runs {
		out, err := pipeJob(t, 4, "PIPE_NET=lstm", "PIPE_SIZE=24", "PIPE_STAGES=2", "PIPE_AUTO=1",
			"PIPE_MICROS=2", "PIPE_STEPS=4", "PIPE_EPOCHS=2")
		if err != nil {
			t.Fatalf("%v\n%s", err, tail(out, 60))
		}
		for r := range 2 {
			here := workerLines(out, r, "parameter")
			beside := workerLines(out, r+2, "parameter")
			if len(here) == 0 || !slices.Equal(here, beside) {
				t.Errorf("workers %d and %d have %v and %v", r, r+2, here, beside)
			}
		}
		runs[i] = lines(out)
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Error("two runs have different gradients or parameters")
	}
}

// workerLines returns the results of one worker.
func workerLines(out string, rank int, kind string) (list []string) {
	prefix := fmt.Sprintf("[worker %d] %s", rank, kind)
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			list = append(list, rest)
		}
	}
	slices.Sort(list)
	return list
}

var pipePairs = flag.Int("pipeline.pairs", 8, "pairs of runs of TestPipelineOverlaps")

var pipeOverlap = flag.Bool("pipeline.overlap", false,
	"measure the throughput of two stages on a core each; wants a quiet machine")

// TestPipelineOverlaps compares two stages on a core each with the same stages in turn: with 8
// micro-batches they have at least 1.6 times the throughput. The best of several runs counts.
func TestPipelineOverlaps(t *testing.T) {
	if !*pipeOverlap {
		t.Skip("a measurement: -pipeline.overlap runs it")
	}
	best := map[string]int{}
	for range *pipePairs {
		for _, turn := range []string{"", "1"} {
			out, err := pipeJob(t, 2, "PIPE_STAGES=2", "PIPE_AUTO=1", "PIPE_TURN="+turn,
				"PIPE_BATCH=128", "PIPE_STEPS=5", "PIPE_SIZE=96", "PIPE_QUIET=1", "PIPE_PIN=1",
				"PIPE_NOSAVE=1")
			if err != nil {
				t.Fatalf("%v\n%s", err, tail(out, 40))
			}
			slowest := slices.Max(numbersOf(out, "time"))
			t.Logf("in turn %q: %v", turn, time.Duration(slowest))
			if old, ok := best[turn]; !ok || slowest < old {
				best[turn] = slowest
			}
		}
	}
	ratio := float64(best["1"]) / float64(best[""])
	t.Logf("4 steps of 128 samples: overlapping %v, in turn %v: %.2f times the throughput",
		time.Duration(best[""]), time.Duration(best["1"]), ratio)
	if ratio < 1.6 {
		t.Errorf("%.2f times the throughput, want at least 1.6", ratio)
	}
}
