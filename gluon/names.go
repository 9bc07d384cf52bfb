package gluon

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	nd "gomx/ndarray"
	"gomx/op"
)

// Scope says how MXNet names a block. Global names of parameters and operators are paths of such
// names: "resnetv10_stage1_conv0_weight". The zero value is a block without a name of its own; its
// parts are named as parts of the block around it.
type Scope struct {
	Prefix string // first part of the names of the parts, such as "stage1_"
	// Numbered says that Prefix is a class: "conv" becomes "conv0_", "conv1_" and so on.
	Numbered bool
	// Names are names of operators that the block calls, by operator; "" stands for all others.
	// Without an entry the name is the operator's in lower case and a number.
	Names map[string]string
}

// Scoper is a block that says how MXNet names it. Another block that is a pointer to a struct is
// named by its type in lower case and a number; blocks of other kinds have no name.
//
// MXNet: gluon.Block.prefix and name_scope.
type Scoper interface{ Scope() Scope }

// numbering is the scope in which blocks are counted.
type numbering struct {
	prefix string
	counts map[string]int
}

// blockName is the name of a block.
type blockName struct {
	Scope
	in *numbering // scope of its parts
}

// naming has the global names of a block.
type naming struct {
	blocks map[any]*blockName // by pointers to blocks, and to the places that hold them
	params map[string]string  // global names by structural names
	owned  map[*Param]string  // global names; a shared parameter has the name of its first place
	names  []string           // structural names in order
	prefix string             // of all names
}

// nameBlocks finds the global names of a block and its parts. The prefix "" is that of the block.
func nameBlocks(root any, prefix string) *naming {
	n := &naming{blocks: map[any]*blockName{}, params: map[string]string{},
		owned: map[*Param]string{}}
	if net, ok := root.(*Net); ok {
		root = net.root
	}
	top := n.name(child{block: root}, &numbering{counts: map[string]int{}})
	if prefix != "" {
		top.in.prefix = prefix
	}
	n.prefix = top.in.prefix
	n.walk(root, "", top.in)
	return n
}

// name names a block that is counted in a scope.
func (n *naming) name(c child, in *numbering) *blockName {
	pointer := reflect.ValueOf(c.block).Kind() == reflect.Pointer
	var b *blockName
	if pointer {
		b = n.blocks[c.block]
	}
	if b == nil {
		b = &blockName{Scope: scopeOf(c.block), in: in}
		if b.Prefix != "" {
			prefix := b.Prefix
			if b.Numbered {
				prefix += strconv.Itoa(in.counts[b.Prefix]) + "_"
				in.counts[b.Prefix]++
			}
			b.in = &numbering{prefix: in.prefix + prefix, counts: map[string]int{}}
		}
	}
	if pointer {
		n.blocks[c.block] = b
	}
	if c.place.IsValid() && c.place.CanAddr() {
		n.blocks[c.place.Addr().Interface()] = b
	}
	return b
}

// scopeOf returns the scope of a block.
func scopeOf(block any) Scope {
	switch b := block.(type) {
	case Scoper:
		return b.Scope()
	case holder:
		return scopeOf(b.Held())
	case *Net:
		return scopeOf(b.root)
	case *SymbolBlock:
		return Scope{} // its parameters have the names of variables
	}
	if t := reflect.TypeOf(block); t != nil && t.Kind() == reflect.Pointer &&
		t.Elem().Kind() == reflect.Struct {
		return Scope{Prefix: strings.ToLower(t.Elem().Name()), Numbered: true}
	}
	return Scope{}
}

// walk names the parts of a block.
func (n *naming) walk(block any, path string, in *numbering) {
	list := childrenOf(block)
	for _, c := range list {
		if c.param != nil {
			if _, shared := n.owned[c.param]; !shared {
				n.owned[c.param] = in.prefix + c.name
			}
			n.params[path+c.name] = n.owned[c.param]
			n.names = append(n.names, path+c.name)
		}
	}
	for _, c := range list {
		if c.param == nil {
			n.walk(c.block, path+c.name+".", n.name(c, in).in)
		}
	}
}

// GlobalNames returns MXNet's global names of the parameters by their structural names:
// "features.0.weight" is "vgg0_conv0_weight". The prefix stands before all of them; an empty one is
// the network's, such as "vgg0_".
func (n *Net) GlobalNames(prefix string) map[string]string {
	return maps.Clone(nameBlocks(n.root, prefix).params)
}

