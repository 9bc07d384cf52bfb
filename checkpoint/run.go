package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	nd "gomx/ndarray"
)

// RunPath returns the name of the file from which a training run is resumed: prefix.resume.
func RunPath(prefix string) string { return prefix + ".resume" }

// The file of a run is its magic with the version of the format, the length of the description,
// the description, a list of arrays in MXNet's format, and a checksum (CRC-32C) of everything
// before it. One file holds everything, so that all parts are from the same moment.
const (
	runName     = "gomxrun"
	runVersion  = "1"
	runMagic    = runName + runVersion
	runHead     = len(runMagic) + 8
	runChecksum = 4
)

// castagnoli is the polynomial of the checksum.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SaveRun writes the file of a run: a description, and arrays with distinct names. An error or a
// crash leaves the file unchanged.
func SaveRun(path string, description []byte, arrays []Named) error {
	return WriteFile(path, func(w io.Writer) error {
		sum := crc32.New(castagnoli)
		both := io.MultiWriter(w, sum)
		head := binary.LittleEndian.AppendUint64([]byte(runMagic), uint64(len(description)))
		for _, b := range [][]byte{head, description} {
			if _, err := both.Write(b); err != nil {
				return err
			}
		}
		if err := writeArrays(both, arrays); err != nil {
			return err
		}
		_, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
		return err
	})
}

// LoadRun reads the file of a run and verifies its checksum.
func LoadRun(path string) (description []byte, arrays map[string]*nd.Array, err error) {
	err = readFile(path, func(r io.Reader, size int64) error {
		description, arrays, err = ReadRun(r, size)
		return err
	})
	return description, arrays, err
}

// ReadRun decodes the file of a run, which has size bytes.
func ReadRun(r io.Reader, size int64) (description []byte, arrays map[string]*nd.Array, err error) {
	if size < int64(runHead+runChecksum) {
		return nil, nil, fmt.Errorf("%d bytes, want at least %d: this is not the file of a run",
			size, runHead+runChecksum)
	}
	sum := crc32.New(castagnoli)
	limited := &io.LimitedReader{R: r, N: size - runChecksum}
	content := io.TeeReader(limited, sum)
	head := make([]byte, runHead)
	if _, err := io.ReadFull(content, head); err != nil {
		return nil, nil, err
	}
	if v, ours := strings.CutPrefix(string(head[:len(runMagic)]), runName); ours && v != runVersion {
		return nil, nil, fmt.Errorf("file of a run of version %q, want %q: another release of gomx "+
			"wrote it; continue the run with that release", v, runVersion)
	}
	if string(head[:len(runMagic)]) != runMagic {
		return nil, nil, fmt.Errorf("starts with %q, want %q: this is not the file of a run",
			head[:len(runMagic)], runMagic)
	}
	n := binary.LittleEndian.Uint64(head[len(runMagic):])
	if n > uint64(limited.N) {
		return nil, nil, fmt.Errorf("claims a description of %d bytes, but %d are left", n,
			limited.N)
	}
	description = make([]byte, n)
	if _, err := io.ReadFull(content, description); err != nil {
		return nil, nil, err
	}
	list, err := readArrays(content, limited.N, newRoom(limited.N, nil))
	if err != nil {
		return nil, nil, err
	}
	if limited.N > 0 {
		return nil, nil, fmt.Errorf("%d bytes follow the arrays, want none", limited.N)
	}
	var said [runChecksum]byte
	if _, err := io.ReadFull(r, said[:]); err != nil {
		return nil, nil, err
	}
	if got, want := sum.Sum32(), binary.LittleEndian.Uint32(said[:]); got != want {
		return nil, nil, fmt.Errorf("the content has checksum %#08x, the file says %#08x: it is "+
			"damaged", got, want)
	}
	arrays = map[string]*nd.Array{}
	for _, a := range list {
		if a.Name == "" || a.Array == nil || arrays[a.Name] != nil {
			return nil, nil, fmt.Errorf("array %q is none, has no name, or occurs twice", a.Name)
		}
		arrays[a.Name] = a.Array
	}
	return description, arrays, nil
}

// temporary matches the end, after the prefix, of the names of files that WriteFile did not
// complete.
var temporary = regexp.MustCompile(`^(-symbol\.json|-[0-9]{4,}\.(params|states)|-[^/]*-symbol\.json|\.resume|\.buckets[^/]*)\.[0-9a-f]{8}\.tmp$`)

// RemoveTemporary removes the temporary files of a process that was killed while it wrote a
// checkpoint. No process may be writing a checkpoint of the same prefix.
func RemoveTemporary(prefix string) error {
	names, err := beside(prefix)
	if err != nil {
		return err
	}
	for _, rest := range names {
		if !temporary.MatchString(rest) {
			continue
		}
		if err := os.Remove(prefix + rest); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("checkpoint: temporary file: %w", err)
		}
	}
	return nil
}

// beside lists the files whose paths begin with prefix, and returns their names without it. It
// lists nothing if the folder does not exist.
func beside(prefix string) ([]string, error) {
	dir, base := filepath.Split(prefix)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var names []string
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), base); ok {
			names = append(names, rest)
		}
	}
	return names, nil
}

// Epochs returns the numbers of the epochs for which a prefix has a file of parameters, ascending.
func Epochs(prefix string) ([]int, error) {
	names, err := beside(prefix)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, rest := range names {
		var n int
		if text, ok := strings.CutSuffix(rest, ".params"); ok {
			if n, err = strconv.Atoi(strings.TrimPrefix(text, "-")); err == nil &&
				prefix+rest == ParamsPath(prefix, n) {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list, nil
}
