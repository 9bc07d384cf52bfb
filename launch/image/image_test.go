//go:build linux

package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gomx/internal/daemons"
	"gomx/internal/hosts"
	"gomx/launch/image"
)

// files reads a tar file.
func files(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	m := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return m
		}
		if err != nil {
			t.Fatal(err)
		}
		if m[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// descriptor names a blob of an archive.
type descriptor struct {
	MediaType, Digest string
	Size              int
}

// read returns the content of a blob after it has checked the digest and the size.
func (d descriptor) read(t *testing.T, archive map[string][]byte) []byte {
	t.Helper()
	b, found := archive["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	sum := sha256.Sum256(b)
	if !found || len(b) != d.Size || "sha256:"+hex.EncodeToString(sum[:]) != d.Digest {
		t.Fatalf("blob %s of %d bytes: found %t, %d bytes, sha256:%x", d.Digest, d.Size, found,
			len(b), sum)
	}
	return b
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}

// unpack follows the documents of an archive to its layer, unpacks it into a folder, and returns
// the command of the image.
func unpack(t *testing.T, archive []byte, root string) []string {
	t.Helper()
	all := files(t, archive)
	var layout struct{ ImageLayoutVersion string }
	decode(t, all["oci-layout"], &layout)
	var index struct{ Manifests []descriptor }
	decode(t, all["index.json"], &index)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, index.Manifests[0].read(t, all), &manifest)
	var config struct {
		Config struct{ Entrypoint []string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	decode(t, manifest.Config.read(t, all), &config)
	if layout.ImageLayoutVersion != "1.0.0" || len(manifest.Layers) != 1 {
		t.Fatalf("layout %q with %d layers, want 1.0.0 with 1", layout.ImageLayoutVersion,
			len(manifest.Layers))
	}
	z, err := gzip.NewReader(bytes.NewReader(manifest.Layers[0].read(t, all)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(plain); config.RootFS.DiffIDs[0] != "sha256:"+
		hex.EncodeToString(sum[:]) {
		t.Errorf("digest of the layer is %x, want %s", sum, config.RootFS.DiffIDs[0])
	}
	for name, content := range files(t, plain) {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return config.Config.Entrypoint
}

// TestImage makes an image of gomx, unpacks it and runs its command with nothing but the image's
// own files.
func TestImage(t *testing.T) {
	hosts.Named(t)
	hosts.NeedRoot(t)
	program := daemons.Build(t, "cmd/gomx")
	var archive, again bytes.Buffer
	for _, b := range []*bytes.Buffer{&archive, &again} {
		if err := image.Write(b, image.Config{Programs: []string{program}}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archive.Bytes(), again.Bytes()) {
		t.Error("two archives of one program differ")
	}
	root := t.TempDir()
	command := unpack(t, archive.Bytes(), root)
	cmd := exec.Command(command[0], "version")
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root,
		Credential: &syscall.Credential{Uid: 10001, Gid: 10001}}
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "gomx") {
		t.Errorf("%s version in the image: %v\n%s", command, err, out)
	}
}
