package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gomx/kvstore"
	"gomx/launch"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// topFlags are the flags of the command top.
type topFlags struct {
	every  time.Duration
	once   bool
	output string
}

func topCommand() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top [FOLDER | ADDRESS]",
		Short: "Show the processes of a running job, their progress and their waits",
		Long: `Show a job that runs on this machine, again and again.

FOLDER is the folder of a job of gomx launch, which its flag --dir sets. ADDRESS is the address at
which the scheduler of a job serves its health and metrics; every process prints its address when it
starts. Without an argument the command shows the only job of gomx launch; when there are several,
it lists their folders and ends.`,
		Example: "  gomx top\n  gomx top --once 127.0.0.1:40123",
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
	cmd.Flags().DurationVar(&f.every, "every", time.Second, "time between two tables")
	cmd.Flags().BoolVar(&f.once, "once", false, "print one table and end")
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "form of the output: table or json")
	jsonFlag(cmd, &f.output)
	return cmd
}

func (f *topFlags) run(ctx context.Context, w io.Writer, where string) error {
	if f.output != "table" && f.output != "json" {
		return usageError{fmt.Errorf("-o %q, want table or json", f.output)}
	}
	if f.every <= 0 {
		return usageError{fmt.Errorf("--every %v, want a positive duration", f.every)}
	}
	job, err := choose(where)
	if err != nil {
		return err
	}
	terminal := w == io.Writer(os.Stdout) && isatty.IsTerminal(os.Stdout.Fd())
	t := time.NewTicker(f.every)
	defer t.Stop()
	for {
		list, err := job.look(ctx)
		if err != nil {
			return err
		}
		if terminal && !f.once {
			fmt.Fprint(w, "\x1b[H\x1b[2J")
		}
		if err := f.show(w, job, list); err != nil {
			return err
		}
		if f.once {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *topFlags) show(w io.Writer, job topTarget, list []kvstore.Status) error {
	if f.output == "json" {
		return json.NewEncoder(w).Encode(list)
	}
	fmt.Fprintln(w, job.title)
	return writeTop(w, list)
}

// topTarget is the job to show. Either dir or addr is set: the folder in which the processes of the
// job write their addresses, or the address of one process.
type topTarget struct {
	title     string
	dir, addr string
}

// choose returns the job at a folder or an address; without either, the only running job.
func choose(where string) (topTarget, error) {
	if where != "" {
		if info, err := os.Stat(where); err == nil && info.IsDir() {
			return topTarget{title: "job in " + where, dir: where}, nil
		}
		return topTarget{title: "job at " + where, addr: where}, nil
	}
	jobs, err := launch.Jobs()
	switch {
	case err != nil:
		return topTarget{}, err
	case len(jobs) == 0:
		return topTarget{}, errors.New("found no running job of gomx launch; give the folder or " +
			"the address of a job")
	case len(jobs) > 1:
		var text strings.Builder
		for _, j := range jobs {
			fmt.Fprintf(&text, "\n  %s", describe(j))
		}
		return topTarget{}, usageError{fmt.Errorf(
			"found %d running jobs, give the folder of one:%s", len(jobs), text.String())}
	}
	return topTarget{title: "job in " + describe(jobs[0]), dir: jobs[0].Dir}, nil
}

// describe names a job by its folder, its launcher and its program.
func describe(j launch.Holder) string {
	return fmt.Sprintf("%s: launcher %d, started at %s: %s", j.Dir, j.PID,
		j.Began.Format(time.TimeOnly), strings.Join(j.Program, " "))
}

// look asks the processes of the job for their status, and skips those that do not answer.
func (j topTarget) look(ctx context.Context) ([]kvstore.Status, error) {
	addrs := []string{j.addr}
	if j.dir != "" {
		var err error
		if addrs, err = addresses(j.dir); err != nil {
			return nil, err
		}
	}
	var list []kvstore.Status
	var failed error
	for _, addr := range addrs {
		st, err := kvstore.ReadStatus(ctx, addr)
		if err != nil {
			failed = err // the process may have ended just now
			continue
		}
		list = append(list, st)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no process answers: %w", j.title, failed)
	}
	slices.SortFunc(list, func(a, b kvstore.Status) int { return strings.Compare(a.Node, b.Node) })
	return list, nil
}

// addresses reads the addresses that the processes of a job wrote to its folder.
func addresses(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "status-*"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: found no address of a process (status-*), want the folder "+
			"of a running job", dir)
	}
	var list []string
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			list = append(list, string(b))
		}
	}
	return list, nil
}

