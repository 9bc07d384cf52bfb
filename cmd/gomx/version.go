package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"gomx/device"
	"gomx/kvstore/transport/zmq"
)

// version is the version of the next release.
const version = "0.1.0"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the kernels in the binary and their number of cores",
		Example: "  gomx version",
		Args:    exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(cmd.OutOrStdout(),
				"gomx %s%s, %s %s/%s, kernels up to tier %v, %d cores, %s\n",
				version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
				device.MaxTier(), device.Cores(), zmq.Version())
			return nil
		},
	}
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
