package io

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"gomx/device"
	"gomx/io/image"
)

// PackConfig is the format in which PackImages stores pictures.
type PackConfig struct {
	PassThrough bool         // store the bytes of the files unchanged
	Resize      int          // new length of the shorter side, in pixels; 0: unchanged
	CenterCrop  bool         // cut out the square in the middle
	Interp      image.Interp // method of resizing
	Gray        bool         // store luminance only
	PNG         bool         // encode as PNG instead of JPEG
	Quality     int          // JPEG quality, 1 to 100; 0: 95
	Threads     int          // 0: number of cores
	// Packed is called after every round of pictures, by one goroutine at a time.
	Packed func(done, all int)
}

// PackImages stores pictures in prefix.rec and their index in prefix.idx, as MXNet's im2rec does.
// Paths are relative to root. If a picture cannot be read, PackImages returns an error that names
// its file, and removes the files that it has begun.
func PackImages(ctx context.Context, prefix, root string, list []ImageEntry,
	c PackConfig) (err error) {
	if c.Quality == 0 {
		c.Quality = 95
	}
	if c.Quality < 1 || c.Quality > 100 || c.Resize < 0 {
		return fmt.Errorf("io: PackImages: quality %d and side %d, want 1 to 100 and 0 or "+
			"more", c.Quality, c.Resize)
	}
	if c.Threads < 1 {
		c.Threads = device.Cores()
	}
	rec, err := os.Create(prefix + ".rec")
	if err != nil {
		return fmt.Errorf("io: %w", err)
	}
	idx, err := os.Create(prefix + ".idx")
	if err != nil {
		return errors.Join(fmt.Errorf("io: %w", err), rec.Close(), os.Remove(rec.Name()))
	}
	out, index := bufio.NewWriterSize(rec, 1<<20), bufio.NewWriter(idx)
	w := NewRecordWriter(out)
	defer func() {
		err = errors.Join(err, out.Flush(), index.Flush(), rec.Close(), idx.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(rec.Name()), os.Remove(idx.Name()))
		}
	}()
	const round = 64 // pictures that are encoded at once
	contents, errs := make([][]byte, round), make([]error, round)
	for from := 0; from < len(list); from += round {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := list[from:min(from+round, len(list))]
		c.each(len(part), func(i int) {
			contents[i], errs[i] = c.content(filepath.Join(root, filepath.FromSlash(part[i].Path)))
		})
		if err := errors.Join(errs[:len(part)]...); err != nil {
			return err
		}
		for i, e := range part {
			if _, err := fmt.Fprintf(index, "%d\t%d\n", e.ID, w.Offset()); err != nil {
				return err
			}
			if err := w.Write(PackRecord(RecordHeader{Label: e.Label, ID: e.ID},
				contents[i])); err != nil {
				return err
			}
		}
		if c.Packed != nil {
			c.Packed(from+len(part), len(list))
		}
	}
	return nil
}

// each calls f for the numbers below n, on Threads goroutines.
func (c *PackConfig) each(n int, f func(i int)) {
	var wg sync.WaitGroup
	threads := min(c.Threads, n)
	for t := range threads {
		wg.Go(func() {
			for i := t; i < n; i += threads {
				f(i)
			}
		})
	}
	wg.Wait()
}

// content returns the bytes to store for a file.
func (c *PackConfig) content(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || c.PassThrough {
		return data, err
	}
	mode := image.RGB
	if c.Gray {
		mode = image.Gray
	}
	m, err := image.Decode(data, mode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if side := min(m.Width, m.Height); c.CenterCrop && m.Width != m.Height {
		m = m.CenterCrop(side, side)
	}
	if c.Resize > 0 {
		m = m.ResizeShort(c.Resize, c.Interp)
	}
	if c.PNG {
		return m.PNG()
	}
	return m.JPEG(c.Quality)
}
