package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"gomx/kvstore"
	"gomx/launch"

	"github.com/spf13/cobra"
)

// scaleFlags are the flags of the command scale.
type scaleFlags struct {
	order   kvstore.Order
	restart bool
	id      string
	timeout time.Duration
}

func scaleCommand() *cobra.Command {
	var f scaleFlags
	cmd := &cobra.Command{
		Use:   "scale [FOLDER | ADDRESS] [flags]",
		Short: "Change the number of workers and servers of a running job",
		Long: `Change the members of a job while it trains.

FOLDER is the folder of a job of gomx launch; ADDRESS is the address at which the scheduler of a job
serves its health and metrics, and --job the number of that job (GOMX_JOB in its environment).
Without an argument the command changes the only job of gomx launch on this machine.

With --workers and --servers the processes with the highest ranks leave: a worker ends its step, and
the other workers share out its data; a server moves its parameters to other servers first. Gomx
launch starts processes for new places. Jobs of other launchers get theirs when somebody starts a
worker or a server with the next rank.

--drain asks one process to leave. --restart lets all processes leave one after the other, and waits
until the launcher has started each of them again and all parameters have as many copies as before.

The command returns when the change is complete.`,
		Example: "  gomx scale --workers 4 --servers 3\n  gomx scale runs/job --restart",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("%d arguments, want at most one: %s", len(args),
					cmd.UseLine())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			where := ""
			if len(args) > 0 {
				where = args[0]
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), where)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.order.Workers, "workers", 0, "number of workers that the job is to have")
	flags.IntVar(&f.order.Servers, "servers", 0, "number of servers that the job is to have")
	flags.StringVar(&f.order.Drain, "drain", "",
		`process that is to leave, for example "worker 1"`)
	flags.BoolVar(&f.restart, "restart", false, "restart all workers and servers, one by one")
	flags.StringVar(&f.id, "job", "", "number of the job at ADDRESS, in hexadecimal digits")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "longest time to wait for the change")
	return cmd
}

func (f *scaleFlags) run(ctx context.Context, w io.Writer, where string) error {
	resize := f.order.Workers != 0 || f.order.Servers != 0
	switch {
	case f.order.Workers < 0 || f.order.Servers < 0:
		return usageError{fmt.Errorf("--workers %d --servers %d, want at least 1", f.order.Workers,
			f.order.Servers)}
	case count(resize, f.order.Drain != "", f.restart) != 1:
		return usageError{errors.New(
			"want either --workers and --servers, or --drain, or --restart")}
	}
	job, err := choose(where)
	if err != nil {
		return err
	}
	s := scaling{addr: job.addr}
	if job.dir != "" {
		s.addr, s.id, err = launch.OrderJob(job.dir)
	} else if s.id, err = strconv.ParseUint(f.id, 16, 64); err != nil {
		err = usageError{fmt.Errorf("--job %q, want the number of the job at %s", f.id, where)}
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if f.restart {
		return s.restart(ctx, w)
	}
	if err := f.order.Send(ctx, s.addr, s.id); err != nil {
		return err
	}
	return s.wait(ctx, func(st *kvstore.Status) error { return missing(st, &f.order) })
}

func count(list ...bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// scaling changes the members of one job.
type scaling struct {
	addr string // of the scheduler's pages
	id   uint64
}

// wait waits until the state of the job has nothing missing any more.
func (s *scaling) wait(ctx context.Context, missing func(st *kvstore.Status) error) error {
	for {
		st, err := kvstore.ReadStatus(ctx, s.addr)
		if err == nil {
			if err = missing(&st); err == nil {
				return nil
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the change is not complete: %w", err)
		}
	}
}

// missing names the first thing that an order still lacks.
func missing(st *kvstore.Status, o *kvstore.Order) error {
	there := map[string]int{}
	for _, m := range st.Members {
		var role string
		var rank int
		if _, err := fmt.Sscanf(m.Node, "%s %d", &role, &rank); err != nil {
			continue
		}
		want := map[string]int{"worker": o.Workers, "server": o.Servers}[role]
		switch {
		case m.Left:
		case want > 0 && rank >= want, m.Node == o.Drain:
			return fmt.Errorf("%s has not left", m.Node)
		case m.Waits:
			return fmt.Errorf("%s waits for the end of a round", m.Node)
		case m.Alive:
			there[role]++
		}
	}
	for role, want := range map[string]int{"worker": o.Workers, "server": o.Servers} {
		if there[role] < want {
			return fmt.Errorf("%d of %d %ss are there", there[role], want, role)
		}
	}
	return copied(st)
}

// copied names the first shard whose copies are being made or moved.
func copied(st *kvstore.Status) error {
	for i, sh := range st.Shards {
		if sh.Backup >= 0 && !sh.InSync || sh.Third >= 0 || sh.Swapped {
			return fmt.Errorf("shard %d is being copied", i)
		}
	}
	return nil
}

// restart restarts all workers and servers, one after the other.
func (s *scaling) restart(ctx context.Context, w io.Writer) error {
	st, err := kvstore.ReadStatus(ctx, s.addr)
	if err != nil {
		return err
	}
	for _, m := range st.Members {
		if m.Left || !m.Alive {
			continue
		}
		if err := s.wait(ctx, copied); err != nil {
			return err
		}
		o := kvstore.Order{Drain: m.Node}
		if err := o.Send(ctx, s.addr, s.id); err != nil {
			return err
		}
		err := s.wait(ctx, func(st *kvstore.Status) error {
			for _, now := range st.Members {
				if now.Node == m.Node && (now.Incarnation == m.Incarnation || !now.Alive ||
					now.Waits || now.Left) {
					return fmt.Errorf("%s is not back", m.Node)
				}
			}
			return copied(st)
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s has been restarted\n", m.Node)
	}
	return nil
}
