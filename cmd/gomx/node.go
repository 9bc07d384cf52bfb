package main

import (
	"strconv"

	"github.com/spf13/cobra"
	"gomx/internal/bench"
)

// nodeCommand is the hidden command that the suite kv runs for each of its processes.
func nodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    bench.NodeCommand + " ROLE RANK ADDRESS",
		Hidden: true,
		Args:   exactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			rank, err := strconv.Atoi(args[1])
			if err != nil {
				return usageError{err}
			}
			return bench.RunNode(cmd.Context(), args[0], rank, args[2], cmd.InOrStdin(),
				cmd.OutOrStdout())
		},
	}
}

// memoryCommand is the hidden command that a suite runs to measure the memory of one workload in a
// process of its own.
func memoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:    bench.MemoryCommand + " SUITE WORKLOAD",
		Hidden: true,
		Args:   exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunMemory(cmd.Context(), args[0], args[1], cmd.OutOrStdout())
		},
	}
}

// stalenessCommand is the hidden command that the suite staleness runs for each of its processes.
func stalenessCommand() *cobra.Command {
	return &cobra.Command{
		Use:    bench.StalenessCommand + " PLAN",
		Hidden: true,
		Args:   exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunStaleness(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
}

// platformCommand is the hidden command that the suite platforms runs for each of its processes.
func platformCommand() *cobra.Command {
	return &cobra.Command{
		Use:    bench.PlatformCommand + " PLAN",
		Hidden: true,
		Args:   exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunPlatform(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
}

// sparseTrainCommand is the hidden command that the suite sparse-train runs for each of its
// processes.
func sparseTrainCommand() *cobra.Command {
	return &cobra.Command{
		Use:    bench.SparseTrainCommand + " PLAN",
		Hidden: true,
		Args:   exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return bench.RunSparseTrain(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
}
