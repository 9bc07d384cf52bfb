package onnx

import (
	"fmt"
	"maps"

	"gomx/interop/onnx/internal/onnxpb"
)

// functionKey is the name of a function under which nodes call it.
func functionKey(domain, name, overload string) string {
	key := qualified(mainDomain(domain), name)
	if overload != "" {
		key += ":" + overload
	}
	return key
}

// functions indexes the functions of a model.
func functions(model *onnxpb.ModelProto) (map[string]*onnxpb.FunctionProto, error) {
	local := map[string]*onnxpb.FunctionProto{}
	for _, f := range model.GetFunctions() {
		key := functionKey(f.GetDomain(), f.GetName(), f.GetOverload())
		if local[key] != nil {
			return nil, fmt.Errorf("two functions %s, want one", key)
		}
		local[key] = f
	}
	return local, nil
}

// function returns the function of the model that a node calls; nil: it names an operator.
func (im *importing) function(n *onnxpb.NodeProto) *onnxpb.FunctionProto {
	return im.local[functionKey(n.GetDomain(), n.GetOpType(), n.GetOverload())]
}

// attr finds an attribute of the function's call in which the scope lies.
func (s *scope) attr(name string) *onnxpb.AttributeProto {
	for ; s != nil; s = s.outer {
		if s.attrs != nil {
			return s.attrs[name]
		}
	}
	return nil
}

// leftOut reports whether a name is an input of a function that its call leaves out.
func (s *scope) leftOut(name string) bool {
	for ; s != nil; s = s.outer {
		if s.absent[name] {
			return true
		}
	}
	return false
}

// call imports the nodes of a function for the inputs and attributes of the node. The nodes see no
// names around the call, and have the operator sets of the function.
func (c *call) call(f *onnxpb.FunctionProto) error {
	im := c.im
	if im.depth++; im.depth > mostCalls {
		return fmt.Errorf("functions call each other to a depth of more than %d", mostCalls)
	}
	defer func() { im.depth-- }()
	c.attrs()
	inner := newScope(nil)
	inner.attrs = maps.Clone(c.attr)
	for _, a := range f.GetAttributeProto() {
		if inner.attrs[a.GetName()] == nil {
			inner.attrs[a.GetName()] = a
		}
	}
	if len(c.in) > len(f.GetInput()) {
		return fmt.Errorf("%d inputs of a function that has %d", len(c.in), len(f.GetInput()))
	}
	inner.absent = map[string]bool{}
	for i, name := range f.GetInput() {
		if c.has(i) {
			inner.values[name] = c.in[i]
		} else {
			inner.absent[name] = true
		}
	}
	if len(f.GetOpsetImport()) > 0 {
		versions := opsets(f.GetOpsetImport())
		if err := checkOpsets(versions); err != nil {
			return err
		}
		defer func(outer map[string]int) { im.versions = outer }(im.versions)
		im.versions = versions
	}
	if err := im.run(f.GetNode(), inner); err != nil {
		return err
	}
	c.direct = []*value{}
	for _, name := range f.GetOutput()[:min(c.wanted(), len(f.GetOutput()))] {
		v := inner.find(name)
		if v == nil {
			return fmt.Errorf("no node of the function computes the output %q", name)
		}
		c.direct = append(c.direct, v)
	}
	return c.finish(nil)
}
