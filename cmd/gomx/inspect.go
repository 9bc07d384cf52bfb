package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gomx/checkpoint"
	"gomx/checkpoint/safetensors"
	"gomx/interop/onnx"
	"gomx/symbol"
)

func inspectCommand() *cobra.Command {
	var output string
	var graph graphFlags
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "List the contents of a file of arrays or a model, explain and draw a symbol",
		Long: `List the arrays of a .params, .npz, .npy or .safetensors file, the nodes of a
-symbol.json file, or the inputs, outputs, operators and parameters of an .onnx file.

With --summary, --explain, --svg or --memory, FILE is a symbol, and the command prints its layers,
prints the changes that passes make to its graph, draws the graph, or draws the plan of its memory.
These need the shapes of the inputs: give each with --shape.`,
		Example: "  gomx inspect lenet-0001.params\n  gomx inspect lenet-symbol.json -o json\n" +
			"  gomx inspect resnet.onnx\n" +
			"  gomx inspect lenet-symbol.json --shape data=1,1,28,28 --summary --svg lenet.svg " +
			"--memory plan.svg --train --explain",
		Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("-o %q, want text or json", output)}
			}
			if graph.output = output; graph.any() {
				return graph.run(cmd.OutOrStdout(), args[0])
			}
			if formatOf(args[0]) == ".onnx" {
				return inspectONNX(cmd.OutOrStdout(), args[0], output)
			}
			rows, err := inspect(args[0])
			if err != nil {
				return err
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), rows)
			}
			return table(cmd.OutOrStdout(), rows)
		},
	}
	graph.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "form of the output: text or json")
	jsonFlag(cmd, &output)
	return cmd
}

// row is one array of a .params file or one node of a symbol.
type row struct {
	Name  string            `json:"name"`
	Kind  string            `json:"kind"` // storage type of an array, operator of a node
	DType string            `json:"dtype,omitempty"`
	Shape []int             `json:"shape,omitempty"`
	Bytes int               `json:"bytes,omitempty"`
	In    []string          `json:"inputs,omitempty"`
	Attrs map[string]string `json:"attrs,omitempty"`
}

// inspect lists the contents of a file. The names of files of NumPy and Hugging Face tell their
// formats. Of the others, a file that begins with a brace or white space is read as a
// symbol, any other as parameters.
func inspect(path string) ([]row, error) {
	switch formatOf(path) {
	case ".npy":
		return inspectNpy(path)
	case ".npz", ".safetensors", safetensors.IndexSuffix:
		return inspectArrays(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	first := make([]byte, 1)
	_, err = io.ReadFull(f, first)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if strings.ContainsAny(string(first), "{ \n\t") {
		return inspectSymbol(path)
	}
	return inspectParams(path)
}

func inspectParams(path string) ([]row, error) {
	list, _, err := checkpoint.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(list))
	for i, r := range list {
		rows[i] = row{Name: r.Name, Kind: r.Stype.String(), DType: r.DType.String(), Shape: r.Shape,
			Bytes: len(r.Data)}
	}
	return rows, nil
}

func inspectSymbol(path string) ([]row, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := symbol.Load(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	attrs := s.AttrDict()
	var rows []row
	for _, n := range s.Nodes() {
		r := row{Name: n.Name, Kind: "variable", Attrs: attrs[n.Name]}
		if !n.IsVar() {
			r.Kind = n.Op.Name
		}
		for _, e := range n.In {
			r.In = append(r.In, e.String())
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// inspectONNX describes a model of ONNX.
func inspectONNX(out io.Writer, path, form string) error {
	f, err := onnx.Open(path)
	if err != nil {
		return err
	}
	about := f.About()
	if form == "json" {
		return writeJSON(out, about)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "producer\t%s\n", about.Producer)
	for _, domain := range slices.Sorted(maps.Keys(about.Opsets)) {
		fmt.Fprintf(w, "operator set\t%s\t%d\n", domain, about.Opsets[domain])
	}
	for _, name := range slices.Sorted(maps.Keys(about.Metadata)) {
		fmt.Fprintf(w, "metadata\t%s\t%s\n", name, short(about.Metadata[name]))
	}
	for _, list := range []struct {
		kind  string
		ports []onnx.Port
	}{{"input", about.Inputs}, {"output", about.Outputs}} {
		for _, p := range list.ports {
			dims := "any shape"
			if !p.Open {
				dims = "(" + strings.Join(p.Dims, ", ") + ")"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", list.kind, p.Name, p.Type, dims)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(about.Operators)) {
		fmt.Fprintf(w, "operator\t%s\t%d\n", name, about.Operators[name])
	}
	total := int64(0)
	for _, p := range about.Parameters {
		total += p.Bytes
		fmt.Fprintf(w, "parameter\t%s\t%s\t%v\t%d bytes\n", p.Name, p.Type, p.Shape, p.Bytes)
	}
	fmt.Fprintf(w, "%d parameters, %d bytes\n", len(about.Parameters), total)
	return w.Flush()
}

// short returns a text as one quoted line of at most 60 characters, and says how many it has.
func short(text string) string {
	r := []rune(text)
	if len(r) <= 60 {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%q… of %d characters", string(r[:50]), len(r))
}

// table prints rows in columns.
func table(out io.Writer, rows []row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	total := 0
	for _, r := range rows {
		total += r.Bytes
		if r.DType != "" {
			fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%d bytes\n", r.Name, r.Kind, r.DType, r.Shape, r.Bytes)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, r.Kind, strings.Join(r.In, " "),
			attrText(r.Attrs))
	}
	fmt.Fprintf(w, "%d entries", len(rows))
	if total > 0 {
		fmt.Fprintf(w, ", %d bytes", total)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func attrText(attrs map[string]string) string {
	var parts []string
	for k, v := range attrs {
		parts = append(parts, k+"="+v)
	}
	sort.Strings(parts)
	return strings.Join(parts, " ")
}
