package graph

import (
	"maps"
	"slices"

	"gomx/device"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loss"
	"gomx/op/prim"
)

// Mixed says how a graph computes with two floating-point types, of which float32 is one.
//
// Operators that are mostly products compute in the narrow type. Operators that lose accuracy in it
// or leave its range compute in float32. All others compute in the type of their inputs, and in
// float32 if the types of their inputs differ. Parameters stay float32: the graph converts them
// where they are read, and converts their gradients back.
type Mixed struct {
	Type dtype.Type // the narrow type: Float16 or BFloat16
	// Factor and Inverse are variables of shape (1). The graph multiplies gradients by Factor where
	// they begin, and the gradients of variables by Inverse, which is 1/Factor. If both are zero
	// Entries, gradients are not scaled.
	Factor, Inverse op.Entry
	Learned         func(v *op.Node) bool // reports whether the gradient of variable v is wanted
	// Inside says that Inner operators compute in float32 with bfloat16 operands, as processors do.
	Inside bool
	// Wide are the classes of products that compute in float32 although Type is bfloat16, if Inside
	// is set.
	Wide device.Products
	// Kept says that parameters in the narrow type are kept between runs, as inference does.
	Kept bool
	// Together says that GPUs convert all parameters at once, and all gradients at once, because
	// nothing outside waits for single ones.
	Together bool
}

// MixPrecision rewrites a graph without gradient that computes in float32.
func MixPrecision(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	if f.Mixed == nil {
		return outs, 0
	}
	r, order := newRewriter(outs, f)
	m := &mixer{rewriter: r, Mixed: f.Mixed, forms: map[form]op.Entry{}}
	for _, n := range order {
		if n.IsVar() {
			m.keep(n, nil)
		} else {
			m.visit(n)
		}
	}
	list := m.now(outs)
	for i, e := range outs {
		list[i] = m.convert(list[i], f.Types[e], nil, false)
		if m.scales() && !isHead(e.Node) && list[i].Node.Op != loss.BlockGrad.Op &&
			f.Types[e] == dtype.Float32 {
			list[i] = m.scaled(list[i], m.Factor, nil)
		}
	}
	return list, m.changes
}

// mixer is the state of MixPrecision.
type mixer struct {
	*rewriter
	*Mixed
	forms map[form]op.Entry // entries made, by form
}

// form describes an entry made from another one for the readers in a group: the same value in
// another element type, or the same value with a scaled gradient.
type form struct {
	of     op.Entry   // the original entry
	to     dtype.Type // element type of the form
	factor op.Entry   // multiplies the gradient; zero Entry: the form does not scale it
	group  string     // group of the node that makes the form
	kept   bool       // the executor keeps the form between runs
}

func (m *mixer) scales() bool { return m.Factor.Valid() }

// isHead reports whether a node is a loss that makes its own gradient.
func isHead(n *op.Node) bool { return n.Op != nil && n.Op.Head }

// visit writes n with inputs of the types that it shall have.
func (m *mixer) visit(n *op.Node) {
	in := m.now(n.In)
	for k, e := range in {
		if m.scales() && e.Node.IsVar() && !n.Mutates(k) && m.facts.Types[e] == dtype.Float32 &&
			m.Learned(e.Node) {
			in[k] = m.scaled(e, m.Inverse, n)
		}
	}
	in, types := m.choose(n, in)
	if m.scales() && (isHead(n) || n.Op == loss.SparseReg.Op) {
		in[0] = m.scaled(in[0], m.Factor, n)
	}
	c := m.keep(n, in)
	for i, t := range types {
		m.facts.Types[c.Entry(i)] = t
	}
	if m.scales() && n.Op == loss.SparseReg.Op { // it adds to the gradient that flows through it
		m.made[n.Entry(0)] = m.scaled(c.Entry(0), m.Inverse, n)
	}
}

