package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Config describes an image.
type Config struct {
	Programs []string // files of programs, the first of which is the entry point
	Tag      string   // name of the image in the archive, such as gomx:1.0; empty: gomx:latest
}

// user is the number of the user of the image's processes.
const user = 10001

// texts are the small files of the image.
var texts = map[string]string{
	"etc/passwd": fmt.Sprintf("root:x:0:0::/:/sbin/nologin\ngomx:x:%d:%d::/:/sbin/nologin\n", user,
		user),
	"etc/group":         fmt.Sprintf("root:x:0:\ngomx:x:%d:\n", user),
	"etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}

// Write writes an archive.
func Write(w io.Writer, c Config) error {
	if len(c.Programs) == 0 {
		return fmt.Errorf("image: no program, want at least one")
	}
	if c.Tag == "" {
		c.Tag = "gomx:latest"
	}
	plain, err := layer(c.Programs)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return c.archive(w, plain, packed.Bytes())
}

// blob is a part of an archive, named by its digest.
type blob struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	content     []byte
}

func newBlob(kind string, content []byte) blob {
	return blob{MediaType: "application/vnd.oci.image." + kind, Digest: digest(content),
		Size: len(content), content: content}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// archive writes the layer with the documents that describe it.
func (c *Config) archive(w io.Writer, plain, packed []byte) error {
	type document map[string]any
	entry := "/usr/local/bin/" + filepath.Base(c.Programs[0])
	text, err := json.Marshal(document{"architecture": runtime.GOARCH, "os": "linux",
		"config": document{"User": fmt.Sprint(user), "WorkingDir": "/tmp",
			"Env": []string{"PATH=/usr/local/bin"}, "Entrypoint": []string{entry}},
		"rootfs": document{"type": "layers", "diff_ids": []string{digest(plain)}}})
	if err != nil {
		return err
	}
	config, packedLayer := newBlob("config.v1+json", text), newBlob("layer.v1.tar+gzip", packed)
	text, err = json.Marshal(document{"schemaVersion": 2,
		"mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config":    config, "layers": []blob{packedLayer}})
	if err != nil {
		return err
	}
	manifest := newBlob("manifest.v1+json", text)
	manifest.Annotations = map[string]string{"org.opencontainers.image.ref.name": c.Tag}
	index, err := json.Marshal(document{"schemaVersion": 2, "manifests": []blob{manifest}})
	if err != nil {
		return err
	}
	t := &tree{tar: tar.NewWriter(w), made: map[string]bool{}}
	t.file("oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`))
	t.file("index.json", 0o644, index)
	for _, b := range []blob{config, packedLayer, manifest} {
		t.file("blobs/sha256/"+b.Digest[len("sha256:"):], 0o644, b.content)
	}
	return t.close()
}

// layer returns the file system of the image as a tar file.
func layer(programs []string) ([]byte, error) {
	libs, err := libraries(programs)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	t := &tree{tar: tar.NewWriter(&b), made: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		t.file(name, 0o644, []byte(texts[name]))
	}
	t.folder("tmp", 0o1777)
	t.folder("run/gomx", 0o1777)
	for _, program := range programs {
		t.copy("usr/local/bin/"+filepath.Base(program), 0o755, program)
	}
	for _, lib := range libs {
		t.copy(lib[1:], 0o755, lib)
	}
	if err := t.close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// tree writes the files of a tar file and keeps the first error.
type tree struct {
	tar  *tar.Writer
	made map[string]bool // folders
	err  error
}

// folder makes a folder and the folders above it.
func (t *tree) folder(name string, mode int64) {
	if name == "." || t.made[name] {
		return
	}
	t.made[name] = true
	t.folder(path.Dir(name), 0o755)
	t.header(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode})
}

// header writes a header. All files have the same time, so that archives repeat.
func (t *tree) header(h *tar.Header) {
	h.ModTime, h.Format = time.Unix(0, 0), tar.FormatPAX
	if t.err == nil {
		t.err = t.tar.WriteHeader(h)
	}
}

// file writes a file.
func (t *tree) file(name string, mode int64, content []byte) {
	if t.made[name] {
		return
	}
	t.folder(path.Dir(name), 0o755)
	t.made[name] = true
	t.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))})
	if t.err == nil {
		_, t.err = t.tar.Write(content)
	}
}

// copy writes a file of this machine.
func (t *tree) copy(name string, mode int64, from string) {
	b, err := os.ReadFile(from)
	if err != nil && t.err == nil {
		t.err = err
	}
	t.file(name, mode, b)
}

func (t *tree) close() error {
	if t.err == nil {
		t.err = t.tar.Close()
	}
	if t.err != nil {
		return fmt.Errorf("image: %w", t.err)
	}
	return nil
}
