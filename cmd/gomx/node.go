package main

import (
	"strconv"

	"github.com/spf13/cobra"
	"gomx/internal/bench"
)

// nodeCommand is a process of the suite kv, started by the suite itself.
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

// memoryCommand is a process in which a suite measures the memory of one workload, started by the
// suite itself.
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

// platformCommand is a process of the suite platforms, started by the suite itself.
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
