package symbol

import (
	"maps"
	"slices"
	"strings"

	"gomx/op"
)

// hiddenKeys are attributes that MXNet before 0.9 wrote without underscores.
var hiddenKeys = []string{"ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage"}

// dunderHidden respells the hidden keys of a variable as __key__.
func dunderHidden(attrs map[string]string) map[string]string {
	if len(attrs) == 0 {
		return nil
	}
	for _, k := range hiddenKeys {
		if v, ok := attrs[k]; ok {
			delete(attrs, k)
			attrs["__"+k+"__"] = v
		}
	}
	return attrs
}

// takeHidden removes from attrs, and returns, the attributes whose keys are hidden keys or end in _
// and a hidden key, because they are not parameters. Keys that begin with __ stay.
func takeHidden(attrs map[string]string) map[string]string {
	taken := map[string]string{}
	for key, v := range attrs {
		if strings.HasPrefix(key, "__") {
			continue
		}
		for _, h := range hiddenKeys {
			if key == h || strings.HasSuffix(key, "_"+h) {
				taken[key] = v
				delete(attrs, key)
				break
			}
		}
	}
	return taken
}

// restoreHidden puts hidden keys where they belong: lr_mult onto the node as __lr_mult__,
// weight_lr_mult onto the variable that feeds weight; anything else back as it was.
func restoreHidden(n *op.Node, hidden map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(hidden)) {
		value := hidden[key]
		if slices.Contains(hiddenKeys, key) {
			n.Attrs["__"+key+"__"] = value
			continue
		}
		if !moveToInput(n, key, value) {
			n.Attrs[key] = value
		}
	}
}

// moveToInput handles a key of the form <argument>_<hidden key>.
func moveToInput(n *op.Node, key, value string) bool {
	inputs := n.Op.Inputs(n.Params)
	for _, h := range hiddenKeys {
		arg, ok := strings.CutSuffix(key, "_"+h)
		if !ok {
			continue
		}
		for k, in := range inputs {
			if in.Name == arg && k < len(n.In) && n.In[k].Node.IsVar() {
				v := n.In[k].Node
				if v.Attrs == nil {
					v.Attrs = map[string]string{}
				}
				v.Attrs["__"+h+"__"] = value
				return true
			}
		}
	}
	return false
}

// upgradeAttrs respells parameters whose meaning changed.
func upgradeAttrs(opName string, attrs map[string]string, version int) {
	if version < 905 && (opName == "argmax" || opName == "argmin") && attrs["axis"] == "-1" {
		delete(attrs, "axis")
	}
}
