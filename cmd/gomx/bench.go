package main

import (
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"gomx/device"
	"gomx/internal/bench"
)

func benchCommand(log zerolog.Logger) *cobra.Command {
	var peers []string
	var c bench.Config
	var on, report string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bench NAME",
		Short: "Measure a suite of workloads, alternating with peers",
		Long: `Measure a suite (` + strings.Join(bench.Names(), ", ") + `)
and print one line per workload. Its columns, separated by tabs, are the name, the figure of gomx,
the figure of the best peer, the ratio, the unit and the name of that peer. A ratio above 1 means
that gomx is better. Figures depend on the load of the machine: compare only ratios of one run.
Lines that begin with # are comments: the subject, the processor, and the lines measured again.
With --json each workload is a JSON object on a line of its own, and comments go to standard error.

The suite engine compiles a C++ program against the library of the peer's mxnet package with gcc.

The suite io measures the processor time for a picture of iterators and loaders. It writes pictures
to a folder of the temporary files, which mxnet reads too.

The suite platforms trains on several processes, in gomx and in mxnet, tensorflow and spark. It
prints the command that installs a missing peer. With --docs FOLDER it updates the table in
FOLDER/benchmarks.md and the picture FOLDER/platforms.svg; FOLDER/platforms.json keeps the
figures, so that a part of them can be measured again.

The suite attention runs BERT-base, and GPT-2 small for a prompt and for further words with a cache
of keys and values, in float32 and bfloat16, and compares torch, ONNX Runtime (ort) and openvino, one
call of each after the other. The peers have the weights of gomx, and compare their outputs with
those of gomx before they are measured.

The suite narrow-train trains ResNet and BERT-base in float32 and in bfloat16, and compares torch
with its bfloat16 autocast.

The suite narrow runs ResNet-50, VGG-16 and MobileNet in bfloat16 and int8, one image or 32 at a
time, and compares openvino, mxnet, torch (bfloat16) and ort (int8) in the same way. openvino and ort
read the model that onnxruntime's static quantization makes of the one that gomx exports to ONNX. A
comment before each line has the speed of fixed loops in the processor's units at that moment.
--match chooses lines, such as resnet50_v1.bs1. or int8.

The suite onnx runs the models of Python packages, ResNet-50, MobileNetV2 and BERT-base for batches of
1 and 8 in float32, and compares ONNX Runtime (ort) and OpenVINO, one call of each after the other. The
peers compare their outputs with those of gomx before they are measured. "make onnx-wheels" installs
the packages.

The suite sentences embeds 1,000 short sentences with all-MiniLM-L6-v2, from texts to vectors, and
compares ONNX Runtime (ort) with the tokens of the package tokenizers and batches of 32 sentences of
like lengths. "make embeddings" installs the model; --models is its folder, .cache/minilm.

The suite sparse-train trains a linear classifier and a factorization machine with a million
features on three workers and two servers, in gomx and in mxnet, in step and asynchronously. Its
lines linear and fm compare the faster of both stores; lines that end in .memory have the resident
memory of a worker.

The suite staleness trains with three workers, of which one in turn is slow for a clock, with
several bounds of the staleness. With --docs FOLDER it updates the table in FOLDER/staleness.md and
the picture FOLDER/staleness.svg.

The suite oddconvs measures the processor time, user and system, of convolutions with odd numbers
of channels. It measures a tenth of its lines, chosen by --seed, or every line with --all. A line
below 0.9 is measured once more at the end, alone.

With --against, another build of gomx takes the place of the peers. The two builds run every line
in turn, each time in a process of its own, at least ten times, and the medians are compared. A
line below 0.93 is measured once more at the end, alone.`,
		Example: "  gomx bench local --peer mxnet=PYTHON\n" +
			"  gomx bench convnets --device cuda --precision bfloat16 --peer torch=PYTHON\n" +
			"  gomx bench imperative --match dot\n" +
			"  gomx bench oddconvs --peer mxnet=PYTHON --seed 7\n" +
			"  gomx bench attention --peer torch=PYTHON --peer ort=PYTHON\n" +
			"  gomx bench narrow --match resnet50_v1.bs1. --peer openvino=PYTHON,ort=PYTHON\n" +
			"  gomx bench onnx --peer ort=PYTHON --peer openvino=PYTHON --match resnet50\n" +
			"  gomx bench sentences --models .cache/minilm --peer ort=PYTHON\n" +
			"  gomx bench convnets --against ./gomx-old\n" +
			"  gomx bench platforms --peer mxnet=PYTHON,tf=PYTHON,spark=PYTHON --rounds 1 " +
			"--docs docs",
		Args: func(cmd *cobra.Command, args []string) error {
			if report != "" {
				return exactArgs(0)(cmd, args)
			}
			return exactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if report != "" {
				return bench.GPUReport(cmd.OutOrStdout(), report)
			}
			for _, p := range peers {
				peer, err := bench.ParsePeer(p)
				if err != nil {
					return usageError{err}
				}
				c.Peers = append(c.Peers, peer)
			}
			dev, err := device.Parse(strings.Replace(on, "cuda", "gpu", 1))
			if err != nil {
				return usageError{err}
			}
			c.Device = dev
			c.Suite, c.Out, c.Log = args[0], cmd.OutOrStdout(), cmd.ErrOrStderr()
			if asJSON {
				c.Out = &benchJSON{out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr()}
			}
			log.Debug().Str("suite", c.Suite).Msg("bench")
			return bench.Run(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&peers, "peer", nil,
		"peer and its Python program: mxnet=PYTHON, torch=, tensorflow=, spark=, ort= or "+
			"openvino=; may be repeated, or a list with commas")
	f.BoolVar(&asJSON, "json", false, "print JSON, one object on a line for each workload")
	f.StringVar(&report, "gpu-report", "", "measure nothing: print the figures in the file "+
		"results.jsonl of this folder, which first.sh has written on a machine with a GPU, as "+
		"tables for docs/benchmarks.md")
	f.StringVar(&c.Match, "match", "", "part of a name: measure only the workloads whose names "+
		"contain it")
	f.StringVar(&c.Docs, "docs", "", "folder of the pages that the suites platforms and "+
		"staleness update")
	f.StringVar(&c.Models, "models", ".cache/onnx-wheels/models",
		"folder of the Python packages whose models the suites onnx and sentences measure")
	f.StringVar(&on, "device", "cpu", "device of the suite convnets, for example cuda or cuda(1)")
	f.StringVar(&c.Precision, "precision", "float32",
		"number format of the suite convnets: float32, tf32, float16 or bfloat16")
	f.IntVar(&c.Streams, "streams", 0,
		"number of device queues for the branches of a network (default: one)")
	f.BoolVar(&c.Replay, "replay", false,
		"let the device record parts of a network once and replay them")
	f.IntVar(&c.Rounds, "rounds", 0, "number of rounds: the best round counts, or with "+
		"--against the median (default 3, or 10 with --against)")
	f.StringVar(&c.Against, "against", "",
		"path of another build of gomx to measure in place of peers")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of the choice of lines that the suite oddconvs measures")
	f.BoolVar(&c.All, "all", false, "measure every line of the suite oddconvs")
	return cmd
}
