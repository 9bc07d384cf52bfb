package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"time"

	"gomx/launch"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake in the arguments, not a failure of the work.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	log := newLogger(os.Stderr)
	if err := root(log).ExecuteContext(ctx); err != nil {
		log.Error().Err(err).Msg("failed")
		os.Exit(exitCode(err))
	}
}

func exitCode(err error) int {
	var u usageError
	var exit *launch.ExitError
	switch {
	case errors.As(err, &u):
		return exitUsage
	case errors.As(err, &exit):
		return exit.Code
	}
	return exitFailure
}

// newLogger logs for people on a terminal and JSON elsewhere.
func newLogger(f *os.File) zerolog.Logger {
	var w io.Writer = f
	if isatty.IsTerminal(f.Fd()) {
		w = zerolog.ConsoleWriter{Out: f, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(w).With().Timestamp().Logger()
}

// root builds the command tree.
func root(log zerolog.Logger) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "gomx",
		Short:         "A deep-learning framework: arrays, graphs, training, MXNet's files",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.AddCommand(benchCommand(log), im2recCommand(), inspectCommand(), launchCommand(log), topCommand(), traceCommand(), versionCommand(), nodeCommand(), memoryCommand(), platformCommand(), devicesCommand())
	return cmd
}

// exactArgs demands n arguments and says how the command is used.
func exactArgs(n int) cobra.PositionalArgs {
	check := cobra.ExactArgs(n)
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{errors.New(err.Error() + ": " + cmd.UseLine())}
		}
		return nil
	}
}
