package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
)

// Options are the options of Open.
type Options struct {
	// Part is the part of the files that is read, of Parts equal ones by bytes; Parts 0: all. A
	// line belongs to the part that has the byte before it, the first line of a file to the part
	// that has its first byte. So each line is in exactly one part, whole.
	Part, Parts int
	Comments    bool // lines that begin with # are no samples
	Threads     int  // most threads that read and parse; 0: number of processors
}

// Lines are the lines of files that are samples: all but blank lines and comments. They are used by
// one goroutine at a time, and must be closed.
//
// Invariants:
//
//  1. files lie one after the other: files[i].end == files[i+1].begin, and files[0].begin is 0;
//  2. starts ascend; each is the place of a sample's line in the files put together;
//  3. starts are below end, where a line or the last file ends.
type Lines struct {
	files   []source
	starts  []int64
	end     int64
	before  int64 // place where the part begins
	threads int
	options Options
	buffers [][]byte // of the threads
	closed  bool
}

// source is a file and its place in all files put together.
type source struct {
	*os.File
	begin, end int64
}

// Open opens files: a file, a folder, whose files are read in the order of their names, or several
// of both, separated by semicolons. It finds the lines of the part.
func Open(names string, o Options) (*Lines, error) {
	if o.Part < 0 || o.Part >= max(o.Parts, 1) {
		return nil, fmt.Errorf("part %d of %d, want a part below their number", o.Part,
			max(o.Parts, 1))
	}
	l := &Lines{threads: o.Threads, options: o}
	if l.threads < 1 {
		l.threads = runtime.GOMAXPROCS(0)
	}
	err := l.open(names)
	if err == nil {
		err = l.find()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// open opens the files of names that are not empty.
func (l *Lines) open(names string) error {
	for name := range strings.SplitSeq(names, ";") {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		list := []string{name}
		if info.IsDir() {
			entries, err := os.ReadDir(name)
			if err != nil {
				return err
			}
			list = nil
			for _, e := range entries {
				if e.Type().IsRegular() {
					list = append(list, filepath.Join(name, e.Name()))
				}
			}
		}
		for _, path := range list {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
				err = fmt.Errorf("%s is no regular file", path)
			}
			l.files = append(l.files, source{f, l.end, l.end + info.Size()})
			if err != nil {
				return err
			}
			l.end += info.Size()
		}
	}
	return nil
}

// Close closes the files.
func (l *Lines) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Len returns the number of lines.
func (l *Lines) Len() int { return len(l.starts) }

// find finds the lines of the part.
func (l *Lines) find() (err error) {
	total := l.end
	if parts := int64(l.options.Parts); parts > 1 {
		step, part := (total+parts-1)/parts, int64(l.options.Part)
		if l.before, err = l.lineFrom(min(part*step, total)); err != nil {
			return err
		}
		if l.end, err = l.lineFrom(min((part+1)*step, total)); err != nil {
			return err
		}
	}
	for _, f := range l.files {
		begin, end := max(f.begin, l.before), min(f.end, l.end)
		err := f.eachLine(begin, end, l.options.Comments, func(start int64) {
			l.starts = append(l.starts, start)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lineFrom returns the place of the first line that begins behind place at, or at it where a file
// begins there.
func (l *Lines) lineFrom(at int64) (int64, error) {
	f := l.fileOf(at)
	if f == nil || f.begin == at {
		return at, nil
	}
	buf := make([]byte, 1<<16)
	for at < f.end {
		b := buf[:min(int64(len(buf)), f.end-at)]
		if err := f.read(b, at); err != nil {
			return 0, err
		}
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		at += int64(len(b))
	}
	return f.end, nil
}

// fileOf returns the file that has the byte at a place; nil if none has.
func (l *Lines) fileOf(at int64) *source {
	i := sort.Search(len(l.files), func(i int) bool { return l.files[i].end > at })
	if i == len(l.files) {
		return nil
	}
	return &l.files[i]
}

// read fills b with the bytes from a place on.
func (f *source) read(b []byte, at int64) error {
	n, err := f.ReadAt(b, at-f.begin)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: ends after %d bytes, had %d when it was opened", f.Name(),
			at-f.begin+int64(n), f.end-f.begin)
	}
	return err
}

// eachLine calls found with the places of the samples' lines between two beginnings of lines.
func (f *source) eachLine(begin, end int64, comments bool, found func(start int64)) error {
	if begin >= end {
		return nil
	}
	buf := make([]byte, min(1<<20, end-begin))
	start, blank := begin, true // nothing but spaces since start
	for at := begin; at < end; {
		b := buf[:min(int64(len(buf)), end-at)]
		if err := f.read(b, at); err != nil {
			return err
		}
		for i := 0; i < len(b); {
			if blank {
				c := b[i]
				if isSpace(c) {
					i++
					continue
				}
				blank = false
				if c != '\n' && (c != '#' || !comments) {
					found(start)
				}
			}
			n := bytes.IndexByte(b[i:], '\n')
			if n < 0 {
				break
			}
			i += n + 1
			start, blank = at+int64(i), true
		}
		at += int64(len(b))
	}
	return nil
}

// isSpace reports whether c is a space within a line.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// CountBefore returns the number of samples before the part.
func (l *Lines) CountBefore() (n int, err error) {
	for _, f := range l.files {
		err := f.eachLine(f.begin, min(f.end, l.before), l.options.Comments, func(int64) { n++ })
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Keep keeps the n lines from line first on.
func (l *Lines) Keep(first, n int) {
	if first+n < len(l.starts) {
		l.end = l.starts[first+n]
	}
	l.starts = l.starts[first : first+n]
}

const (
	pieceBytes  = 256 << 10 // most bytes of several lines that are read at once
	workerBytes = 64 << 10  // bytes that make one more thread worth it
)

// Workers returns the number of threads that Each uses for rows.
func (l *Lines) Workers(rows []int) int {
	bytes := int64(0)
	for _, r := range rows {
		bytes += l.behind(r) - l.starts[r]
	}
	return int(max(1, min(int64(l.threads), int64(len(rows)), bytes/workerBytes)))
}

// behind returns the place behind a line, or behind blank lines and comments after it.
func (l *Lines) behind(row int) int64 {
	if row+1 < len(l.starts) {
		return l.starts[row+1]
	}
	return l.end
}

// Each calls f for the lines of rows, without their ends. i is the position in rows. Worker w of
// Workers(rows) gets a range of them, in their order; the ranges lie one after the other. The bytes
// are valid during the call only. The error is the first one in the order of rows; a Fault gets the
// names of file and line.
func (l *Lines) Each(rows []int, f func(worker, i int, line []byte) error) error {
	n := l.Workers(rows)
	for len(l.buffers) < n {
		l.buffers = append(l.buffers, nil)
	}
	if n == 1 {
		return l.each(0, 0, rows, f)
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() {
			begin, end := w*len(rows)/n, (w+1)*len(rows)/n
			errs[w] = l.each(w, begin, rows[begin:end], f)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// each is Each for the range of one worker, which begins at position at.
func (l *Lines) each(worker, at int, rows []int, f func(worker, i int, line []byte) error) error {
	for len(rows) > 0 {
		begin := l.starts[rows[0]]
		file := l.fileOf(begin)
		n, end := 0, begin // lines that are read at once, and the place behind them
		for n < len(rows) && rows[n] == rows[0]+n && l.starts[rows[n]] < file.end {
			next := min(l.behind(rows[n]), file.end)
			if n > 0 && next-begin > pieceBytes {
				break
			}
			n, end = n+1, next
		}
		if int64(cap(l.buffers[worker])) < end-begin {
			l.buffers[worker] = make([]byte, max(end-begin, min(pieceBytes, file.end-file.begin)))
		}
		buf := l.buffers[worker][:end-begin]
		if err := file.read(buf, begin); err != nil {
			return err
		}
		for i := range n {
			line := buf[l.starts[rows[i]]-begin:]
			if k := bytes.IndexByte(line, '\n'); k >= 0 {
				line = line[:k]
			}
			if err := f(worker, at+i, line); err != nil {
				return l.locate(err, l.starts[rows[i]])
			}
		}
		at, rows = at+n, rows[n:]
	}
	return nil
}

// Fault is a fault of a line.
type Fault struct {
	Column int // byte of the line where it lies, counted from 1
	Text   string
}

// Error implements error.
func (f *Fault) Error() string { return fmt.Sprintf("column %d: %s", f.Column, f.Text) }

// locate adds file and line to an error of the line at a place.
func (l *Lines) locate(err error, at int64) error {
	var fault *Fault
	file := l.fileOf(at)
	number, ioErr := file.lineNumber(at)
	switch {
	case ioErr != nil:
		return errors.Join(err, ioErr)
	case errors.As(err, &fault):
		return fmt.Errorf("%s:%d:%d: %s", file.Name(), number, fault.Column, fault.Text)
	}
	return fmt.Errorf("%s:%d: %w", file.Name(), number, err)
}

// lineNumber returns the number of the line at a place, counted from 1.
func (f *source) lineNumber(at int64) (int, error) {
	n, buf := 1, make([]byte, 1<<16)
	for from := f.begin; from < at; {
		b := buf[:min(int64(len(buf)), at-from)]
		if err := f.read(b, from); err != nil {
			return 0, err
		}
		n += bytes.Count(b, []byte{'\n'})
		from += int64(len(b))
	}
	return n, nil
}
