package symbol

import (
	"strconv"
	"strings"
	"sync"

	"gomx/op"
)

// naming guards the names of nodes made without one. They are named when somebody first asks, in
// topological order and after their operator (convolution0, activation0), so that the same
// program always gives the same names and no counter outlives a graph.
var naming sync.Mutex

// nameNodes names the nodes without a name in the graph of outputs: an operator after its kind and
// a counter, a variable made for an operator after that operator. Names inside a loop begin with
// the name of the loop, because weights made there are variables outside as well.
func nameNodes(outputs []op.Entry) {
	naming.Lock()
	defer naming.Unlock()
	nameGraph(op.Topo(outputs), "")
}

// nameGraph names the nodes of one graph. Names that it makes begin with prefix.
func nameGraph(nodes []*op.Node, prefix string) {
	taken, missing := map[string]bool{}, false
	for _, n := range nodes {
		taken[n.Name] = true
		missing = missing || n.Name == "" || !n.IsVar() && n.Op.NumGraphs() > 0
	}
	if !missing {
		return
	}
	next := map[string]int{}
	for _, n := range nodes {
		if n.IsVar() || n.Name != "" {
			continue
		}
		hint := prefix + strings.ToLower(strings.TrimLeft(n.Op.Name, "_"))
		for {
			name := hint + strconv.Itoa(next[hint])
			next[hint]++
			if !taken[name] {
				n.Name, taken[name] = name, true
				break
			}
		}
	}
	for _, n := range nodes {
		if n.IsVar() {
			continue
		}
		for _, g := range n.Op.Graphs(n.Params) {
			nameGraph(g.Nodes(), n.Name+"_")
		}
		for k, in := range n.Op.Inputs(n.Params) {
			if v := n.In[k].Node; v.Name == "" {
				v.Name = n.Name + "_" + in.Name
			}
		}
	}
}
