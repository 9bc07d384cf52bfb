//go:build cgo

package update

import (
	"gomx/device/cpu"
)

// run makes the step with the kernels in C.
func (k *rowKernel) run(tables []table) {
	u := cpu.Update{N: k.row, LR: float32(k.lr), WD: float32(k.wd), Rescale: float32(k.rescale),
		Clip: float32(k.clip), Momentum: float32(k.momentum), Beta1: float32(k.beta1),
		Beta2: float32(k.beta2), E: float32(k.eps), Threads: k.threads}
	var rows [4]cpu.Table
	for i := range tables {
		rows[i] = cpu.Table{V: tables[i].values.Data, At: tables[i].at}
	}
	rule := map[rowsRule]cpu.Rule{rowsSGD: cpu.RuleSGD, rowsMomentum: cpu.RuleSGDMomentum,
		rowsAdam: cpu.RuleAdam, rowsAdaGrad: cpu.RuleAdaGrad}[k.rule]
	u.Step(rule, k.rows, rows[0], rows[1], rows[2], rows[3])
}
