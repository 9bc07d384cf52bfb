package compile

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gomx/graph"
	"gomx/op"
	"gomx/op/nn"
	"gomx/op/prim"
)

// Explanation lists the changes that compiling has made to a graph.
// `gomx inspect --explain` prints it, or writes it as JSON.
type Explanation struct {
	Train     bool `json:"train"`
	Composed  int  `json:"composed"`  // operators of the composed graph
	Operators int  `json:"operators"` // operators that run, the gradient included
	Reorders  int  `json:"reorders"`  // changes of layout among them
	// nodes among them that convert element types in every run; forms of parameters that are kept
	// between runs are not among them
	Casts  []string     `json:"casts,omitempty"`
	Passes []PassReport `json:"passes"` // in the order in which they ran

	// Library lists the operators that call a library, in the order in which they run.
	Library []LibraryUse `json:"library"`
}

// LibraryUse lists the implementations that a library has chosen for a node.
type LibraryUse struct {
	Node  string   `json:"node"`
	Op    string   `json:"op"`    // operator of the node
	Impls []string `json:"impls"` // in the order of the calls
}

// PassReport lists the changes of one pass. Passes that the options left out have no report.
type PassReport struct {
	Pass    string         `json:"pass"`    // name of the stage
	Reason  string         `json:"reason"`  // of the stage, as the table gives it
	Loose   bool           `json:"loose"`   // results agree up to rounding, not to the bit
	Changes []graph.Change `json:"changes"` // none where the pass found nothing to do
}

// converts are the operators that only convert element types.
var converts = map[*op.Op]bool{prim.Cast.Op: true, prim.AmpCast.Op: true,
	prim.AmpMultiCast.Op: true, prim.CastLike.Op: true, prim.Casts.Op: true}

// Explain lists the changes that compiling has made to the graph of p. Steps that are skipped do
// not count as operators that run.
func (p *Program) Explain() *Explanation {
	e := &Explanation{Train: p.Train, Composed: p.Composed}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Skip {
			continue
		}
		e.Operators++
		if s.Node.Op == nn.Reorder.Op {
			e.Reorders++
		}
		if converts[s.Node.Op] {
			e.Casts = append(e.Casts, s.Node.Name)
		}
		if len(s.Kernel.Impls) > 0 {
			e.Library = append(e.Library, LibraryUse{s.Node.Name, s.Node.Op.Name, s.Kernel.Impls})
		}
	}
	for _, a := range p.Applied {
		e.Passes = append(e.Passes, PassReport{Pass: a.Stage.Name, Reason: a.Stage.Reason,
			Loose: a.Stage.Loose, Changes: a.List})
	}
	return e
}

// String is the table of WriteTable, for logs and tests.
func (e *Explanation) String() string {
	var b strings.Builder
	_ = e.WriteTable(&b)
	return b.String()
}

// WriteTable writes a row for every change: pass, node, before, after; and a row for every node
// that calls a library. A pass that changed nothing has a row that says so, because a user looks
// for the reason why a fusion did not happen. The error is an error of w.
func (e *Explanation) WriteTable(w io.Writer) error {
	mode := "inference"
	if e.Train {
		mode = "training"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s: %d operators composed, %d run, %d change layouts\n", mode, e.Composed,
		e.Operators, e.Reorders)
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