// choose returns the inputs of n in the types that it shall compute with, and the types of its
// outputs.
func (m *mixer) choose(n *op.Node, in []op.Entry) ([]op.Entry, []dtype.Type) {
	narrow, wide := false, false
	for k, e := range in {
		if !n.Mutates(k) {
			narrow = narrow || m.facts.Types[e] == m.Type
			wide = wide || m.facts.Types[e] == dtype.Float32
		}
	}
	precision := n.Op.PrecisionOf(n.Params)
	if precision == op.Narrow && (narrow || wide) && m.narrows(n, in) {
		list := m.convertAll(n, in, dtype.Float32, m.Type)
		if types, ok := m.types(n, list); ok {
			return list, types
		}
	}
	if precision == op.Inner && m.inside() && m.facts.Types[in[0]] == m.Type {
		list := m.convertParams(n, in)
		if types, ok := m.types(n, list); ok {
			return list, types
		}
	}
	if combines[n.Op] && narrow && wide && m.inside() {
		if list, ok := m.narrowed(n, in); ok {
			if types, ok := m.types(n, list); ok {
				return list, types
			}
		}
	}
	if precision == op.AnyPrecision && narrow {
		if types, ok := m.types(n, in); ok {
			return in, types
		}
	}
	if narrow {
		in = m.convertAll(n, in, m.Type, dtype.Float32)
	}
	types, _ := m.types(n, in)
	return in, types
}

// narrows reports whether a product computes in the narrow type. A depthwise convolution, which does
// little with each number, does so only where its data have that type.
func (m *mixer) narrows(n *op.Node, in []op.Entry) bool {
	if !m.inside() {
		return true
	}
	shapes := make([]dtype.Shape, len(n.In))
	for k, e := range n.In {
		if shapes[k] = m.facts.Shapes[e]; !shapes[k].Known() || len(shapes[k]) == 0 {
			return true
		}
	}
	p := n.Op.ProductOf(n.Params, shapes)
	return !m.Wide.Has(p) && (p != device.Depthwise || m.facts.Types[in[0]] == m.Type)
}

// inside reports whether operators between products may keep to bfloat16.
func (m *mixer) inside() bool { return m.Inside && m.Type == dtype.BFloat16 }

// combines are the operators of two terms or factors that keep to the narrow type where float32 is
// little of what they read.
var combines = map[*op.Op]bool{prim.ElemwiseAdd.Op: true, prim.BroadcastAdd.Op: true,
	prim.BroadcastSub.Op: true, prim.BroadcastMul.Op: true}

// narrowed returns the inputs of n in the narrow type, if that takes no large conversion: if every
// float32 input exists in the narrow type already, because other operators read it so, or is
// smaller than the output, such as a mask, which all layers share.
func (m *mixer) narrowed(n *op.Node, in []op.Entry) ([]op.Entry, bool) {
	list, out := slices.Clone(in), m.facts.Shapes[n.Entry(0)]
	for k, e := range in {
		if m.facts.Types[e] != dtype.Float32 {
			continue
		}
		_, exists := m.forms[form{of: e, to: m.Type, group: groupFor(e, n)}]
		shape := m.facts.Shapes[e]
		small := out.Known() && shape.Known() && shape.Size() < out.Size()
		if e.Node.IsVar() || !exists && !small {
			return nil, false
		}
		list[k] = m.convert(e, m.Type, n, false)
	}
	return list, true
}

// convertParams converts the parameters of n that are float32 to the narrow type.
func (m *mixer) convertParams(n *op.Node, in []op.Entry) []op.Entry {
	list, args := slices.Clone(in), n.Op.Inputs(n.Params)
	for k, e := range in {
		if k < len(args) && args[k].Role == op.Param && m.facts.Types[e] == dtype.Float32 &&
			!n.Mutates(k) {
			list[k] = m.convert(e, m.Type, n, m.Kept)
		}
	}
	return list
}

