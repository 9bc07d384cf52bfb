package io

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// pictureSource has the encoded pictures of a data set: records of a RecordIO file, or files.
type pictureSource struct {
	path    string   // of the RecordIO file, or the folder of the files
	f       *os.File // RecordIO file; nil: pictures are files
	offsets []int64  // of the records
	entries []ImageEntry
	list    string               // .lst file whose labels replace those in records; empty: none
	labels  map[uint64][]float32 // labels of list, by the number of the picture
}

// openRecords opens a RecordIO file. index and list may be empty.
func openRecords(path, index, list string) (*pictureSource, error) {
	s := &pictureSource{path: path, list: list}
	if list != "" {
		entries, err := ReadImageList(list)
		if err != nil {
			return nil, err
		}
		s.labels = map[uint64][]float32{}
		for _, e := range entries {
			s.labels[e.ID] = e.Label
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("io: %w", err)
	}
	s.f = f
	if index == "" {
		s.offsets, err = scanRecords(f)
	} else {
		s.offsets, err = indexedOffsets(index)
	}
	if err == nil && len(s.offsets) == 0 {
		err = fmt.Errorf("found no records")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("io: %s: %w", path, err), f.Close())
	}
	return s, nil
}

// indexedOffsets returns the offsets of records in the order of an index.
func indexedOffsets(index string) (list []int64, err error) {
	x, err := openRecordIndex(index)
	if err != nil {
		return nil, err
	}
	for _, k := range x.Keys {
		list = append(list, x.Offset[k])
	}
	return list, nil
}

// len returns the number of pictures.
func (s *pictureSource) len() int {
	if s.f != nil {
		return len(s.offsets)
	}
	return len(s.entries)
}

// close closes the file.
func (s *pictureSource) close() error {
	if s.f == nil {
		return nil
	}
	return s.f.Close()
}

// part keeps one of several ranges of the pictures, of equal length; the rest at the end is left
// out.
func (s *pictureSource) part(part, parts int) error {
	if parts <= 1 && part == 0 {
		return nil
	}
	n := s.len() / max(1, parts)
	if part < 0 || part >= parts || n == 0 {
		return fmt.Errorf("io: %s: part %d of %d of %d pictures, want a part below their number "+
			"with at least one picture", s.path, part, parts, s.len())
	}
	if s.f != nil {
		s.offsets = s.offsets[part*n : (part+1)*n]
	} else {
		s.entries = s.entries[part*n : (part+1)*n]
	}
	return nil
}

// name names a picture in errors.
func (s *pictureSource) name(row int) string {
	if s.f != nil {
		return fmt.Sprintf("%s: record %d", s.path, row)
	}
	return filepath.Join(s.path, filepath.FromSlash(s.entries[row].Path))
}

// get returns the file of a picture, and its label. The file shares memory with r.
func (s *pictureSource) get(r *RecordReader, row int) (content []byte, label []float32, err error) {
	if s.f == nil {
		content, err = os.ReadFile(s.name(row))
		return content, s.entries[row].Label, err
	}
	off := s.offsets[row]
	r.r = io.NewSectionReader(s.f, off, math.MaxInt64-off)
	payload, err := r.Next()
	if err != nil {
		return nil, nil, truncated(err)
	}
	h, content, err := UnpackRecord(payload)
	if err != nil {
		return nil, nil, err
	}
	label, err = s.listed(h)
	return content, label, err
}

// listed returns the label of a record, or of the list in its place.
func (s *pictureSource) listed(h RecordHeader) ([]float32, error) {
	if s.list == "" {
		return h.Label, nil
	}
	label := s.labels[h.ID]
	if label == nil {
		return nil, fmt.Errorf("picture %d is not in %s", h.ID, s.list)
	}
	return label, nil
}

