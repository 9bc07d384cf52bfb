package symbol

import (
	"fmt"
	"slices"
	"strings"

	"gomx/op"
)

// Custom nodes of MXNet's files run operators of the user's program, which the attribute op_type
// names. A Go program declares an operator of that name. The other attributes are parameters of the
// operator.
const (
	customOp   = "Custom"
	customType = "op_type"
)

// operator finds the operator of a node in a file; nil for a variable.
func operator(name string, attrs map[string]string) (*op.Op, error) {
	switch name {
	case "null":
		return nil, nil
	case customOp:
		return customOperator(attrs[customType])
	}
	return op.Find(name)
}

// customOperator finds the operator that a program has declared under a name.
func customOperator(name string) (*op.Op, error) {
	if name == "" {
		return nil, fmt.Errorf("operator %s without the attribute %s, want the name of an "+
			"operator that the program declares", customOp, customType)
	}
	o := op.Lookup(name)
	if o != nil && o.Own {
		return o, nil
	}
	found := "none of this name"
	if o != nil {
		found = "only the operator " + o.Name + " of gomx, which is another one"
	}
	var own []string
	for _, o := range op.All() {
		if o.Own {
			own = append(own, o.Name)
		}
	}
	declared := "it declares no operators"
	if len(own) > 0 {
		slices.Sort(own)
		declared = "it declares " + strings.Join(own, ", ")
	}
	return nil, fmt.Errorf("operator %s of %s %q: found %s, want one that the program declares "+
		"with op.Declare: %s", customOp, customType, name, found, declared)
}

// takeCustom removes the name of a custom operator from attrs, unless it is a parameter.
func takeCustom(o *op.Op, attrs map[string]string) (name string, ok bool) {
	if name, ok = attrs[customType]; !ok || !isCustom(o, attrs) {
		return "", false
	}
	delete(attrs, customType)
	return name, true
}

// isCustom reports whether files have a node as a custom one: it has the attribute op_type, and its
// operator is declared by the program.
func isCustom(o *op.Op, attrs map[string]string) bool {
	return attrs[customType] == o.Name && o.Own && !slices.ContainsFunc(o.Params(),
		func(p op.ParamSpec) bool { return p.Name == customType })
}
