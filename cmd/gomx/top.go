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
		Short: "Show a running job: who lives, how far they are, who waits for whom",
		Long: `Show a job that runs on this machine. Without an argument there must be one job that gomx launch runs;
when there are several, the error lists their folders. FOLDER is that of a job (launch --dir, or one of
the list). ADDRESS is where the scheduler of a job serves health and metrics; every process prints its
address when it starts.`,
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

// topTarget is the job that is shown: the folder in which its processes leave their addresses, or
// one address.
type topTarget struct {
	title     string
	dir, addr string
}

// choose returns the job at a folder or an address; without either, the only one that runs.
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
		return topTarget{}, errors.New("no job that gomx launch started runs here: name its " +
			"folder or an address")
	case len(jobs) > 1:
		var text strings.Builder
		for _, j := range jobs {
			fmt.Fprintf(&text, "\n  %s", describe(j))
		}
		return topTarget{}, usageError{fmt.Errorf("%d jobs run here, name the folder of one:%s",
			len(jobs), text.String())}
	}
	return topTarget{title: "job in " + describe(jobs[0]), dir: jobs[0].Dir}, nil
}

// describe names a job by its folder, its launcher and its program.
func describe(j launch.Holder) string {
	return fmt.Sprintf("%s: launcher %d, started at %s: %s", j.Dir, j.PID,
		j.Began.Format(time.TimeOnly), strings.Join(j.Program, " "))
}

// look asks the processes of the job for their status.
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
			failed = err // it may have ended just now
			continue
		}
		list = append(list, st)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no process of the job answers: %w", j.title, failed)
	}
	slices.SortFunc(list, func(a, b kvstore.Status) int { return strings.Compare(a.Node, b.Node) })
	return list, nil
}

// addresses finds the processes of the job in a folder.
func addresses(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "status-*"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: no process of the job says where to ask it", dir)
	}
	var list []string
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			list = append(list, string(b))
		}
	}
	return list, nil
}

// writeTop writes a table of what the scheduler knows, and of what the processes say of themselves.
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
		fmt.Fprintln(tw, "NODE\tSTATE\tINCARNATION\tSILENT\tSHARDS\tCLOCK\tAHEAD\tHELD\tPARKED\tWAITS FOR")
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

// shards says how many shards a server leads, and of how many it has the second copy.
func shards(st *kvstore.Status, m *kvstore.StatusMember) string {
	rank := 0
	if _, err := fmt.Sscanf(m.Node, "server %d", &rank); err != nil {
		return "-"
	}
	primary, backup := st.Leads(rank)
	return fmt.Sprintf("%d+%d", primary, backup)
}

// ahead says how many clocks a worker is ahead of the slowest.
func ahead(st *kvstore.Status, m *kvstore.StatusMember) string {
	if !m.Alive || !strings.HasPrefix(m.Node, "worker") {
		return "-"
	}
	return fmt.Sprint(st.Ahead(m))
}

// waits says for whom a member waits: for the worker without whom its oldest round, or its oldest
// call, cannot end.
func waits(m *kvstore.StatusMember) string {
	if !m.Alive || m.Left || m.Waiting < 0 {
		return "-"
	}
	return fmt.Sprintf("worker %d", m.Waiting)
}

// size writes a number of bytes for people.
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
