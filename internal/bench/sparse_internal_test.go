package bench

import (
	"context"
	"math/rand/v2"
	"testing"

	"gomx/device"
	"gomx/optimizer"
)

// TestSparseLinesFreeTheirArrays runs a training step of a table: its weight, gradient and states
// are returned to the system before a peer starts, without a collection.
func TestSparseLinesFreeTheirArrays(t *testing.T) {
	const rows, touched = 50_000, 100
	w := stepTime("w", func(r *rand.Rand) steps {
		return tableStep(r, optimizer.Adam{LR: 0.01}, rows, rows, touched)
	})
	before := device.Usage(device.CPU())
	if us, err := w.Run(context.Background()); err != nil || us <= 0 {
		t.Fatalf("%v us and error %v, want a time", us, err)
	}
	after := device.Usage(device.CPU())
	table := int64(rows * sparseWidth * 4)
	if got := after.Total() - before.Total(); got >= table {
		t.Errorf("%d bytes stay in use, want less than the %d of one table", got, table)
	}
	if got := after.Reserved - before.Reserved; got >= table {
		t.Errorf("%d bytes stay reserved, want less than the %d of one table", got, table)
	}
}
