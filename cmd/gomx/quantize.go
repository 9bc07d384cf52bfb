package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gomx/checkpoint"
	dataio "gomx/io"
	"gomx/quantize"
)

// quantizeFlags are the flags of the command quantize.
type quantizeFlags struct {
	data, out, mode string
	epoch, batch    int
	json            bool
	config          quantize.Config
}

func quantizeCommand() *cobra.Command {
	var f quantizeFlags
	cmd := &cobra.Command{
		Use:   "quantize PREFIX --data FILE",
		Short: "Turn a network into one that computes with integers of 8 bits",
		Long: `Quantize the convolutions and dense layers of the network PREFIX-symbol.json with the parameters
PREFIX-0000.params, and write PREFIX-int8-symbol.json and PREFIX-int8-0000.params, which gomx runs, and
MXNet too with --for-mxnet or where no convolution has groups.

FILE is a .params file of samples for the calibration: arrays under the names of the network's
inputs, with the samples along the first axis. The command convert makes such a file of .npz and
.safetensors. Some hundred samples do.

The table lists the layers: their type, the range of their data, or the reason why they stay
float32, and with --max-loss the error that each of them alone causes at the outputs.`,
		Example: "  gomx quantize lenet --data samples.params\n" +
			"  gomx quantize resnet --epoch 12 --data samples.params --mode naive --exclude fc1",
		Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "", "file of samples, .params")
	flags.StringVar(&f.out, "out", "", "prefix of the files that are written (default PREFIX-int8)")
	flags.StringVar(&f.mode, "mode", string(quantize.Entropy),
		"way to find ranges: none, naive, percentile or entropy")
	flags.IntVar(&f.epoch, "epoch", 0, "number of the checkpoint that is read")
	flags.IntVar(&f.batch, "batch", 32, "samples in a batch")
	flags.Float64Var(&f.config.Percentile, "percentile", 99.99,
		"share of numbers inside of the range, with --mode percentile")
	flags.StringSliceVar(&f.config.Exclude, "exclude", nil, "layers that stay float32, by name")
	flags.BoolVar(&f.config.ForMXNet, "for-mxnet", false,
		"leave layers in float32 that MXNet's quantized operators do not compute: groups")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.Float64Var(&f.config.MaxLoss, "max-loss", 0,
		"greatest relative error of the outputs; the worst layers stay float32 (0: any)")
	return cmd
}

func (f *quantizeFlags) run(ctx context.Context, w io.Writer, prefix string) error {
	if f.data == "" {
		return usageError{fmt.Errorf("--data is missing, want a file of samples")}
	}
	if f.batch < 1 {
		return usageError{fmt.Errorf("--batch %d, want 1 or more", f.batch)}
	}
	m, err := checkpoint.Load(prefix, f.epoch)
	if err != nil {
		return err
	}
	data, err := f.samples(m)
	if err != nil {
		return err
	}
	f.config.Mode = quantize.Mode(f.mode)
	r, err := quantize.Calibrate(ctx, m, data, f.config)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = prefix + "-int8"
	}
	if err := r.Model.Save(f.out, 0); err != nil {
		return err
	}
	if f.json {
		return f.encode(w, r.Layers)
	}
	return f.table(w, r.Layers)
}

// layerRow is a layer in JSON. Range is of the data; it is missing where each batch has its own.
type layerRow struct {
	Name      string      `json:"name"`
	Operator  string      `json:"operator"`
	Quantized bool        `json:"quantized"`
	Type      string      `json:"type"`
	Reason    string      `json:"reason,omitempty"`
	Range     *[2]float64 `json:"range,omitempty"`
	Error     *float64    `json:"error,omitempty"` // with --max-loss
}

// encode writes the layers and the names of the files as JSON.
func (f *quantizeFlags) encode(w io.Writer, layers []quantize.Layer) error {
	rows := make([]layerRow, len(layers))
	for i, l := range layers {
		r := layerRow{Name: l.Name, Operator: l.Operator, Quantized: l.Quantized, Type: "float32",
			Reason: l.Reason}
		if l.Quantized {
			r.Type = l.DType
			if f.config.Mode != quantize.None {
				r.Range = &[2]float64{l.Low, l.High}
			}
		}
		if f.config.MaxLoss > 0 {
			r.Error = &l.Error
		}
		rows[i] = r
	}
	return writeJSON(w, map[string]any{"symbol": checkpoint.SymbolPath(f.out),
		"params": checkpoint.ParamsPath(f.out, 0), "layers": rows})
}

// samples reads the inputs of the network.
func (f *quantizeFlags) samples(m *checkpoint.Model) (dataio.Iter, error) {
	arrays, err := checkpoint.LoadMap(f.data)
	if err != nil {
		return nil, err
	}
	c := dataio.NDArrayConfig{BatchSize: f.batch}
	for _, name := range m.Symbol.Arguments() {
		if a := arrays[name]; a != nil {
			c.Data, c.DataNames = append(c.Data, a), append(c.DataNames, name)
		}
	}
	if len(c.Data) != len(arrays) || len(c.Data) == 0 {
		var names []string
		for name := range arrays {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("%s has arrays %q, want names of inputs of the network, such as data",
			f.data, names)
	}
	if n := c.Data[0].Shape(); len(n) > 0 {
		c.BatchSize = min(c.BatchSize, max(n[0], 1))
	}
	return dataio.NDArrayIter(c)
}

// table lists the layers.
func (f *quantizeFlags) table(w io.Writer, layers []quantize.Layer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LAYER\tOPERATOR\tDATA\tRANGE\tERROR")
	for _, l := range layers {
		kind, extent, loss := l.DType, fmt.Sprintf("%.4g to %.4g", l.Low, l.High), "-"
		if !l.Quantized {
			kind, extent = "float32", l.Reason
		} else if f.config.Mode == quantize.None {
			extent = "of each batch"
		}
		if f.config.MaxLoss > 0 {
			loss = fmt.Sprintf("%.2g", l.Error)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", l.Name, l.Operator, kind, extent, loss)
	}
	return t.Flush()
}
