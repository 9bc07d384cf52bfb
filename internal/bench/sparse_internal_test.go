package bench

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"gomx/device"
	"gomx/optimizer"
)

// TestSparseLinesFreeTheirArrays runs a training step of a table: its weight, gradient and states
// are returned to the system before a peer starts, without a collection.
func TestSparseLinesFreeTheirArrays(t *testing.T) {
	const rows, touched = 50_000, 100
	w := stepTime("w", func(r *rand.Rand) steps {
		return tableStep(optimizer.Adam{LR: 0.01}, rows, different(r, touched, rows))
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

// TestPagesOfAStep counts the pages of training steps of a table: each row has one in the weight and
// in both states.
func TestPagesOfAStep(t *testing.T) {
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skip("this system does not count pages")
	}
	const rows, touched, page = 200_000, 100, 4 << 10
	w := stepPages("w", func(r *rand.Rand) steps {
		return tableStep(optimizer.Adam{LR: 0.01}, rows, different(r, touched, rows))
	})
	got, err := w.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	least, most := 3*touched*page, rows*sparseWidth*4
	if bytes := int(got * (1 << 20)); bytes < least || bytes > most {
		t.Errorf("a step touches %d bytes, want %d to %d", bytes, least, most)
	}
}
