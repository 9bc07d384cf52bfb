package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gomx/device"
)

// deviceRow describes a device that arrays can be put on.
type deviceRow struct {
	Device  string `json:"device"`
	Name    string `json:"name"`
	Cores   int    `json:"cores,omitempty"`              // of the processor
	Tier    string `json:"tier,omitempty"`               // of the processor's kernels
	Memory  int64  `json:"memory,omitempty"`             // of a GPU, in bytes
	Compute string `json:"compute_capability,omitempty"` // of a GPU
}

// libraryRow describes a library of GPUs.
type libraryRow struct {
	Name  string `json:"name"`
	Found bool   `json:"found"`
	Text  string `json:"text"` // version, or the reason why it was not found
}

// deviceList is the output of the command devices.
type deviceList struct {
	Devices   []deviceRow  `json:"devices"`
	Libraries []libraryRow `json:"libraries"`
	Notes     []string     `json:"notes"` // why there are no GPUs, parts that libraries lack
}

func devicesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "devices",
		Short:   "Print the devices that arrays can be put on",
		Example: "  gomx devices\n  gomx devices --json",
		Args:    exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := deviceList{Devices: []deviceRow{{Device: device.CPU().String(),
				Name: device.Processor(), Cores: device.Cores(), Tier: device.MaxTier().String()}},
				Libraries: []libraryRow{}, Notes: []string{}}
			if err := addGPUs(&list); err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), list)
			}
			return list.write(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// write prints the devices, a line for each, then the libraries and notes.
func (l *deviceList) write(w io.Writer) (err error) {
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format+"\n", args...)
		}
	}
	for _, d := range l.Devices {
		if d.Cores > 0 {
			line("%s: %d cores, kernels up to tier %s", d.Device, d.Cores, d.Tier)
		} else {
			line("%s: %s, %d MiB, compute capability %s", d.Device, d.Name, d.Memory>>20, d.Compute)
		}
	}
	for _, b := range l.Libraries {
		line("%s: %s", b.Name, b.Text)
	}
	for _, n := range l.Notes {
		line("%s", n)
	}
	return err
}
