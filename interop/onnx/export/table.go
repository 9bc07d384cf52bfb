package export

import (
	"fmt"
	"maps"
	"slices"

	"gomx/op"
)

// rule makes the ONNX nodes of one node and returns the values of its outputs. Outputs at the end
// may be missing when nothing but training reads them. Reasons why a node has no form in ONNX go to
// call.fail.
type rule func(c *call) []value

// rules are the rules of a family.
type rules map[*op.Op]rule

// table has the rules by operator. It is filled at start-up and does not change.
var table = rules{}

// reasons say why operators have no rule.
var reasons = map[*op.Op]string{}

func init() {
	for _, family := range []rules{unaryRules, binaryRules, scalarRules, reduceRules, shapeRules,
		moveRules, activationRules, matrixRules, normRules, convRules, poolRules, rnnRules,
		indexRules, lossRules, attentionRules,
		spatialRules, boxRules, quantRules, controlRules} {
		for o, r := range family {
			if table[o] != nil {
				panic(fmt.Sprintf("onnx: two rules for operator %s", o.Name))
			}
			table[o] = r
		}
	}
	for _, family := range []map[*op.Op]string{matrixReasons, indexReasons, lossReasons,
		spatialReasons, boxReasons, unaryReasons} {
		maps.Copy(reasons, family)
	}
}

// on makes a rule of a function that gets the parameters of the operator.
func on[P any](f func(c *call, p P) []value) rule {
	return func(c *call) []value { return f(c, c.node.Params.(P)) }
}

// Operators lists the operators that are exported, by MXNet's names.
func Operators() []string {
	var names []string
	for o := range maps.Keys(table) {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return names
}

// call is one node of the symbol during its export.
type call struct {
	pen
	outs   []value // shapes and types of the outputs, without names
	failed string  // the reason why the node cannot be exported
}

// fail keeps the first reason.
func (c *call) fail(format string, args ...any) []value {
	if c.failed == "" {
		c.failed = fmt.Sprintf(format, args...)
	}
	return nil
}

// x returns input i.
func (c *call) x(i int) value { return c.ex.values[c.node.In[i]] }

// all returns all inputs.
func (c *call) all() []value {
	list := make([]value, len(c.node.In))
	for i := range list {
		list[i] = c.x(i)
	}
	return list
}

// out is the shape and the type of output i.
func (c *call) out(i int) value { return c.outs[i] }

// one lists one value.
func one(v value) []value { return []value{v} }
