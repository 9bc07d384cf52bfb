package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"gomx/launch"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// launchFlags are the flags of the command launch.
type launchFlags struct {
	local   launch.Local
	policy  string
	curve   bool
	verbose int
	servers int
	memory  uint64 // MiB
	via     viaFlags
}

func launchCommand(log zerolog.Logger) *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "launch -n WORKERS [-s SERVERS] [flags] -- PROGRAM [ARGUMENTS]",
		Short: "Run a distributed program on this machine or on several hosts",
		Long: `Run a program as the scheduler, the servers and the workers of a job. All processes run
the same program; the environment (DMLC_ROLE and other variables) gives each its role. The name of a
process precedes each line that it prints.

Without --via all processes run on this machine. Other engines start them on several hosts:

  --via ssh    with the ssh client, on the hosts of the file --hosts. A line of the file is a host,
               perhaps with slots=N (number of workers), address=A (address for the other processes)
               and interface=NAME. The program and the working directory must exist on every host.
  --via mpi    with mpirun of Open MPI
  --via slurm  with srun of Slurm
  --via k8s    as an Indexed Job of Kubernetes. Only --dry-run works: it prints the job as YAML, and
               with --output it writes a folder for kubectl apply -k.

Connections between hosts are always encrypted, with keys made for this run.

A process is started again when it ends by a signal, when it crashes (a crashed Go program has exit
code 2) or when memory runs out. With --replicas 2 training goes on when a server dies. A process
with one of these exit codes is not started again:

  0   the process has done its work
  1   in a worker: the program failed, and would fail again; the job ends
  64  the program cannot run with these arguments; the job ends
  74  all copies of a part of the parameters are lost; the job ends
  76  another process has taken the place of this one; the job ends

Programs that call launch.Main use these exit codes; other programs should. The job also ends when a
program ends with exit code 2 three times in a row, each time within two seconds: that is usual
for a flag that the program does not have.

The exit code of gomx launch is 0 when all workers end with 0, 2 for a mistake in the arguments,
75 when running the job again may help (with --resume if it has snapshots), and otherwise the exit
code of the process that ended the job.`,
		Example: `  gomx launch -n 3 -s 2 --replicas 2 -- ./mnist --kvstore dist_sync
  gomx launch --via ssh --hosts hosts.txt -n 8 -s 2 --logs logs -- ./mnist
  gomx launch --via slurm -n 8 -s 2 --dir /shared/jobs -- ./mnist
  gomx launch --via k8s -n 8 -s 2 --image registry/mnist:1 --dry-run -- mnist > job.yaml
  gomx top`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no program to run: " + cmd.UseLine())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.local.Program = args
			f.local.Log = log
			if !cmd.Flags().Changed("num-servers") {
				f.servers = f.local.Workers
			}
			return f.run(cmd.Context())
		},
	}
	l := &f.local
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.IntVarP(&l.Workers, "num-workers", "n", 1, "number of workers")
	flags.IntVarP(&f.servers, "num-servers", "s", 0,
		"number of servers (default: as many as workers); 0 for the store allreduce, with which "+
			"the workers keep the parameters themselves")
	flags.IntVar(&l.Replicas, "replicas", 1,
		"number of copies of every parameter on the servers, 1 or 2")
	flags.StringVar(&f.policy, "policy", "wait",
		"rule for rounds when a worker dies: wait for its successor, or shrink to the others")
	flags.IntVar(&l.Backups, "backup-workers", 0,
		"number of slow workers that a round does not wait for")
	flags.Uint64Var(&f.memory, "server-memory", 0,
		"memory in MiB that each server may use for its keys (default: no limit)")
	flags.StringVar(&l.View, "view", "",
		"store of the job's view, in which the scheduler is elected: file:FOLDER or "+
			"etcd://HOST:PORT,HOST:PORT/PREFIX (default: the folder of the job)")
	flags.IntVar(&l.Schedulers, "schedulers", 1,
		"number of schedulers: one of them leads, another one takes over when it dies")
	flags.BoolVar(&l.TCP, "tcp", false, "use TCP on the loopback instead of local sockets")
	flags.StringVar(&l.Encrypt, "encrypt", "off",
		"encryption with keys made for this run: bulk (payloads by TLS 1.3, the rest by CURVE), "+
			"curve (everything by CURVE) or off")
	flags.BoolVar(&f.curve, "curve", false, "encrypt all connections by CURVE "+
		"with keys made for this run")
	flags.IntVar(&l.Threads, "threads", 0,
		"number of cores for the kernels of each process (default: the cores of the machine, "+
			"divided among the workers)")
	flags.StringVar(&l.BFloat16, "bfloat16", "",
		"classes of products that workers compute in bfloat16, if their program asks for "+
			"bfloat16: none, all, or some of convolution,depthwise,dense,few-rows,batched,other "+
			"(default: the classes that the scheduler's processor computes faster so)")
	flags.IntVar(&l.Restarts, "restarts", attempts(),
		"number of times that a process is started again, -1 for never (default 10)")
	flags.StringVar(&l.Dir, "dir", "", "folder for the files that the processes share, kept at "+
		"the end of the job (default: a temporary folder)")
	flags.StringVar(&l.Snapshots, "snapshots", "",
		"folder for snapshots of the training, in which each job makes a folder of its own")
	flags.BoolVar(&l.Resume, "resume", false,
		"continue the newest job in the folder of --snapshots from its last snapshot")
	flags.DurationVar(&l.Dead, "dead", 0,
		"time of silence after which a process counts as dead (default 3s)")
	flags.DurationVar(&l.Patience, "patience", 0,
		"time after which a job ends that has no scheduler, or no copy of a part of the "+
			"parameters (default 1m40s)")
	f.via.add(flags, l)
	flags.IntVarP(&f.verbose, "verbose", "v", 0,
		"log of the processes: 1 for changes of state, 2 for details")
	return cmd
}

// attempts is the default of --restarts: MXNet's variable DMLC_NUM_ATTEMPT, or 0 for the launcher's
// default.
func attempts() int {
	if n, err := strconv.Atoi(os.Getenv("DMLC_NUM_ATTEMPT")); err == nil && n > 0 {
		return n
	}
	return 0
}

func (f *launchFlags) run(ctx context.Context) error {
	l := f.local
	l.Servers = f.servers
	if l.Resume && l.Snapshots == "" {
		return usageError{errors.New("--resume without --snapshots, want the folder of the " +
			"snapshots")}
	}
	switch f.policy {
	case "wait":
	case "shrink":
		l.Shrink = true
	default:
		return usageError{fmt.Errorf("--policy %q, want wait or shrink", f.policy)}
	}
	if f.curve {
		l.Encrypt = launch.EncryptCurve
	}
	l.Memory = f.memory << 20
	if f.verbose > 0 {
		l.Env = append(l.Env, "PS_VERBOSE="+strconv.Itoa(f.verbose))
	}
	l.Stdout, l.Stderr = os.Stdout, os.Stderr
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return f.via.run(ctx, l)
}