// types infers the types of n's outputs; ok is false when it does not take the inputs.
func (m *mixer) types(n *op.Node, in []op.Entry) ([]dtype.Type, bool) {
	given, out := make([]dtype.Type, len(in)), make([]dtype.Type, n.NumOutputs())
	for k, e := range in {
		given[k] = dtype.Unknown
		if t, ok := m.facts.Types[e]; ok {
			given[k] = t
		}
	}
	for i := range out {
		out[i] = dtype.Unknown
	}
	want := slices.Clone(given)
	if err := n.Op.InferType(n.Params, given, out); err != nil || !slices.Equal(given, want) ||
		slices.Contains(out, dtype.Unknown) {
		return nil, false
	}
	return out, true
}

// convertAll converts the inputs of n that have one type to another. States that n changes stay as
// they are.
func (m *mixer) convertAll(n *op.Node, in []op.Entry, from, to dtype.Type) []op.Entry {
	list, args := slices.Clone(in), n.Op.Inputs(n.Params)
	for k, e := range in {
		if m.facts.Types[e] == from && !n.Mutates(k) {
			list[k] = m.convert(e, to, n, m.Kept && k < len(args) && args[k].Role == op.Param)
		}
	}
	return list
}

// convert returns e in another type, for n to read; keep says that it is a parameter.
func (m *mixer) convert(e op.Entry, to dtype.Type, n *op.Node, keep bool) op.Entry {
	if t, ok := m.facts.Types[e]; !ok || t == to {
		return e
	}
	cast := prim.Cast
	if keep && e.Node.IsVar() {
		cast = prim.KeptCast
	}
	return m.form(form{of: e, to: to, group: groupFor(e, n), kept: cast == prim.KeptCast},
		func() *op.Node {
			return cast.Node(prim.CastParams{DType: to}, e)
		}, e.Node.Name+"_"+to.String())
}

// scaled returns e with a gradient that is multiplied by factor.
func (m *mixer) scaled(e, factor op.Entry, n *op.Node) op.Entry {
	return m.form(form{of: e, to: m.facts.Types[e], factor: factor, group: groupFor(e, n)},
		func() *op.Node {
			return prim.ScaleGradient.Node(op.NoParams{}, e, factor)
		}, e.Node.Name+"_scaled")
}

// form makes a node for a form of an entry, unless there is one.
func (m *mixer) form(f form, node func() *op.Node, name string) op.Entry {
	if e, ok := m.forms[f]; ok {
		return e
	}
	n := node()
	n.Name, n.Site = name, f.of.Node.Site
	if f.group != "" {
		n.Attrs = map[string]string{GroupAttr: f.group}
		maps.Copy(n.Attrs, f.of.Node.Attrs)
		n.Attrs[GroupAttr] = f.group
	}
	e := n.Entry(0)
	m.facts.copy(e, f.of)
	m.facts.Types[e] = f.to
	m.forms[f] = e
	m.changes++
	m.facts.note(Change{Node: name, Before: f.of.String(), After: n.Op.Name})
	return e
}

// groupFor returns the group of a node between e and its reader n: the group of the operator that
// computes e, or the group of n if e is a variable.
func groupFor(e op.Entry, n *op.Node) string {
	if n != nil && e.Node.IsVar() {
		return Group(n)
	}
	return Group(e.Node)
}

// KeepCasts lets GPUs keep learned parameters in the narrow type between runs, so that they are
// converted once for each version and not in every step.
func KeepCasts(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	if f.Mixed == nil {
		return outs, 0
	}
	r, order := newRewriter(outs, f)
	params := parameters(order)
	b := &castBundles{rewriter: r, of: map[bundleKey][]*op.Node{}}
	for _, n := range order {
		if b.converts(n, f.Mixed.Type) && !r.outs[n.Entry(0)] && params[n.Entry(0)] &&
			n.In[0].Node.IsVar() && f.Mixed.Learned(n.In[0].Node) {
			b.add(n)
		}
	}
	for _, key := range b.keys {
		list := b.of[key]
		if f.Mixed.Together && len(list) > 1 {
			b.join(prim.KeptCasts, key)
			continue
		}
		for _, n := range list {
			m := prim.KeptCast.Node(prim.CastParams{DType: key.to}, n.In[0])
			m.Name, m.Attrs, m.Site = n.Name, n.Attrs, n.Site
			b.replace(n, m.Entry(0))
		}
	}
	for _, n := range order {
		if r.nodes[n] == nil {
			r.keep(n, r.now(n.In))
		}
	}
	return r.now(outs), r.changes
}

