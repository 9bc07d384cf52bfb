package kvstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"gomx/internal/viewtest"
	"gomx/kvstore/wire"

	"github.com/rs/zerolog"
)

// TestTheManifestOfTheLastTermCounts lets a scheduler complete a snapshot that its successor has
// completed already: the snapshot of the successor counts. A snapshot without a term counts where
// there is no other.
func TestTheManifestOfTheLastTermCounts(t *testing.T) {
	root := t.TempDir()
	write := func(r *records, name string) {
		t.Helper()
		r.d, r.root = newDriver(wire.Node{Role: wire.Scheduler}, zerolog.Nop()), root
		m := &wire.Manifest{Job: 1, Clock: 3, Files: []wire.SnapshotFile{{Name: name}}}
		if err := r.writeManifest(m); err != nil {
			t.Fatal(err)
		}
	}
	dir := snapshotDir(root, 3)
	read := func() string {
		t.Helper()
		m, err := readManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		return m.Files[0].Name
	}
	if complete(dir) {
		t.Error("a snapshot without a manifest is complete")
	}
	write(&records{}, "none")
	if got := read(); got != "none" || !complete(dir) {
		t.Errorf("the manifest names %q, want none", got)
	}
	store := viewtest.NewMemory()
	var leads []*records
	for range 12 { // so that a term has two digits
		lead, err := store.Campaign(context.Background(), "x")
		if err != nil {
			t.Fatal(err)
		}
		leads = append(leads, &records{lead: lead})
		store.Depose(false)
	}
	write(leads[11], "last")
	for i, r := range leads[:11] {
		if write(r, "earlier"); read() != "last" {
			t.Fatalf("the manifest of term %d counts, want 12", i+1)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest-x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "last" {
		t.Errorf("the manifest names %q, want last", got)
	}
}
