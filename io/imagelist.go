package io

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// scanRecords returns the offsets of the records of a file. It reads only their headers.
func scanRecords(f *os.File) ([]int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var list []int64
	var head [8]byte
	for at := int64(0); at < info.Size(); {
		if _, err := f.ReadAt(head[:], at); err != nil {
			return nil, fmt.Errorf("record %d: header: %w", len(list), truncated(err))
		}
		if m := binary.LittleEndian.Uint32(head[:]); m != recordMagic {
			return nil, fmt.Errorf("record %d: magic number %#x at byte %d, want %#x", len(list), m,
				at, uint32(recordMagic))
		}
		word := binary.LittleEndian.Uint32(head[4:])
		if part := word >> 29; part == partWhole || part == partFirst {
			list = append(list, at)
		}
		at += 8 + (int64(word&maxRecordLen)+3)&^3
		if at > info.Size() {
			return nil, fmt.Errorf("record %d: %w", len(list)-1, io.ErrUnexpectedEOF)
		}
	}
	return list, nil
}

// ImageEntry is a line of a .lst file: a picture to pack, or the label of a packed picture.
type ImageEntry struct {
	ID    uint64
	Label []float32
	Path  string // relative to the folder of the pictures, with slashes
}

// ReadImageList reads a .lst file. Every line has the number of a picture, its label and its path,
// separated by tabs.
func ReadImageList(path string) ([]ImageEntry, error) {
	var list []ImageEntry
	err := eachLine(path, func(line []byte) error {
		fields := strings.Split(string(line), "\t")
		if len(fields) < 3 {
			return fmt.Errorf("%d fields, want the number of a picture, its label and a path",
				len(fields))
		}
		id, err := strconv.ParseUint(strings.TrimSpace(fields[0]), 10, 64)
		if err != nil {
			return fmt.Errorf("found %q, want the number of a picture", fields[0])
		}
		e := ImageEntry{ID: id, Path: fields[len(fields)-1]}
		for _, s := range fields[1 : len(fields)-1] {
			v, err := strconv.ParseFloat(strings.TrimSpace(s), 32)
			if err != nil {
				return fmt.Errorf("found %q, want a number", s)
			}
			e.Label = append(e.Label, float32(v))
		}
		list = append(list, e)
		return nil
	})
	return list, err
}

// WriteImageList writes a .lst file.
func WriteImageList(w io.Writer, list []ImageEntry) error {
	b := bufio.NewWriter(w)
	for _, e := range list {
		fmt.Fprintf(b, "%d\t", e.ID)
		for _, v := range e.Label {
			fmt.Fprintf(b, "%f\t", v)
		}
		fmt.Fprintln(b, e.Path)
	}
	return b.Flush()
}

// ListImages lists the pictures in a folder, sorted by name. With classes, it lists the pictures in
// the folders of root: each folder is a class, and its index in sorted order is the label. Without
// classes, all labels are 0 and folders are ignored.
func ListImages(root string, classes bool) ([]ImageEntry, error) {
	var list []ImageEntry
	numbers := map[string]float32{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && !classes {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(imageEndings, strings.ToLower(filepath.Ext(path))) {
			return nil
		}
		e := ImageEntry{ID: uint64(len(list)), Label: []float32{0}, Path: path}
		if class, _, ok := strings.Cut(path, "/"); ok {
			n, known := numbers[class]
			if !known {
				n = float32(len(numbers))
				numbers[class] = n
			}
			e.Label[0] = n
		}
		list = append(list, e)
		return nil
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: found no pictures", root)
	}
	if err != nil {
		return nil, fmt.Errorf("io: %w", err)
	}
	return list, nil
}

// imageEndings are the file name extensions of pictures.
var imageEndings = []string{".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp"}