// parameters returns the entries that operators read as parameters.
func parameters(order []*op.Node) map[op.Entry]bool {
	set := map[op.Entry]bool{}
	for _, n := range order {
		if n.IsVar() {
			continue
		}
		args := n.Op.Inputs(n.Params)
		for k, e := range n.In {
			if k < len(args) && args[k].Role == op.Param {
				set[e] = true
			}
		}
	}
	return set
}

// JoinCasts makes one operator of the conversions to float32 with which the gradients of a GPU's
// parameters end, where conversions are made together.
func JoinCasts(outs []op.Entry, f *Facts) ([]op.Entry, int) {
	if f.Mixed == nil || !f.Mixed.Together || f.Forward == 0 {
		return outs, 0
	}
	r, order := newRewriter(outs, f)
	b := &castBundles{rewriter: r, of: map[bundleKey][]*op.Node{}}
	ends := map[*op.Node]bool{}
	for _, e := range outs[f.Forward:] {
		ends[e.Node] = true
	}
	for _, n := range order {
		for _, a := range n.After {
			delete(ends, a)
		}
	}
	for _, n := range order {
		if ends[n] && b.converts(n, dtype.Float32) && r.uses[n.Entry(0)] == 1 &&
			f.Types[n.In[0]] == f.Mixed.Type && len(n.After) == 0 {
			b.add(n)
		}
	}
	late := map[*op.Node]bool{}
	for _, list := range b.of {
		for _, n := range list {
			late[n] = len(list) > 1
		}
	}
	for _, n := range order {
		if !late[n] {
			r.keep(n, r.now(n.In))
		}
	}
	for _, key := range b.keys {
		if list := b.of[key]; len(list) > 1 {
			b.join(prim.Casts, key)
		}
	}
	return r.now(outs), r.changes
}

// castBundles are conversions that one operator may make together.
type castBundles struct {
	*rewriter
	of   map[bundleKey][]*op.Node
	keys []bundleKey // of the map, in the order of the graph
}

// bundleKey says which conversions belong together.
type bundleKey struct {
	from, to dtype.Type
	group    string
}

// converts reports whether n converts to a type on a GPU.
func (b *castBundles) converts(n *op.Node, to dtype.Type) bool {
	return !n.IsVar() && n.Op == prim.Cast.Op && b.facts.Types[n.Entry(0)] == to &&
		b.facts.Types[n.In[0]] != to && b.facts.kind(n) == device.KindCUDA
}

// add adds a conversion to its bundle.
func (b *castBundles) add(n *op.Node) {
	key := bundleKey{b.facts.Types[n.In[0]], b.facts.Types[n.Entry(0)], Group(n)}
	if b.of[key] == nil {
		b.keys = append(b.keys, key)
	}
	b.of[key] = append(b.of[key], n)
}

// join makes one node of a bundle, whose inputs have been rewritten or are variables.
func (b *castBundles) join(h op.Handle[prim.CastsParams], key bundleKey) {
	list := b.of[key]
	in := make([]op.Entry, len(list))
	for i, n := range list {
		if in[i] = n.In[0]; !in[i].Node.IsVar() {
			in[i] = b.made[in[i]]
		}
	}
	m := h.Node(prim.CastsParams{DType: key.to, NumOutputs: len(list)}, in...)
	m.Name, m.Site = list[0].Name+"...", list[0].Site
	if key.group != "" {
		m.Attrs = map[string]string{GroupAttr: key.group}
	}
	for i, n := range list {
		b.replace(n, m.Entry(i))
	}
}

// replace makes e take the place of conversion n.
func (b *castBundles) replace(n *op.Node, e op.Entry) {
	b.become(n.Entry(0), e)
	b.nodes[n] = e.Node
	b.changes++
	b.facts.note(Change{Node: n.Name, Before: describe(n, n.In), After: e.Node.Op.Name})
}
