package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gomx/dtype"
	"gomx/op"
	"gomx/symbol"
)

// graphFlags are the flags of the command inspect for tables and drawings of a symbol.
type graphFlags struct {
	shapes      []string
	train       bool
	summary     bool
	explain     bool
	svg, memory string
	output      string
}

func (f *graphFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.shapes, "shape", nil,
		"shape of an input of the graph, as in data=1,3,224,224")
	flags.BoolVar(&f.train, "train", false,
		"use the graph of training for --explain and --memory, not the graph of inference")
	flags.BoolVar(&f.summary, "summary", false,
		"print a table of layers with output shapes, numbers of parameters and FLOPs")
	flags.BoolVar(&f.explain, "explain", false,
		"print the changes that each pass makes to the graph")
	flags.StringVar(&f.svg, "svg", "", "file for a drawing of the graph, .svg")
	flags.StringVar(&f.memory, "memory", "", "file for a drawing of the memory plan, .svg")
}

// any reports whether a flag asks for a table or a drawing.
func (f *graphFlags) any() bool { return f.summary || f.explain || f.svg != "" || f.memory != "" }

// run writes the tables and drawings that the flags ask for; path is the symbol's file.
func (f *graphFlags) run(out io.Writer, path string) error {
	shapes, err := parseShapes(f.shapes)
	if err != nil {
		return usageError{err}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s, err := symbol.Load(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if f.summary {
		sum, err := symbol.Summarize(s, shapes)
		if err != nil {
			return err
		}
		if err := f.write(out, sum, sum.WriteTable); err != nil {
			return err
		}
	}
	if f.svg != "" {
		g, err := pictureOf(s, shapes, path)
		if err != nil {
			return err
		}
		if err := toFile(f.svg, g.WriteSVG); err != nil {
			return err
		}
	}
	if f.explain || f.memory != "" {
		return f.compiled(out, s, shapes)
	}
	return nil
}

// compiled binds the symbol, explains the passes and draws the memory plan, as the flags ask.
func (f *graphFlags) compiled(out io.Writer, s *symbol.Symbol,
	shapes map[string]dtype.Shape) error {
	c := symbol.BindConfig{Shapes: shapes, DefaultReq: op.ReqNull}
	if f.train {
		c.DefaultReq = op.ReqWrite
		c.GradReq = map[string]op.Req{}
		for name := range shapes {
			c.GradReq[name] = op.ReqNull
		}
	}
	ex, err := s.SimpleBind(c)
	if err != nil {
		return err
	}
	defer ex.Close()
	if f.explain {
		e, err := ex.Explain(f.train)
		if err != nil {
			return err
		}
		if err := f.write(out, e, e.WriteTable); err != nil {
			return err
		}
	}
	if f.memory == "" {
		return nil
	}
	m, err := ex.MemoryPlan(f.train)
	if err != nil {
		return err
	}
	return toFile(f.memory, m.WriteSVG)
}

// write prints v with table, or as JSON with -o json.
func (f *graphFlags) write(out io.Writer, v any, table func(io.Writer) error) error {
	if f.output != "json" {
		return table(out)
	}
	return writeJSON(out, v)
}

// toFile creates the file at path and fills it with write.
func toFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

// parseShapes parses the values of --shape, each of the form name=1,2,3.
func parseShapes(list []string) (map[string]dtype.Shape, error) {
	shapes := map[string]dtype.Shape{}
	for _, text := range list {
		name, dims, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("--shape %q, want name=1,2,3", text)}
		}
		shape := dtype.Shape{}
		if dims == "()" { // of a scalar
			shapes[name] = shape
			continue
		}
		for d := range strings.SplitSeq(strings.Trim(dims, "()"), ",") {
			v, err := strconv.Atoi(strings.TrimSpace(d))
			if err != nil || v < 0 {
				return nil, usageError{fmt.Errorf("--shape %q: found extent %q, want a whole number",
					text, d)}
			}
			shape = append(shape, v)
		}
		shapes[name] = shape
	}
	return shapes, nil
}
