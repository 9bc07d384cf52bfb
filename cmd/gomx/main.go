package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"gomx/cmd/gomx/fault"
	"gomx/cmd/gomx/profiling"
	"gomx/cmd/gomx/topics"
	"gomx/cmd/gomx/web"
	"gomx/device"
	"gomx/device/cpu/narrow"
	"gomx/kvstore/transport/zmq"
	"gomx/launch"
	"gomx/op"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake in the arguments; the exit code is then 2.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	log := newLogger(os.Stderr)
	if err := launch.Products(); err != nil {
		fmt.Fprintln(os.Stderr, "gomx:", err)
		os.Exit(exitUsage)
	}
	op.NoticesTo(func(text string) { log.Warn().Msg(text) })
	if cmd, err := root(log).ExecuteContextC(ctx); err != nil {
		fault.Report(os.Stderr, err, fault.HintOf(cmd, err, exitCode(err) == exitUsage))
		os.Exit(exitCode(err))
	}
}

func exitCode(err error) int {
	var u usageError
	var exit *launch.ExitError
	switch {
	case errors.As(err, &u), errors.Is(err, launch.ErrUsage):
		return exitUsage
	case errors.As(err, &exit):
		return jobCode(exit.Code)
	}
	return exitFailure
}

// jobCode returns the exit code of gomx for the exit code of the process that ended a job.
func jobCode(code int) int {
	switch code {
	case launch.ExitUsage:
		return exitUsage
	case launch.ExitLost, launch.ExitReplaced:
		return launch.ExitRetry
	}
	return code
}

// newLogger returns the log of the commands: text on a terminal, JSON elsewhere. The error that
// ends a command is printed by main, not logged.
func newLogger(f *os.File) zerolog.Logger {
	var w io.Writer = f
	if onTerminal(f) {
		w = zerolog.ConsoleWriter{Out: f, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(w).With().Timestamp().Logger()
}

// onTerminal reports whether w is a terminal, which can show progress and colours.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// root builds the command tree.
func root(log zerolog.Logger) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "gomx",
		Short:         "A deep-learning framework: arrays, graphs, training, MXNet's files",
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.AddCommand(benchCommand(log), im2recCommand(), inspectCommand(), launchCommand(log),
		scaleCommand(), topCommand(), traceCommand(), versionCommand(), nodeCommand(),
		memoryCommand(),
		platformCommand(), stalenessCommand(), sparseTrainCommand(), devicesCommand(), zooCommand(),
		convertCommand(), quantizeCommand(), runCommand())
	cmd.AddCommand(planCommand(), planNodeCommand(), web.Command(), profiling.Command())
	cmd.AddCommand(topics.Commands()...)
	topics.Complete(cmd)
	return cmd
}

// noCommand returns an error for the name of a command that does not exist.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if list := cmd.SuggestionsFor(args[0]); len(list) > 0 {
		text += fmt.Sprintf(": do you mean %s?", strings.Join(list, " or "))
	}
	return usageError{errors.New(text + "; gomx --help lists the commands")}
}

// exactArgs wants n arguments; its error contains the usage line of the command.
func exactArgs(n int) cobra.PositionalArgs {
	check := cobra.ExactArgs(n)
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{errors.New(err.Error() + ": " + cmd.UseLine())}
		}
		return nil
	}
}

// version is the version of the next release.
const version = "0.1.0"

func versionCommand() *cobra.Command {
	var asJSON, cpu bool
	cmd := &cobra.Command{
		Use: "version",
		Short: "Print the version, the kernels in the binary, their number of cores and the " +
			"processor",
		Long: `Version prints the version, the kernels in the binary, their number of cores and
the processor.

With --cpu it also prints which classes of products the processor computes in bfloat16 where a
program asks for bfloat16: the classes that are faster so than in float32. The choice comes from
GOMX_BFLOAT16, a table of processors, or a measurement, which is kept in the folder GOMX_CACHE.
Speeds are times in float32 divided by times in bfloat16.`,
		Example: "  gomx version --cpu",
		Args:    exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"version": version,
					"revision": strings.Trim(revision(), " ()"), "go": runtime.Version(),
					"os": runtime.GOOS, "arch": runtime.GOARCH,
					"tier": device.MaxTier().String(), "cores": device.Cores(),
					"processor": device.Processor(), "zeromq": zmq.Version(),
					"bfloat16": narrow.Chosen().Products.String()})
			}
			fmt.Fprintf(cmd.OutOrStdout(),
				"gomx %s%s, %s %s/%s, kernels up to tier %v, %d cores of %s, %s\n",
				version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
				device.MaxTier(), device.Cores(), device.Processor(), zmq.Version())
			if !cpu {
				return nil
			}
			choice := narrow.Chosen()
			fmt.Fprintln(cmd.OutOrStdout(), choice)
			if s := choice.Speeds(); s != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "speed of bfloat16 relative to float32: %s\n", s)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&cpu, "cpu", false, "print the products that are computed in bfloat16 too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// jsonFlag adds the flag --json to a command whose form of output is in a variable.
func jsonFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().BoolFunc("json", "print JSON, as -o json does", func(string) error {
		*output = "json"
		return nil
	})
}

// revision returns the commit of the source tree, or "" where Go did not record it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return " (" + s.Value[:12] + ")"
		}
	}
	return ""
}

// writeJSON prints v as JSON over several lines, which people read too.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