// GlobalNames makes Export and Symbol name parameters and operators as MXNet's export does, by
// classes and numbers; see [Scoper]. The prefix stands before all names; an empty one is the
// network's.
func GlobalNames(prefix string) ExportOption {
	return func(e *exporting) { e.global, e.prefix = true, prefix }
}

// namer names the nodes of a graph while it is traced.
type namer struct {
	*naming
	mu    sync.Mutex // guards the fields below
	stack []*nameFrame
}

// nameFrame is a call of a block under way.
type nameFrame struct {
	block any
	name  *blockName
	ops   *numbering // numbers of operators in this call
	again bool       // the call of a container and of the block itself are one
}

// newNamer returns a namer for the calls of a block.
func newNamer(n *naming, root any) *namer {
	m := &namer{naming: n}
	m.enter(root, nil)
	return m
}

// enter implements observer.
func (m *namer) enter(block, place any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := &nameFrame{block: block}
	pointer := reflect.ValueOf(block).Kind() == reflect.Pointer
	if k := len(m.stack); k > 0 {
		top := m.stack[k-1]
		if pointer && samePointer(top.block, block) {
			f.again = true
			return f
		}
		f.name, f.ops = top.name, top.ops // of a block within, such as an embedded one
	}
	var known *blockName
	if reflect.ValueOf(place).Kind() == reflect.Pointer {
		known = m.blocks[place]
	}
	if known == nil && pointer {
		known = m.blocks[block]
	}
	if known != nil {
		f.name = known
	}
	if f.ops == nil || known != nil && known.Prefix != "" {
		f.ops = &numbering{counts: map[string]int{}}
	}
	m.stack = append(m.stack, f)
	return f
}

// leave implements observer.
func (m *namer) leave(mark any, _ []*nd.Array) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := mark.(*nameFrame); !f.again {
		if k := slices.Index(m.stack, f); k >= 0 {
			m.stack = m.stack[:k]
		}
	}
}

// Recorded implements ndarray.Listener.
func (m *namer) Recorded(*op.Op, any, []op.Desc, []op.Desc) {}

// hints are first parts of the names of operators where MXNet's operators of Python have others.
var hints = map[string]string{"elemwise_add": "_plus", "elemwise_sub": "_minus",
	"elemwise_mul": "_mul", "elemwise_div": "_div"}

// NodeName implements ndarray.Namer.
func (m *namer) NodeName(o *op.Op) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.stack[len(m.stack)-1]
	for _, key := range []string{o.Name, ""} {
		if name, ok := f.name.Names[key]; ok {
			return f.name.in.prefix + name
		}
	}
	hint, ok := hints[o.Name]
	if !ok {
		hint = strings.ToLower(o.Name)
	}
	name := f.name.in.prefix + hint + strconv.Itoa(f.ops.counts[hint])
	f.ops.counts[hint]++
	return name
}

// rename gives the variables of parameters their global names.
func (m *namer) rename(g *nd.Traced, params *Params) {
	names := map[*nd.Array]string{}
	for name, p := range params.distinct() {
		for _, a := range p.values() {
			names[a] = m.params[name]
		}
	}
	for _, k := range g.Captured {
		if name := names[k.Array]; name != "" {
			k.Node.Name = name
		}
	}
}

// structural gives arrays with global names their structural names, whatever prefix stands before
// all of them; it returns nil if the names are others.
func (n *naming) structural(values map[string]*nd.Array) map[string]*nd.Array {
	if len(n.names) == 0 {
		return nil
	}
	first := strings.TrimPrefix(n.params[n.names[0]], n.prefix)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		prefix, ok := strings.CutSuffix(name, first)
		if !ok {
			continue
		}
		found, rest := map[string]*nd.Array{}, maps.Clone(values)
		for _, path := range n.names {
			name := prefix + strings.TrimPrefix(n.params[path], n.prefix)
			if a := values[name]; a != nil {
				found[path] = a
				delete(rest, name)
			}
		}
		if len(found) == len(n.names) {
			maps.Copy(found, rest) // Set names arrays that belong to no parameter
			return found
		}
	}
	return nil
}
