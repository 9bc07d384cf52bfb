package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// WriteFile writes a file completely or not at all. It writes to a temporary file in the same
// folder, flushes that to the disk and renames it. A crash or an error leaves the previous content
// of path.
func WriteFile(path string, write func(w io.Writer) error) error {
	f, err := createBeside(path)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	temp := f.Name()
	w := bufio.NewWriterSize(f, 1<<16)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
		return fmt.Errorf("checkpoint: writing %s: %w", path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// createBeside creates a temporary file in path's folder, with the permissions of an ordinary file.
func createBeside(path string) (*os.File, error) {
	for {
		name := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}

// syncFolder flushes a folder to the disk, so that a rename in it survives a crash of the machine.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer d.Close()
	d.Sync() // an error means only that this file system cannot flush folders
	return nil
}

// readFile opens path and calls read with the file and its size; errors name the file.
func readFile(path string, read func(r io.Reader, size int64) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	size := st.Size()
	if !st.Mode().IsRegular() {
		size = -1
	}
	if err := read(bufio.NewReaderSize(f, 1<<16), size); err != nil {
		return fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	return nil
}

// ReadFile reads the list of arrays in the file at path.
func ReadFile(path string) (list []*Record, named bool, err error) {
	err = readFile(path, func(r io.Reader, size int64) error {
		list, named, err = ReadList(r, size)
		return err
	})
	return list, named, err
}
