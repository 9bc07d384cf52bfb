package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/predict"
)

// runFlags are the flags of the command run.
type runFlags struct {
	inputs []string
	save   string
	folder string
	output string
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run MODEL.onnx",
		Short: "Compute the outputs of a model of ONNX for inputs from files",
		Long: `Compute the outputs of a model of ONNX for inputs from .npy and .npz files of NumPy.

Each --input is NAME=FILE.npy, FILE.npy for the only input of a model, or FILE.npz with arrays by
the names of inputs. Shapes that the model leaves open are those of the arrays. The command prints
the outputs, large ones abbreviated, or writes them to files.`,
		Example: "  gomx run resnet.onnx --input picture.npy\n" +
			"  gomx run silero_vad.onnx --input input=sound.npy --input state=state.npy " +
			"--input sr=rate.npy --save out.npz\n" +
			"  gomx run model.onnx --input inputs.npz --output-dir outputs",
		Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.inputs, "input", nil,
		"values of an input, NAME=FILE.npy, or of several inputs, FILE.npz")
	flags.StringVar(&f.save, "save", "",
		"file for the outputs: .npz, or .npy for a model of one output")
	flags.StringVar(&f.folder, "output-dir", "", "folder for a .npy file of each output")
	flags.StringVarP(&f.output, "output", "o", "text", "form of the output: text or json")
	return cmd
}

// run computes the outputs of the model at path, and prints them unless they go to files.
func (f *runFlags) run(ctx context.Context, out io.Writer, path string) error {
	switch {
	case f.output != "text" && f.output != "json":
		return usageError{fmt.Errorf("-o %q, want text or json", f.output)}
	case f.save != "" && formatOf(f.save) != ".npz" && formatOf(f.save) != ".npy":
		return usageError{fmt.Errorf("--save %s, want a name that ends in .npz or .npy", f.save)}
	}
	p, err := predict.LoadONNX(path)
	if err != nil {
		return err
	}
	defer p.Close()
	in := map[string]*nd.Array{}
	for _, text := range f.inputs {
		if err := readInput(text, p.Inputs(), in); err != nil {
			return err
		}
	}
	outs, err := p.Predict(ctx, in)
	if err != nil {
		return err
	}
	if f.save == "" && f.folder == "" {
		return printOutputs(out, outs, f.output)
	}
	var list []checkpoint.Named
	for _, o := range outs {
		list = append(list, checkpoint.Named{Name: o.Name, Array: o.Array})
	}
	return errors.Join(f.saveFile(list), f.saveFolder(list))
}

// readInput reads the arrays of a flag --input; names are the inputs of the model.
func readInput(text string, names []string, in map[string]*nd.Array) error {
	var list []checkpoint.Named
	name, file, named := strings.Cut(text, "=")
	if !named {
		name, file = "", text
	}
	switch {
	case formatOf(file) == ".npz" && !named:
		var err error
		if list, err = npy.LoadZip(file); err != nil {
			return err
		}
	case formatOf(file) != ".npy":
		return usageError{fmt.Errorf("--input %s, want NAME=FILE.npy, FILE.npy or FILE.npz", text)}
	case !named && len(names) != 1:
		return usageError{fmt.Errorf("--input %s without a name, want NAME=%s: the model has %d "+
			"inputs: %s", text, file, len(names), strings.Join(names, ", "))}
	default:
		if !named {
			name = names[0]
		}
		a, err := npy.Load(file)
		if err != nil {
			return err
		}
		list = []checkpoint.Named{{Name: name, Array: a}}
	}
	for _, a := range list {
		if in[a.Name] != nil {
			return usageError{fmt.Errorf("--input gives %q twice", a.Name)}
		}
		in[a.Name] = a.Array
	}
	return nil
}

// outputRow is an output in JSON.
type outputRow struct {
	Name   string    `json:"name"`
	DType  string    `json:"dtype"`
	Shape  []int     `json:"shape"`
	Values []float64 `json:"values"` // row-major
}

// printOutputs prints outputs as text, or as JSON with all values.
func printOutputs(out io.Writer, outs []predict.Output, form string) error {
	rows := []outputRow{}
	for _, o := range outs {
		if form == "text" {
			fmt.Fprintf(out, "%s: %v %v\n%v\n", o.Name, o.Type, o.Shape, o.Array)
			continue
		}
		values, err := nd.Values[float64](nd.Cast(o.Array, nd.CastParams{DType: dtype.Float64}))
		if err != nil {
			return err
		}
		rows = append(rows, outputRow{o.Name, o.Type.String(), append([]int{}, o.Shape...), values})
	}
	if form == "text" {
		return nil
	}
	return json.NewEncoder(out).Encode(rows)
}

// saveFile writes the outputs to the file of --save.
func (f *runFlags) saveFile(list []checkpoint.Named) error {
	switch {
	case f.save == "":
		return nil
	case formatOf(f.save) == ".npz":
		return npy.SaveZip(f.save, list)
	case len(list) != 1:
		return fmt.Errorf("--save %s: the model has %d outputs, want .npz", f.save, len(list))
	}
	return npy.Save(f.save, list[0].Array)
}

// saveFolder writes a .npy file of each output to the folder of --output-dir. Characters of names
// that have a meaning in paths become underscores.
func (f *runFlags) saveFolder(list []checkpoint.Named) error {
	if f.folder == "" {
		return nil
	}
	if err := os.MkdirAll(f.folder, 0o755); err != nil {
		return err
	}
	seen := map[string]string{}
	for _, a := range list {
		file := strings.NewReplacer("/", "_", `\`, "_", ":", "_").Replace(a.Name) + ".npy"
		if other, ok := seen[file]; ok {
			return fmt.Errorf("--output-dir: outputs %q and %q have the same file %s, want --save",
				other, a.Name, file)
		}
		seen[file] = a.Name
		if err := npy.Save(filepath.Join(f.folder, file), a.Array); err != nil {
			return err
		}
	}
	return nil
}
