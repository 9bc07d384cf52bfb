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

// PackConfig says how PackImages stores pictures.
type PackConfig struct {
	PassThrough bool         // files are stored as they are
	Resize      int          // the shorter side becomes so long; 0: it stays
	CenterCrop  bool         // to a square
	Interp      image.Interp // by which pictures are resized
	Gray        bool         // luminance only
	PNG         bool         // instead of JPEG
	Quality     int          // of a JPEG, 1 to 100; 0: 95
	Threads     int          // 0: the cores
	// Packed is called after every so many pictures, by one goroutine at a time.
	Packed func(done, all int)
}

// PackImages stores pictures in prefix.rec, with prefix.idx beside it, as MXNet's im2rec does.
// Paths count from root. A picture that cannot be read ends it with an error that names the file;
// what has been written then is removed.
func PackImages(ctx context.Context, prefix, root string, list []ImageEntry,
	c PackConfig) (err error) {
	if c.Quality == 0 {
		c.Quality = 95
	}
	if c.Quality < 1 || c.Quality > 100 || c.Resize < 0 {
		return fmt.Errorf("io: packing with quality %d and sides of %d, want 1 to 100 and 0 or "+
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
	const round = 64 // pictures that are made at once
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

// each calls f for n numbers, on the threads.
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

// content returns what is stored of a file.
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
