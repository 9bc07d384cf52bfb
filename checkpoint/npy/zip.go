package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"

	"gomx/checkpoint"
)

// Archive is an open .npz file: a zip archive of .npy files. It is used by one goroutine at a time.
type Archive struct {
	files []*zip.File
	names []string
	close func() error
}

// OpenZip opens the .npz file at path.
func OpenZip(path string) (*Archive, error) {
	r, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("npy: %s: %w", path, err)
	}
	a, err := newArchive(&r.Reader, r.Close)
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("npy: %s: %w", path, err)
	}
	return a, nil
}

// NewArchive reads a .npz file of size bytes.
func NewArchive(r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return newArchive(z, func() error { return nil })
}

func newArchive(z *zip.Reader, close func() error) (*Archive, error) {
	a, seen := &Archive{close: close}, map[string]bool{}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		switch {
		case !ok:
			return nil, fmt.Errorf("entry %q, want names that end in .npy", f.Name)
		case seen[name]:
			return nil, fmt.Errorf("two arrays are named %q, want different names", name)
		}
		seen[name] = true
		a.files, a.names = append(a.files, f), append(a.names, name)
	}
	return a, nil
}

// Close closes the file.
func (a *Archive) Close() error { return a.close() }

// Names returns the names of the arrays in the order of the file.
func (a *Archive) Names() []string { return append([]string{}, a.names...) }

// Header describes array i.
func (a *Archive) Header(i int) (h Header, err error) {
	err = a.with(i, func(r io.Reader) error {
		h, err = ReadHeader(r)
		return err
	})
	return h, err
}

// Record reads array i.
func (a *Archive) Record(i int) (r *checkpoint.Record, err error) {
	err = a.with(i, func(f io.Reader) error {
		if r, err = Read(f); err != nil {
			return err
		}
		// The end of the entry is read too, because it is there that its checksum is compared.
		n, err := io.Copy(io.Discard, io.LimitReader(f, 1))
		if err == nil && n > 0 {
			err = fmt.Errorf("npy: bytes behind the array, want none")
		}
		r.Name = a.names[i]
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// with opens entry i.
func (a *Archive) with(i int, read func(r io.Reader) error) error {
	f, err := a.files[i].Open()
	if err == nil {
		defer f.Close()
		err = read(f)
	}
	if err != nil {
		return fmt.Errorf("array %q: %w", a.names[i], err)
	}
	return nil
}

// LoadZip reads all arrays of the .npz file at path onto the processor.
func LoadZip(path string) (list []checkpoint.Named, err error) {
	a, err := OpenZip(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	defer func() {
		if err != nil {
			for _, n := range list {
				n.Array.Close()
			}
			list, err = nil, fmt.Errorf("npy: %s: %w", path, err)
		}
	}()
	for i, name := range a.names {
		r, err := a.Record(i)
		if err != nil {
			return list, err
		}
		x, err := arrayOf(r)
		if err != nil {
			return list, err
		}
		list = append(list, checkpoint.Named{Name: name, Array: x})
	}
	return list, nil
}

// ZipWriter writes a .npz file one array at a time, without compression, as numpy.savez does.
type ZipWriter struct {
	z    *zip.Writer
	seen map[string]bool
}

// NewZipWriter begins a file.
func NewZipWriter(w io.Writer) *ZipWriter { return &ZipWriter{zip.NewWriter(w), map[string]bool{}} }

// Write writes the next array under its name.
func (w *ZipWriter) Write(r *checkpoint.Record) error {
	if r.Name == "" || w.seen[r.Name] {
		return fmt.Errorf("npy: array named %q, want a name of its own", r.Name)
	}
	w.seen[r.Name] = true
	f, err := w.z.CreateHeader(&zip.FileHeader{Name: r.Name + ".npy", Method: zip.Store})
	if err != nil {
		return err
	}
	return Write(f, r)
}

// Close writes the list of the arrays.
func (w *ZipWriter) Close() error { return w.z.Close() }

// SaveZip writes arrays to a .npz file and waits for their values. An error or a crash leaves the
// previous content of path.
func SaveZip(path string, list []checkpoint.Named) error {
	return checkpoint.WriteFile(path, func(w io.Writer) error {
		z := NewZipWriter(w)
		for _, n := range list {
			r, err := recordOf(n.Name, n.Array)
			if err != nil {
				return err
			}
			if err := z.Write(r); err != nil {
				return err
			}
		}
		return z.Close()
	})
}
