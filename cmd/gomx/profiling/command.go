package profiling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"gomx/cmd/gomx/fault"
	"gomx/launch/profile"

	"github.com/spf13/cobra"
)

// flags are the flags of the command profile.
type flags struct {
	by     string
	trace  string
	top    int
	json   bool
	limits Limits
}

// Command returns the command profile.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "profile [flags] -- PROGRAM [ARGS]",
		Short: "Run a program and print a table of its operators",
		Long: `Run a program that uses gomx, with its processes if it is a job, and record every
operator. Print a table: count, total, least, greatest and mean time, bytes read and written, GFLOP/s, and the
share of the roofline, which is the speed that the processor could reach at best with the operator's
bytes and FLOPs. The command measures the processor's greatest GFLOP/s and bytes per second after
the program, unless they are given. Operators on GPUs are in the trace alone.

The program needs no change. It takes about two microseconds longer for each operator.`,
		Example: "  gomx profile -- go run ./examples/mnist --epochs 1\n" +
			"  gomx profile --by node --trace step.json -- ./program",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fault.Usage(errors.New("no program: " + cmd.UseLine()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&f.by, "by", "operator", "rows of the table: operator or node")
	cmd.Flags().StringVar(&f.trace, "trace", "",
		"file for a trace that ui.perfetto.dev opens, .json")
	cmd.Flags().IntVar(&f.top, "top", 40, "number of rows, 0 for all")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON instead of a table")
	cmd.Flags().Float64Var(&f.limits.GFLOPs, "peak", 0,
		"greatest GFLOP/s of the processor (default: measured)")
	cmd.Flags().Float64Var(&f.limits.GBytes, "bandwidth", 0,
		"greatest GB/s of the memory (default: measured)")
	return cmd
}

func (f *flags) run(cmd *cobra.Command, args []string) error {
	if f.by != "operator" && f.by != "node" {
		return fault.Usage(fmt.Errorf("--by %q, want operator or node", f.by))
	}
	if f.top < 0 || f.limits.GFLOPs < 0 || f.limits.GBytes < 0 {
		return fault.Usage(errors.New("--top, --peak or --bandwidth is negative"))
	}
	dir, err := os.MkdirTemp("", "gomx-profile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	failed := runProfiled(cmd.Context(), dir, args)
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		if failed != nil {
			return failed
		}
		return fault.Hint(errors.New("the program has recorded nothing"),
			"profile a program that uses gomx's arrays or executors, built with this version")
	}
	slices.Sort(files)
	report, err := f.collect(files)
	if err != nil {
		return err
	}
	f.limits.measure()
	report.finish(f.limits, f.top)
	if f.json {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		err = report.write(cmd.OutOrStdout(), f.by)
	}
	return errors.Join(err, failed)
}

// runProfiled runs a program that records into a folder.
func runProfiled(ctx context.Context, dir string, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), profile.Variable+"="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	const grace = 10 * time.Second
	cmd.WaitDelay = grace
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}

// collect reads the files of all processes, and writes the trace if it is asked for.
func (f *flags) collect(files []string) (*Report, error) {
	r := &Report{rows: map[string]*Row{}}
	var trace *traceFile
	if f.trace != "" {
		out, err := os.Create(f.trace)
		if err != nil {
			return nil, err
		}
		defer out.Close()
		trace = newTraceFile(out)
	}
	for _, path := range files {
		if err := r.read(path, f.by, trace); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	if trace != nil {
		return r, trace.close()
	}
	return r, nil
}
