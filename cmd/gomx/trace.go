package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"gomx/engine"
	"gomx/internal/plot"
)

// traceFlags are the flags of the command trace.
type traceFlags struct {
	output   string
	simulate bool
	batch    int
}

func traceCommand() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace lenet",
		Short: "Record one training step of LeNet and draw its operations over time",
		Long: `Record training steps of LeNet on random images with the engine's profiler and write the
fastest one, as a picture (.svg) or as a Chrome trace (.json), which ui.perfetto.dev opens.

With --simulate, run the recorded operations on a null device, which computes nothing and takes
simulated times. The weights stay on the host: each step copies gradients out and weights in.`,
		Example: "  gomx trace lenet -o docs/trace-lenet.svg\n" +
			"  gomx trace lenet --simulate -o docs/trace-null.svg",
		Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "lenet" {
				return usageError{fmt.Errorf("trace %q, want lenet", args[0])}
			}
			write, err := f.format()
			if err != nil {
				return usageError{err}
			}
			r, err := recordLenet(cmd.Context(), f.batch)
			if err != nil {
				return err
			}
			t := trace{profile: r.profile, line: r.timeline()}
			if f.simulate {
				if t, err = simulate(cmd.Context(), r); err != nil {
					return err
				}
			}
			return toFile(f.output, func(w io.Writer) error { return write(w, &t) })
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "trace.svg", "file to write, .svg or .json")
	cmd.Flags().BoolVar(&f.simulate, "simulate", false,
		"run the recorded step again on a simulated device")
	cmd.Flags().IntVar(&f.batch, "batch", 64, "number of images per step")
	return cmd
}

// trace is a profile with its drawing.
type trace struct {
	profile *engine.Profile
	line    *plot.Timeline
}

// format returns the function that writes the format of the output's extension.
func (f *traceFlags) format() (func(w io.Writer, t *trace) error, error) {
	switch ext := filepath.Ext(f.output); {
	case f.batch < 1:
		return nil, fmt.Errorf("--batch %d, want at least 1", f.batch)
	case ext == ".svg":
		return func(w io.Writer, t *trace) error { return t.line.WriteSVG(w) }, nil
	case ext == ".json":
		return func(w io.Writer, t *trace) error { return t.profile.WriteTrace(w) }, nil
	default:
		return nil, fmt.Errorf("-o %q, want a file that ends in .svg or .json", f.output)
	}
}
