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
}

func launchCommand(log zerolog.Logger) *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "launch -n WORKERS [-s SERVERS] [flags] -- PROGRAM [ARGUMENTS]",
		Short: "Run a distributed program as processes of this machine",
		Long: `Run a program as scheduler, servers and workers on this machine: the same program in every role, told by
its environment (DMLC_ROLE and so on) which one it has. What they print appears behind their names.
Processes that die are started again; with --replicas 2 training goes on when a server dies.

The exit code is 0 when all workers have ended well, 2 for mistakes in the arguments, 75 when running the job again
may help, and otherwise that of the process that could not be kept alive.`,
		Example: "  gomx launch -n 3 -s 2 --replicas 2 -- ./mnist --kvstore dist_sync\n  gomx top",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no program: " + cmd.UseLine())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.local.Program = args
			f.local.Log = log
			return f.run(cmd.Context())
		},
	}
	l := &f.local
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.IntVarP(&l.Workers, "num-workers", "n", 1, "number of workers")
	flags.IntVarP(&f.servers, "num-servers", "s", 0, "number of servers (default: that of workers)")
	flags.IntVar(&l.Replicas, "replicas", 1, "copies of every parameter, 1 or 2")
	flags.StringVar(&f.policy, "policy", "wait", "what rounds do when a worker dies: wait for its successor, or shrink")
	flags.IntVar(&l.Backups, "backup-workers", 0, "rounds close without the slowest so many workers")
	flags.Uint64Var(&f.memory, "server-memory", 0, "MiB that each server may need for its keys (default: no limit)")
	flags.BoolVar(&l.TCP, "tcp", false, "TCP on the loopback instead of local sockets")
	flags.BoolVar(&f.curve, "curve", false, "encrypt, with keys made for this run")
	flags.IntVar(&l.Threads, "threads", 0, "cores that the kernels of each process use (default: the machine's, shared among the workers)")
	flags.IntVar(&l.Restarts, "restarts", attempts(), "how often a process is started again, -1: never")
	flags.StringVar(&l.Dir, "dir", "", "folder for what the processes share, kept (default: one that is removed)")
	flags.StringVar(&l.Snapshots, "snapshots", "", "folder for snapshots that the program asks for")
	flags.BoolVar(&l.Resume, "resume", false, "continue from the last snapshot in that folder, if there is one")
	flags.DurationVar(&l.Dead, "dead", 0, "silence after which a process counts as dead (default 3s)")
	flags.IntVarP(&f.verbose, "verbose", "v", 0, "1: processes log changes of state, 2: more")
	return cmd
}

// attempts is the default of --restarts: what MXNet's scripts say, or the launcher's own.
func attempts() int {
	if n, err := strconv.Atoi(os.Getenv("DMLC_NUM_ATTEMPT")); err == nil && n > 0 {
		return n
	}
	return 0
}

func (f *launchFlags) run(ctx context.Context) error {
	l := f.local
	if l.Servers = f.servers; l.Servers == 0 {
		l.Servers = l.Workers
	}
	switch f.policy {
	case "wait":
	case "shrink":
		l.Shrink = true
	default:
		return usageError{fmt.Errorf("--policy %q, want wait or shrink", f.policy)}
	}
	l.Memory = f.memory << 20
	if f.verbose > 0 {
		l.Env = append(l.Env, "PS_VERBOSE="+strconv.Itoa(f.verbose))
	}
	if f.curve {
		dir, err := os.MkdirTemp("", "gomx-keys-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := launch.MakeKeys(dir, l.Workers, l.Servers); err != nil {
			return err
		}
		l.Keys = dir
	}
	l.Stdout, l.Stderr = os.Stdout, os.Stderr
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return l.Run(ctx)
}
