package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	nd "gomx/ndarray"
)

func zooCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "zoo",
		Short: "List, export and summarize well-known networks",
		Long: "List, export and summarize the networks of package zoo, by the names of MXNet's " +
			"functions.",
		Example: "  gomx zoo list\n  gomx zoo export resnet18_v1 runs/resnet18\n" +
			"  gomx zoo summary mobilenet_v2_1_0",
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(zooListCommand(), zooExportCommand(), zooSummaryCommand())
	return cmd
}

func zooListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the networks with their inputs",
		Long: "List the networks: the name of MXNet's function, the name of its get_model, and " +
			"the inputs for\none sample.",
		Example: "  gomx zoo list\n  gomx zoo list --json",
		Args:    exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), zooRows())
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "name\tother name\tinputs")
			for _, r := range zooRows() {
				fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, r.Other, strings.Join(r.Inputs, " "))
			}
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// zooRow describes a network.
type zooRow struct {
	Name   string   `json:"name"`
	Other  string   `json:"other_name"`
	Inputs []string `json:"inputs"`
}

func zooRows() (rows []zooRow) {
	for _, e := range zoo.List() {
		r := zooRow{Name: e.Function, Other: e.Name}
		for _, in := range e.Inputs {
			r.Inputs = append(r.Inputs, fmt.Sprintf("%s=%s", in.Name,
				strings.ReplaceAll(strings.Trim(fmt.Sprint(in.Shape), "(,)"), " ", "")))
		}
		rows = append(rows, r)
	}
	return rows
}

// zooFlags are the flags of commands that make a network.
type zooFlags struct {
	params  string
	seed    uint64
	classes int
	shapes  []string
}

func (f *zooFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.params, "params", "",
		"file with values of the parameters, of MXNet's save_parameters or export")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the initial values if there are no --params")
	cmd.Flags().IntVar(&f.classes, "classes", 0, "number of classes, the network's by default")
	cmd.Flags().StringArrayVar(&f.shapes, "input-shape", nil,
		"shape of an input, as in 1,3,224,224 or data=1,3,224,224")
}

// network makes a network with parameters, and returns its inputs.
func (f *zooFlags) network(name string) (*gluon.Net, []zoo.Input, error) {
	entry, err := zoo.Find(name)
	if err != nil {
		return nil, nil, usageError{err}
	}
	inputs, err := f.inputs(entry)
	if err != nil {
		return nil, nil, err
	}
	var opts []zoo.Option
	if f.classes != 0 {
		opts = append(opts, zoo.Classes(f.classes))
	}
	net, err := entry.New(opts...)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if f.params != "" {
		err = net.Load(f.params)
	} else {
		err = net.Init(initializer.Xavier{}, gluon.Seed(f.seed))
	}
	return net, inputs, err
}

// inputs are the inputs of a network with the shapes of the flags.
func (f *zooFlags) inputs(entry zoo.Entry) ([]zoo.Input, error) {
	inputs := append([]zoo.Input{}, entry.Inputs...)
	var texts []string
	for _, text := range f.shapes {
		if !strings.Contains(text, "=") {
			text = inputs[0].Name + "=" + text
		}
		texts = append(texts, text)
	}
	shapes, err := parseShapes(texts)
	if err != nil {
		text := strings.Replace(err.Error(), "--shape", "--input-shape", 1)
		return nil, usageError{errors.New(text)}
	}
	for i := range inputs {
		if s, ok := shapes[inputs[i].Name]; ok {
			inputs[i].Shape = dtype.Shape(s)
			delete(shapes, inputs[i].Name)
		}
	}
	for name := range shapes {
		return nil, usageError{fmt.Errorf("--input-shape: %s has no input %q, there is %v",
			entry.Function, name, entry.Inputs[0].Name)}
	}
	return inputs, nil
}

func zooExportCommand() *cobra.Command {
	var f zooFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export NAME PREFIX",
		Short: "Write a network as PREFIX-symbol.json and PREFIX-0000.params",
		Long: `Write a network as MXNet's export does: the files PREFIX-symbol.json and PREFIX-0000.params,
with MXNet's names of parameters and operators. Without --params the parameters have random values.`,
		Example: "  gomx zoo export resnet18_v1 runs/resnet18\n" +
			"  gomx zoo export mobilenet_v2_1_0 runs/mobile --params mobilenetv2_1.0.params\n" +
			"  gomx zoo export vgg11 runs/vgg --classes 10 --seed 7 --input-shape 1,3,224,224",
		Args: exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			net, inputs, err := f.network(args[0])
			if err != nil {
				return err
			}
			opts := []gluon.ExportOption{gluon.GlobalNames("")}
			for _, in := range inputs {
				opts = append(opts, gluon.Input(in.Name, in.Shape...))
			}
			if err := net.Export(args[1], 0, opts...); err != nil {
				return err
			}
			out := exported{args[0], checkpoint.SymbolPath(args[1]),
				checkpoint.ParamsPath(args[1], 0), map[string][]int{}}
			for _, in := range inputs {
				out.Inputs[in.Name] = in.Shape
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", out.Symbol, out.Params)
			return err
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// exported says which files hold a network.
type exported struct {
	Network string           `json:"network"`
	Symbol  string           `json:"symbol"`
	Params  string           `json:"params"`
	Inputs  map[string][]int `json:"inputs"`
}

func zooSummaryCommand() *cobra.Command {
	var f zooFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "summary NAME",
		Short: "Print the blocks of a network with shapes, parameters and FLOPs",
		Long: `Print a table of the blocks of a network, with the shapes of their outputs, the numbers of
their parameters and the floating-point operations of one call.`,
		Example: "  gomx zoo summary resnet50_v2\n" +
			"  gomx zoo summary resnet18_v1 --input-shape 8,3,32,32",
		Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			net, inputs, err := f.network(args[0])
			if err != nil {
				return err
			}
			return summarize(cmd.OutOrStdout(), net, inputs, asJSON)
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// summarize writes the summary of a network.
func summarize(w io.Writer, net *gluon.Net, inputs []zoo.Input, asJSON bool) error {
	in := make([]*nd.Array, len(inputs))
	for i, x := range inputs {
		in[i] = nd.Zeros(x.Shape)
	}
	s, err := net.Summary(in...)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(w, s)
	}
	return s.WriteTable(w)
}
