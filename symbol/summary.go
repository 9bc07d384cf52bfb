package symbol

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gomx/dtype"
	"gomx/op"
)

// Summary is a table of a network: a row for every operator, and its inputs of data.
type Summary struct {
	Rows       []SummaryRow `json:"rows"`
	Parameters int64        `json:"parameters"` // learned numbers, each variable once
	States     int64        `json:"states"`     // numbers in auxiliary states
	// of one inference; a multiplication with an addition counts as two
	FLOPs int64 `json:"flops"`
	Bytes int64 `json:"bytes"` // of all results
}

// SummaryRow describes one node.
type SummaryRow struct {
	Name       string      `json:"name"`
	Op         string      `json:"op"` // empty for data
	Output     dtype.Shape `json:"output"`
	Type       dtype.Type  `json:"-"`
	Parameters int64       `json:"parameters"`
	FLOPs      int64       `json:"flops"`
	Previous   []string    `json:"previous"` // names of the nodes whose results it reads
}

// Summarize describes s for inputs of some shapes.
func Summarize(s *Symbol, shapes map[string]dtype.Shape) (*Summary, error) {
	r, err := s.infer(shapes, nil)
	if err != nil {
		return nil, err
	}
	sum := &Summary{}
	params := s.learned()
	counted := map[*op.Node]bool{}
	for i, n := range r.Graph.Nodes {
		if params[n] {
			continue
		}
		e, to := r.Graph.Out(i)
		row := SummaryRow{Name: n.Name, Output: r.Shapes[e], Type: r.Types[e]}
		if !n.IsVar() {
			row.Op = n.Op.Name
			in, out := make([]op.Desc, len(n.In)), make([]op.Desc, to-e)
			for k, entry := range n.In {
				in[k] = r.Desc(r.Graph.Entry(entry))
			}
			for k := range out {
				out[k] = r.Desc(e + k)
				sum.Bytes += int64(out[k].Bytes)
			}
			row.FLOPs = n.Op.Cost(n.Params, in, out).FLOPs
		}
		for _, in := range n.In {
			v := in.Node
			if !params[v] {
				row.Previous = append(row.Previous, v.Name)
				continue
			}
			shape := r.Shapes[r.Graph.Entry(in)]
			if !shape.Known() {
				return nil, fmt.Errorf("symbol: the shape %v of %s is not known: give the "+
					"shapes of the data", shape, v.Name)
			}
			if counted[v] {
				continue
			}
			counted[v] = true
			if s.isAux(v) {
				sum.States += int64(shape.Size())
			} else {
				row.Parameters += int64(shape.Size())
			}
		}
		sum.Parameters += row.Parameters
		sum.FLOPs += row.FLOPs
		sum.Rows = append(sum.Rows, row)
	}
	return sum, nil
}

// learned returns the variables that are not data: those in the role of parameters, states or
// labels, and the ones named like parameters.
func (s *Symbol) learned() map[*op.Node]bool {
	set := map[*op.Node]bool{}
	for _, n := range s.Nodes() {
		if n.IsVar() {
			continue
		}
		for k, in := range n.Op.Inputs(n.Params) {
			v := n.In[k].Node
			if v.IsVar() && (in.Role == op.Param || in.Role == op.Aux ||
				namedLikeParameter(v.Name)) {
				set[v] = true
			}
		}
	}
	return set
}

func namedLikeParameter(name string) bool {
	for _, end := range []string{"weight", "bias", "gamma", "beta", "parameters"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

func (s *Symbol) isAux(v *op.Node) bool {
	_, aux := s.variables()
	for _, a := range aux {
		if a == v {
			return true
		}
	}
	return false
}

// PrintSummary writes the table of s for inputs of some shapes.
func PrintSummary(w io.Writer, s *Symbol, shapes map[string]dtype.Shape) error {
	sum, err := Summarize(s, shapes)
	if err != nil {
		return err
	}
	return sum.WriteTable(w)
}

// WriteTable writes a line for every row and the totals below.
func (s *Summary) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "layer\toperator\toutput\tparameters\tFLOPs\tafter\n")
	for _, r := range s.Rows {
		name := r.Op
		if name == "" {
			name = "(data)"
		}
		after := strings.Join(r.Previous, ", ")
		if after == "" {
			after = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%v\t%s\t%s\t%s\n", r.Name, name, r.Output, count(r.Parameters),
			count(r.FLOPs), after)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d parameters, %d in states, %d FLOPs, %d bytes of results\n",
		s.Parameters, s.States, s.FLOPs, s.Bytes)
	return err
}

// count writes a number; none is a dash.
func count(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
