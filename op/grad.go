package op

// Grad is the argument of an operator's gradient function: the node that it differentiates and the
// gradients that flow into the node's outputs.
type Grad struct {
	Node    *Node
	OutGrad []Entry // per output; the zero Entry where none flows
	Need    []bool  // per input: whether its gradient is wanted
}

// In returns input i of the node.
func (g *Grad) In(i int) Entry { return g.Node.In[i] }

// Stored returns the storage type of input i as far as it is known when the gradient is built.
func (g *Grad) Stored(i int) Storage {
	if i < len(g.Node.Storage) {
		return g.Node.Storage[i]
	}
	return Dense
}

// Out returns output i of the node.
func (g *Grad) Out(i int) Entry { return Entry{g.Node, i} }

// Head returns the gradient flowing into output i, zeros where none flows.
func (g *Grad) Head(i int) Entry {
	if g.OutGrad[i].Valid() {
		return g.OutGrad[i]
	}
	n, err := NewNode(Lookup("zeros_like"), g.Node.Name+"_zeros", nil, g.Out(i))
	if err != nil {
		panic(err)
	}
	return n.Entry(0)
}

// Each spreads the outputs of a backward node over the inputs: output i is the gradient of
// input i.
func (g *Grad) Each(n *Node) []Entry {
	in := make([]Entry, len(g.Node.In))
	for i := range min(len(in), n.NumOutputs()) {
		in[i] = n.Entry(i)
	}
	return in
}

// Gradient returns the gradients of n's inputs as new nodes named after n; err names an operator
// that is not differentiable.
func Gradient(n *Node, outGrad []Entry, need []bool) ([]Entry, error) {
	if n.Op.grad == nil && n.Grad == nil {
		return nil, &Error{Op: n.Op.Name, Node: n.Name, Site: n.Site, Msg: "has no gradient: " +
			n.Op.NoGrad}
	}
	g := &Grad{Node: n, OutGrad: outGrad, Need: need}
	var in []Entry
	if n.Grad != nil {
		in = n.Grad(g)
	} else {
		in = n.Op.grad(g, n.Params)
	}
	if len(in) != len(n.In) {
		return nil, &Error{Op: n.Op.Name, Node: n.Name,
			Msg: "its gradient function returned a wrong number of entries"}
	}
	nameBackward(n, in)
	return in, nil
}

// nameBackward names the unnamed nodes between the gradients and the forward graph, so that
// errors and pictures show which layer they belong to.
func nameBackward(fwd *Node, grads []Entry) {
	var walk func(n *Node)
	walk = func(n *Node) {
		if n == nil || n.Name != "" {
			return
		}
		n.Name, n.Site = fwd.Name+"_backward", fwd.Site
		for _, e := range n.In {
			walk(e.Node)
		}
	}
	for _, e := range grads {
		walk(e.Node)
	}
}
