package view_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gomx/internal/hostile"
	"gomx/internal/viewtest"
	"gomx/kvstore/view"
	"gomx/kvstore/wire"
)

func TestFolder(t *testing.T) {
	viewtest.Run(t, func(t *testing.T) func() view.Store {
		dir := t.TempDir()
		return func() view.Store {
			s, err := view.Open("file:"+dir, 0x6a)
			if err != nil {
				t.Error(err)
			}
			return s
		}
	})
}

func TestMemory(t *testing.T) {
	viewtest.Run(t, func(*testing.T) func() view.Store {
		m := viewtest.NewMemory()
		return func() view.Store { return m }
	})
}

// TestJobsOfOneFolder lets two jobs lead in one folder at once.
func TestJobsOfOneFolder(t *testing.T) {
	dir := t.TempDir()
	for job := range uint64(2) {
		l, err := view.Folder(dir, job).Campaign(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Save(t.Context(), viewtest.Sample(job+1)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if v, err := l.Load(t.Context()); err != nil || v.Number != job+1 {
				t.Errorf("job %d has view %+v, %v", job, v, err)
			}
			if err := l.Resign(t.Context()); err != nil {
				t.Error(err)
			}
		}()
	}
}

// TestRecordsOfOtherVersions reads a record of version 1, which was the view and its checksum, and
// one of a later version.
func TestRecordsOfOtherVersions(t *testing.T) {
	v := viewtest.Sample(7)
	later := view.Encode(v)
	if got, err := view.Decode(later); err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("got %+v, %v, want %+v", got, err, v)
	}
	later = later[:len(later)-4]
	later[8] = 99
	for want, b := range map[string][]byte{"version 1,": v.Append(nil), "version 99,": later} {
		b = binary.LittleEndian.AppendUint32(b, wire.Checksum(b))
		if _, err := view.Decode(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
}

// TestHostileViews reads damaged files of a scheduler's view.
func TestHostileViews(t *testing.T) {
	dir := t.TempDir()
	l, err := view.Folder(dir, 1).Campaign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Save(t.Context(), viewtest.Sample(3)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "view-1")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hostile.Kind{Name: "file of a view", Seeds: [][]byte{file}, Decode: func(b []byte) error {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return err
		}
		_, err := l.Load(t.Context())
		return err
	}}.Run(t)
}

// TestLeaderFiles reads files of a leader that no candidate has written.
func TestLeaderFiles(t *testing.T) {
	for _, text := range []string{"", "x", "0 a", "-1 a", " "} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "leader-1"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := view.Folder(dir, 1).Campaign(t.Context(), "a"); err == nil ||
			!strings.Contains(err.Error(), "leader-1") {
			t.Errorf("%q: got %v, want an error that names the file", text, err)
		}
	}
}

// TestAddresses opens stores whose addresses are wrong.
func TestAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"":                  `want an address that begins with file:`,
		"/tmp":              `want an address that begins with file:`,
		"file:relative":     "absolute path",
		"etcd://h:1":        `import _ "gomx/kvstore/view/etcd"`,
		"zookeeper://h:1/x": `want an address that begins with file:`,
	} {
		if _, err := view.Open(addr, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", addr, err, want)
		}
	}
}
