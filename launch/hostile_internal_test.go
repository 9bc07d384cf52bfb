package launch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gomx/internal/hostile"
	"gomx/kvstore/wire"
)

// TestHostileLocks reads damaged files that name the launcher of a job.
func TestHostileLocks(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := Holder{PID: 17, Program: []string{"train", "--epochs", "3"}, Dir: "jobs/1",
		Began: time.Unix(1e9, 0).UTC()}
	if err := writeHolder(f, h); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	hostile.Kind{Name: "lock of a job", Seeds: [][]byte{file}, Text: true,
		Decode: func(b []byte) error {
			if err := os.WriteFile(f.Name(), b, 0o600); err != nil {
				return err
			}
			readHolder(f)
			return nil
		}}.Run(t)
}

// TestHostileKeys reads damaged key files: the pair of a process, and the public keys of all.
func TestHostileKeys(t *testing.T) {
	dir := t.TempDir()
	self := wire.Node{Role: wire.Server, Rank: 1}
	if err := MakeKeys(dir, 2, 2); err != nil {
		t.Skip(err) // without ZeroMQ there are no keys
	}
	for name, path := range map[string]string{"key pair": keyFile(dir, self),
		"public keys": filepath.Join(dir, publicFile)} {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		hostile.Kind{Name: name, Seeds: [][]byte{file}, Text: true, Decode: func(b []byte) error {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				return err
			}
			_, err := LoadKeys(dir, self)
			return err
		}}.Run(t)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