// label returns the label of a picture. It reads the picture only where labels stand in a record of
// several parts.
func (s *pictureSource) label(r *RecordReader, row int) ([]float32, error) {
	if s.f == nil {
		return s.entries[row].Label, nil
	}
	head := make([]byte, 8+recordHeaderLen)
	if _, err := s.f.ReadAt(head, s.offsets[row]); err == nil &&
		binary.LittleEndian.Uint32(head) == recordMagic {
		word := binary.LittleEndian.Uint32(head[4:])
		size := int64(word & maxRecordLen)
		numbers := int64(binary.LittleEndian.Uint32(head[8:])) // 0: one, in the header
		if word>>29 == partWhole && recordHeaderLen+4*numbers <= size {
			b := make([]byte, recordHeaderLen+4*numbers)
			if _, err := s.f.ReadAt(b, s.offsets[row]+8); err != nil {
				return nil, truncated(err)
			}
			h, _, err := UnpackRecord(b)
			if err != nil {
				return nil, err
			}
			return s.listed(h)
		}
	}
	_, label, err := s.get(r, row)
	return label, err
}

// eachLabel calls f for the labels of all pictures.
func (s *pictureSource) eachLabel(f func(label []float32) error) error {
	var r RecordReader
	for row := range s.len() {
		label, err := s.label(&r, row)
		if err == nil {
			err = f(label)
		}
		if err != nil {
			return fmt.Errorf("io: %s: %w", s.name(row), err)
		}
	}
	return nil
}

// pictureColumns computes the data and the labels of batches from a source, on several threads. The
// random stream of a picture depends on the seed, the epoch and its row.
type pictureColumns struct {
	src     *pictureSource
	threads int
	seed    uint64
	ord     *order
	// sample makes a sample and its label of the file of a picture and of the label in the source.
	sample func(dst []byte, label []float32, content []byte, given []float32, r *rand.Rand) error
	width  int       // numbers in a label
	drawn  []float32 // labels of the rows that were read last
}

// table returns an iterator over the pictures. It closes the source if it fails.
func (p *pictureColumns) table(data, label Desc, o tableOptions) (*Table, error) {
	n := p.src.len()
	p.width = label.Shape.Size()
	t, err := newTable([]column{{name: data.Name, row: data.Shape, typ: data.DType, n: n,
		read: p.read}}, []column{{name: label.Name, row: label.Shape, typ: dtype.Float32, n: n,
		fill: p.fillLabels}}, o)
	if err != nil {
		return nil, errors.Join(err, p.src.close())
	}
	p.ord, p.seed = t.ord, o.seed
	return t, nil
}

// read reads the samples of rows, each on one of the threads.
func (p *pictureColumns) read(dst []byte, rows []int) error {
	n := len(dst) / len(rows)
	p.drawn = append(p.drawn[:0], make([]float32, len(rows)*p.width)...)
	var next atomic.Int64
	errs := make([]error, min(p.threads, len(rows)))
	var wg sync.WaitGroup
	for t := range errs {
		wg.Go(func() {
			w := pictureReader{p: p}
			for {
				i := int(next.Add(1)) - 1
				if i >= len(rows) {
					return
				}
				if err := w.read(dst[i*n:(i+1)*n], p.drawn[i*p.width:][:p.width],
					rows[i]); err != nil {
					errs[t] = fmt.Errorf("%s: %w", p.src.name(rows[i]), err)
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// fillLabels returns the labels of the rows that have just been read.
func (p *pictureColumns) fillLabels(dst []byte, _ []int) { copy(floatsOf(dst), p.drawn) }

// pictureReader is the state of one thread that reads samples.
type pictureReader struct {
	p    *pictureColumns
	file RecordReader
	rng  rand.PCG
}

// read reads one sample and its label.
func (w *pictureReader) read(dst []byte, label []float32, row int) error {
	p := w.p
	content, given, err := p.src.get(&w.file, row)
	if err != nil {
		return err
	}
	w.rng.Seed(p.seed^0x9e3779b97f4a7c15, uint64(p.ord.epoch)<<40|uint64(row))
	return p.sample(dst, label, content, given, rand.New(&w.rng))
}

// copyLabel copies a label, which must have as many numbers as its place.
func copyLabel(dst, label []float32) error {
	if len(label) != len(dst) {
		return fmt.Errorf("label of %d numbers, want %d", len(label), len(dst))
	}
	copy(dst, label)
	return nil
}

// labelRow returns the shape of one label of a number of values.
func labelRow(width int) nd.Shape {
	if width == 1 {
		return nd.Shape{}
	}
	return nd.Shape{width}
}
