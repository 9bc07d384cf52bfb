package symbol

import "strings"

// String describes s as MXNet does: <Symbol name> for the outputs of one node, otherwise
// <Symbol group [name, name]>. A mistake made while composing takes the place of the names.
func (s *Symbol) String() string {
	switch {
	case s == nil:
		return "<Symbol: nil>"
	case s.err != nil:
		return "<Symbol: " + s.err.Error() + ">"
	}
	nameNodes(s.outputs)
	names, one := make([]string, len(s.outputs)), len(s.outputs) > 0
	for i, e := range s.outputs {
		names[i] = e.Node.Name
		one = one && e.Node == s.outputs[0].Node
	}
	if one {
		return "<Symbol " + names[0] + ">"
	}
	return "<Symbol group [" + strings.Join(names, ", ") + "]>"
}