// writeTop writes two tables: the members of the job as the scheduler sees them, and the processes
// with the traffic that they count themselves.
func writeTop(w io.Writer, list []kvstore.Status) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, st := range list {
		if len(st.Members) == 0 {
			continue
		}
		lost, single := 0, 0
		for _, s := range st.Shards {
			if s.Lost {
				lost++
			} else if !s.InSync {
				single++
			}
		}
		fmt.Fprintf(w, "job up %s, view %d, %d shards: %d without a second copy, %d lost\n\n",
			time.Duration(st.Seconds*float64(time.Second)).Round(time.Second), st.View,
			len(st.Shards), single, lost)
		fmt.Fprintln(tw, "NODE\tSTATE\tINCARNATION\tSILENT\tSHARDS\tCLOCK\tAHEAD\tHELD\tPARKED"+
			"\tWAITS FOR")
		for i := range st.Members {
			m := &st.Members[i]
			fmt.Fprintf(tw, "%s\t%s\t%d\t%.1fs\t%s\t%d\t%s\t%s\t%d\t%s\n", m.Node, state(m),
				m.Incarnation, m.Silent, shards(&st, m), m.Clock, ahead(&st, m), size(m.Queue),
				m.Parked, waits(m))
		}
		fmt.Fprintln(tw)
	}
	fmt.Fprintln(tw, "NODE\tREADY\tUP\tSENT\tRECEIVED\tDROPPED")
	for _, st := range list {
		sent, received, dropped := uint64(0), uint64(0), uint64(0)
		if st.Transport != nil {
			sent, received, dropped = st.Transport.SentBytes, st.Transport.ReceivedBytes,
				st.Transport.Dropped()
		}
		fmt.Fprintf(tw, "%s\t%v\t%.0fs\t%s\t%s\t%d\n", st.Node, st.Ready, st.Seconds, size(sent),
			size(received), dropped)
	}
	return tw.Flush()
}

func state(m *kvstore.StatusMember) string {
	switch {
	case m.Left:
		return "left"
	case m.Alive:
		return "alive"
	case m.Incarnation == 0:
		return "missing"
	}
	return "dead"
}

// shards returns the number of shards that a server leads, and the number of shards of which it has
// the second copy, as "3+2".
func shards(st *kvstore.Status, m *kvstore.StatusMember) string {
	rank := 0
	if _, err := fmt.Sscanf(m.Node, "server %d", &rank); err != nil {
		return "-"
	}
	primary, backup := st.Leads(rank)
	return fmt.Sprintf("%d+%d", primary, backup)
}

// ahead returns the number of clocks that a worker is ahead of the slowest worker.
func ahead(st *kvstore.Status, m *kvstore.StatusMember) string {
	if !m.Alive || !strings.HasPrefix(m.Node, "worker") {
		return "-"
	}
	return fmt.Sprint(st.Ahead(m))
}

// waits returns the worker that a member waits for: without it the oldest round of a server, or the
// oldest call of a worker, cannot end.
func waits(m *kvstore.StatusMember) string {
	if !m.Alive || m.Left || m.Waiting < 0 {
		return "-"
	}
	return fmt.Sprintf("worker %d", m.Waiting)
}

// size formats a number of bytes with a unit.
func size(n uint64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/unit, 0
	for ; v >= unit && i < 3; i++ {
		v /= unit
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGT"[i])
}
