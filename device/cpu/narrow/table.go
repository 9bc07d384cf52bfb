package narrow

import (
	"strings"

	"gomx/device"
)

// row is a model of processor that has been measured, by TestSpeeds on a machine that did nothing
// else, with oneDNN 2.6.3.
type row struct {
	vendor  string // first word of the name
	numbers string // family and model
	isa     string // instructions, as cpu.Instructions names them
	speed   map[device.Product]float64
}

// table lists the models. A model with another limit of ONEDNN_MAX_CPU_ISA is another row.
var table = []row{
	{"AMD", "(family 25, model 17)", "avx512_bf16", map[device.Product]float64{ // Zen 4, 2 cores
		device.Convolutions: 1.45, device.Depthwise: 1.49, device.DenseProducts: 2.00,
		device.FewRowProducts: 0.83, device.BatchProducts: 1.78}},
}

// measured returns the speeds of a model in the table, nil for others.
func measured(model string) map[device.Product]float64 {
	for _, r := range table {
		if strings.HasPrefix(model, r.vendor+" ") &&
			strings.HasSuffix(model, r.numbers+", "+r.isa) {
			return r.speed
		}
	}
	return nil
}
