package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"gomx/device"
)

func devicesCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "devices",
		Short:   "Print the devices that arrays can be put on",
		Example: "  gomx devices",
		Args:    exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%v: %d cores, kernels up to tier %v\n", device.CPU(), device.Cores(),
				device.MaxTier())
			return listGPUs(w)
		},
	}
}
