package symbol

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gomx/graph"
	"gomx/op/nn"
)

// Explanation says what compiling the graph of one mode did to it.
type Explanation struct {
	Train     bool         `json:"train"`
	Composed  int          `json:"composed"`  // operators of the symbol
	Operators int          `json:"operators"` // operators that run, those of the gradient included
	Reorders  int          `json:"reorders"`  // changes of layout among them
	Passes    []PassReport `json:"passes"`    // in the order in which they ran
	Library   []LibraryUse `json:"library"`   // operators that call a library, in the order in which they run
}

// LibraryUse says which of its implementations a library has chosen for a node.
type LibraryUse struct {
	Node  string   `json:"node"`
	Op    string   `json:"op"`
	Impls []string `json:"impls"` // in the order of the calls
}

// PassReport says what one pass did.
type PassReport struct {
	Pass    string         `json:"pass"`
	Reason  string         `json:"reason"`
	Loose   bool           `json:"loose"` // results agree up to rounding, not to the bit
	Changes []graph.Change `json:"changes"`
}

// Explain binds s and says what the passes did to its graph for training or inference.
func Explain(s *Symbol, c BindConfig, train bool) (*Explanation, error) {
	ex, err := s.SimpleBind(c)
	if err != nil {
		return nil, err
	}
	defer ex.Close()
	return ex.Explain(train)
}

// Explain says what the passes did to the graph of a mode, which is compiled if it has not been.
func (ex *Executor) Explain(train bool) (*Explanation, error) {
	b, err := ex.program(train)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Train: train}
	for _, n := range ex.symbol.Nodes() {
		if !n.IsVar() {
			e.Composed++
		}
	}
	for i := range b.p.steps {
		s := &b.p.steps[i]
		if s.skip {
			continue
		}
		e.Operators++
		if s.node.Op == nn.Reorder.Op {
			e.Reorders++
		}
		if len(s.kernel.Impls) > 0 {
			e.Library = append(e.Library, LibraryUse{s.node.Name, s.node.Op.Name, s.kernel.Impls})
		}
	}
	for _, a := range b.p.applied {
		e.Passes = append(e.Passes, PassReport{Pass: a.Pass.Name, Reason: a.Pass.Reason, Loose: a.Pass.Loose, Changes: a.List})
	}
	return e, nil
}

// String is the table of WriteTable.
func (e *Explanation) String() string {
	var b strings.Builder
	_ = e.WriteTable(&b)
	return b.String()
}

// WriteTable writes a row for every change: the pass, the node, what it was and what it became; and a row for every node that
// calls a library.
func (e *Explanation) WriteTable(w io.Writer) error {
	mode := "inference"
	if e.Train {
		mode = "training"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s: %d operators composed, %d run, %d change layouts\n", mode, e.Composed, e.Operators, e.Reorders)
	fmt.Fprintf(t, "pass\tnode\tbefore\tafter\n")
	for _, p := range e.Passes {
		if len(p.Changes) == 0 {
			fmt.Fprintf(t, "%s\tnothing\t\t\n", p.Pass)
		}
		for _, c := range p.Changes {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Pass, c.Node, c.Before, c.After)
		}
	}
	if len(e.Library) > 0 {
		fmt.Fprintf(t, "\nkernels of the library\n")
		fmt.Fprintf(t, "node\toperator\timplementations\n")
	}
	for _, u := range e.Library {
		fmt.Fprintf(t, "%s\t%s\t%s\n", u.Node, u.Op, strings.Join(u.Impls, " "))
	}
	return t.Flush()
}
