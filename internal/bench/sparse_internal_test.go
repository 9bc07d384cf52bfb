package bench

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
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

// TestTouchedColumns counts the different columns of the worker that has most.
func TestTouchedColumns(t *testing.T) {
	p := sparsePlan{Folder: t.TempDir(), Features: 9, Workers: 2, Rank: 3}
	for rank, text := range []string{"1 0:1 8:1\n0 8:1\n", "0 3:1 4:1\n1 5:1 4:2\n"} {
		if err := os.WriteFile(p.file(rank), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.touched()
	if err != nil || got != 3 {
		t.Errorf("%d columns and error %v, want 3", got, err)
	}
	l := sparseLine{plan: p, touched: got}
	if b := l.bound(); b != 100<<20+1.5*3*16 {
		t.Errorf("a bound of %v bytes", b)
	}
	p.Features = 8
	if _, err := p.touched(); err == nil || !strings.Contains(err.Error(), `column "8"`) {
		t.Errorf("column 8 of 8: got error %v", err)
	}
}
