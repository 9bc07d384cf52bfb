package topics

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// topic is a page of gomx help that belongs to no command.
type topic struct{ name, short, long string }

var topics = []topic{
	{"environment", "Environment variables of programs and jobs", `Programs read the environment
in package launch alone:

  DMLC_ROLE            role of the process in a job: scheduler, server or worker
  DMLC_WORKER_ID, DMLC_SERVER_ID
                       rank of the process; without it the scheduler gives one
  DMLC_NUM_WORKER, DMLC_NUM_SERVER
                       numbers of workers and servers of the job
  DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT
                       address of the scheduler, as MXNet's launchers set it
  GOMX_SCHEDULER       address of the scheduler in place of both
  GOMX_VIEW            store of the job's view, which elects one of several schedulers
  DMLC_NODE_HOST, DMLC_INTERFACE
                       name or network interface under which others reach the process
  PS_VERBOSE           log of the process: 1 for changes of state, 2 for details
  GOMX_PROFILE         folder into which the process writes its operators: gomx profile
  GOMAXPROCS           number of cores for kernels
  NO_COLOR             messages have no colours on terminals

gomx launch sets these for the processes of its jobs. docs/jobs.md has the complete list.`},
	{"files", "Files that commands read and write", `Names and contents:

  NAME-0001.params     arrays by name, as MXNet writes them
  NAME-symbol.json     a network in MXNet's JSON
  NAME-0001.states     states of an optimizer
  .rec, .idx, .lst     packed pictures: gomx im2rec
  .onnx                models of ONNX: gomx run, inspect, convert
  .safetensors, .npy, .npz
                       arrays of Hugging Face and NumPy: gomx inspect, convert
  runs/NAME/events.gomx
                       the record of a training run: gomx board
  NAME.resume          everything that a run needs to go on: module.Resume

gomx inspect FILE lists the content of each but the last two.`},
	{"exit-codes", "Exit codes and output of commands", `   0  success
   1  failure: a file, the network, a program
   2  wrong usage: arguments or flags
  75  a job was lost and may be started again

Results go to standard output, messages and progress to standard error. Messages have colours on
terminals alone, and are JSON where standard error is no terminal. Commands with --json print
results for scripts; their fields stay as they are within a version.`},
	{"runs", "Recording of training runs, and the board", `A program records its training with
one option:

  module.Record("runs/NAME")       of Module.Fit
  estimator.Record("runs/NAME")    of gluon/estimator
  gluon.Record("runs/NAME")        of gluon.NewTrainer, for loops of one's own

runs.Histograms(100) adds histograms at every hundredth step, runs.TensorBoard() files for
TensorBoard. gomx board shows the runs below the folder runs, while they go on and
later. docs/board.md has more.`},
	{"jobs", "Programs that train on several processes", `A program calls launch.Main with its
function of training. gomx launch starts it as scheduler, servers and workers:

  gomx launch -n 3 -s 2 -- ./train               on this machine
  gomx launch --via ssh --hosts FILE -n 8 -s 4 -- ./train
                                                 on others; also mpi, slurm and k8s
  gomx launch --replicas 2 ...                   each parameter on two servers
  gomx launch --snapshots DIR [--resume] ...     keep the job's state, continue from it
  gomx top                                       watch the job; also gomx board
  gomx scale --workers 4                         change a running job
  gomx plan MODEL                                predict speed, memory and traffic

The program chooses a store: dist_sync (in step), dist_async, dist_ssp (bounded staleness) or
allreduce (no servers: -s 0). docs/distributed-steps.md is a lesson, docs/distributed.md has all
of it.`},
	{"manual", "Pages of the manual", `Below docs; make docs makes a site of them in .cache/site:

  index.md             overview
  getting-started.md   train, watch and serve a network in ten minutes
  arrays.md, autograd.md, gluon.md, symbols.md, fit.md, data.md
                       lessons
  distributed-steps.md, serving.md, performance.md, operators.md
                       guides
  from-mxnet.md, from-pytorch.md, from-gorgonia.md
                       names and differences for users of other platforms
  faq.md               questions and answers
  inside.md            how it works

go doc gomx/PACKAGE is the manual of a package.`},
}

// Commands returns the pages as commands that do nothing but have a help text.
func Commands() []*cobra.Command {
	var list []*cobra.Command
	for _, t := range topics {
		list = append(list, &cobra.Command{Use: strings.TrimPrefix(t.name, ""), Short: t.short,
			Long: t.long})
	}
	return list
}

// Complete adds the values that a shell completes to the arguments and flags of the commands.
func Complete(root *cobra.Command) {
	fixed := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	files := func(ends ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(ends, cobra.ShellCompDirectiveFilterFileExt)
	}
	folders := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	args := map[string]cobra.CompletionFunc{
		"gomx inspect": files("params", "json", "onnx", "npz", "npy", "safetensors"),
		"gomx run":     files("onnx", "json"),
		"gomx convert": files("params", "json", "onnx", "npz", "npy", "safetensors"),
		"gomx trace":   fixed("lenet"),
		"gomx board":   folders,
		"gomx top":     folders,
		"gomx version": fixed(),
	}
	flags := map[string]cobra.CompletionFunc{
		"output": fixed("json", "text", "table"), "policy": fixed("wait", "shrink"),
		"encrypt": fixed("bulk", "curve", "off"), "by": fixed("operator", "node"),
		"dir": folders, "snapshots": folders,
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if f := args[c.CommandPath()]; f != nil && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = f
		}
		for _, name := range slices.Sorted(maps.Keys(flags)) {
			// -o is a file in commands that draw pictures
			if fl := c.Flags().Lookup(name); fl != nil && !strings.Contains(fl.Usage, "file") {
				_ = c.RegisterFlagCompletionFunc(name, flags[name]) // at most once for each flag
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	completeHelp(root)
}

// completeHelp lets shells complete the pages of this package after gomx help, beside the commands.
func completeHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil || help.ValidArgsFunction == nil {
		return
	}
	commands := help.ValidArgsFunction
	help.ValidArgsFunction = func(c *cobra.Command, args []string, start string) (
		[]cobra.Completion, cobra.ShellCompDirective) {
		list, directive := commands(c, args, start)
		for _, t := range topics {
			if len(args) == 0 && strings.HasPrefix(t.name, start) {
				list = append(list, cobra.CompletionWithDesc(t.name, t.short))
			}
		}
		return list, directive
	}
}
