package io

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// scanRecords returns where the records of a file begin. It reads their headers only.
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
			return nil, fmt.Errorf("record %d: magic number %#x at byte %d, want %#x", len(list), m, at, uint32(recordMagic))
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

// readList reads the labels of a .lst file: in every line the number of a picture, its label, and a path, separated by tabs.
func (p *pictures) readList(path string) error {
	return eachLine(path, func(line []byte) error {
		fields := strings.Split(string(line), "\t")
		if len(fields) < 3 {
			return fmt.Errorf("%d fields, want the number of a picture, its label and a path", len(fields))
		}
		id, err := strconv.ParseUint(strings.TrimSpace(fields[0]), 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not the number of a picture", fields[0])
		}
		var label []float32
		for _, s := range fields[1 : len(fields)-1] {
			v, err := strconv.ParseFloat(strings.TrimSpace(s), 32)
			if err != nil {
				return fmt.Errorf("%q is not a number", s)
			}
			label = append(label, float32(v))
		}
		p.labels[id] = label
		return nil
	})
}
