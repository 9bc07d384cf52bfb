package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Curve is a named sequence of values. Steps do not decrease.
type Curve struct {
	Name  string
	Step  []int64
	Time  []int64 // nanoseconds since 1970
	Value []float64
}

// Data is the content of a run's folder. Curves and histograms of workers of rank 1 and above have
// names that begin with "worker 1/" and so on. It is used by one goroutine at a time.
type Data struct {
	Dir        string
	Begins     []Begin // processes of rank 0 that have written the run
	Curves     []*Curve
	Histograms map[string][]Histogram
	Network
	Results
	Events  []Event
	Ended   bool      // a process has closed the run
	Changed time.Time // time of the newest record
	Version int       // grows with every change

	files map[string]*file
	index map[string]*Curve
}

// Network is the content of a run that describes its network. Each part may be nil.
type Network struct {
	Graph        *Graph
	Memory       *Memory
	Timeline     *Timeline
	TimelineStep int64
}

// Results are the parameters and the outcome of a run.
type Results struct {
	Hyper       map[string]any
	Scores      map[string]float64
	Matrix      *Matrix
	MatrixStep  int64
	Samples     []Sample
	SamplesStep int64
}

// file is a file of a run that is being read.
type file struct {
	*FileReader
	prefix string
	tags   []string
	failed error // damage behind which nothing is read
}

// Load reads the folder of a run.
func Load(dir string) (*Data, error) {
	d := &Data{Dir: dir, files: map[string]*file{}, index: map[string]*Curve{}}
	_, err := d.Update()
	return d, err
}

// Close closes the files.
func (d *Data) Close() error {
	var err error
	for _, f := range d.files {
		err = errors.Join(err, f.Close())
	}
	d.files = map[string]*file{}
	return err
}

// Update reads the records that have been written since, and reports whether there were any. A file
// that is damaged is read up to the damage, which is the error then; the other files are read.
func (d *Data) Update() (changed bool, err error) {
	names, err := filepath.Glob(filepath.Join(escape(d.Dir), "events*.gomx"))
	if err != nil {
		return false, fmt.Errorf("runs: %w", err)
	}
	if len(names) == 0 {
		return false, fmt.Errorf("runs: %s: %w: no %s in it", d.Dir, fs.ErrNotExist, FileName(0))
	}
	for _, path := range names {
		f := d.files[path]
		if f == nil {
			r, e := OpenReader(path)
			if e != nil {
				err = errors.Join(err, e)
				continue
			}
			f = &file{FileReader: r}
			if rank, ok := rankOf(path); ok && rank > 0 {
				f.prefix = fmt.Sprintf("worker %d/", rank)
			}
			d.files[path] = f
		}
		more, e := d.read(f)
		changed, err = changed || more, errors.Join(err, e)
	}
	if changed {
		d.Version++
	}
	return changed, err
}

// rankOf returns the rank in the name of a file.
func rankOf(path string) (rank int, ok bool) {
	_, err := fmt.Sscanf(filepath.Base(path), "events-worker-%d.gomx", &rank)
	return rank, err == nil
}

// escape hides the characters of a path that Glob would take for patterns.
func escape(path string) string {
	if os.PathSeparator == '\\' {
		return path // there is no escape on Windows, whose paths seldom have patterns
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// read adds the new records of a file.
func (d *Data) read(f *file) (changed bool, err error) {
	for f.failed == nil {
		rec, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = d.add(f, rec)
		}
		if err != nil {
			f.failed = fmt.Errorf("%s: %w", f.f.Name(), err)
			break
		}
		changed = true
		if rec.Time.After(d.Changed) {
			d.Changed = rec.Time
		}
	}
	return changed, f.failed
}

// add adds a record.
func (d *Data) add(f *file, rec *Record) error {
	switch {
	case rec.Begin != nil:
		f.tags = nil
		d.hide(f, rec.Begin)
		if f.prefix == "" {
			d.Begins, d.Ended = append(d.Begins, *rec.Begin), false
		}
	case rec.Tag != "":
		f.tags = append(f.tags, f.prefix+rec.Tag)
	case rec.Histogram != nil:
		if d.Histograms == nil {
			d.Histograms = map[string][]Histogram{}
		}
		name := f.tags[rec.Of]
		d.Histograms[name] = append(d.Histograms[name], *rec.Histogram)
	case rec.Note != "":
		return d.note(f, rec)
	default:
		for _, p := range rec.Points {
			d.curve(f.tags[p.Tag]).insert(rec.Step, rec.Time.UnixNano(), p.Value)
		}
	}
	return nil
}

// curve returns the curve of a name.
func (d *Data) curve(name string) *Curve {
	c := d.index[name]
	if c == nil {
		c = &Curve{Name: name}
		d.index[name] = c
		i, _ := slices.BinarySearchFunc(d.Curves, name,
			func(c *Curve, name string) int { return strings.Compare(c.Name, name) })
		d.Curves = slices.Insert(d.Curves, i, c)
	}
	return c
}

// Curve returns the curve of a name, nil if there is none.
func (d *Data) Curve(name string) *Curve { return d.index[name] }

// insert adds a point behind the points of its step and of the steps before.
func (c *Curve) insert(step, at int64, value float64) {
	i := len(c.Step)
	for i > 0 && c.Step[i-1] > step {
		i--
	}
	c.Step, c.Time, c.Value = slices.Insert(c.Step, i, step), slices.Insert(c.Time, i, at),
		slices.Insert(c.Value, i, value)
}

// cut removes the points of a step and of later ones.
func (c *Curve) cut(step int64) {
	n := len(c.Step)
	for n > 0 && c.Step[n-1] >= step {
		n--
	}
	c.Step, c.Time, c.Value = c.Step[:n], c.Time[:n], c.Value[:n]
}

// hide removes the points that a process of a file records anew.
func (d *Data) hide(f *file, b *Begin) {
	own := func(name string) bool {
		if f.prefix != "" {
			return strings.HasPrefix(name, f.prefix)
		}
		return !strings.HasPrefix(name, "worker ")
	}
	first := int64(math.MinInt64) // step that is hidden
	if b.Step > 0 {
		first = b.Step + 1
	}
	for _, c := range d.Curves {
		if own(c.Name) {
			c.cut(first)
		}
	}
	for name, list := range d.Histograms {
		if own(name) {
			d.Histograms[name] = slices.DeleteFunc(list,
				func(h Histogram) bool { return h.Step >= first })
		}
	}
	if b.Step == 0 && f.prefix == "" {
		d.Events, d.Scores, d.Matrix, d.Samples, d.Timeline = nil, nil, nil, nil, nil
	}
}

// note adds a note. Notes of unknown names are passed over.
func (d *Data) note(f *file, rec *Record) (err error) {
	first := f.prefix == ""
	switch rec.Note {
	case noteHyper:
		if first {
			err = into(&d.Hyper, rec)
		}
	case noteScore:
		var s score
		if err = into(&s, rec); err == nil && first {
			if d.Scores == nil {
				d.Scores = map[string]float64{}
			}
			d.Scores[s.Name] = float64(s.Value)
		}
	case noteGraph:
		err = into(&d.Graph, rec)
	case noteMemory:
		err = into(&d.Memory, rec)
	case noteTimeline:
		if first {
			d.TimelineStep = rec.Step
			err = into(&d.Timeline, rec)
		}
	case noteEvent:
		var e Event
		if err = into(&e, rec); err == nil {
			if first || !d.known(&e) {
				d.Events = append(d.Events, e)
			}
		}
	case noteMatrix:
		d.MatrixStep = rec.Step
		err = into(&d.Matrix, rec)
	case noteSamples:
		d.SamplesStep = rec.Step
		err = into(&d.Samples, rec)
	case noteEnd:
		d.Ended = d.Ended || first
	}
	return err
}

// known reports whether another worker has recorded the same event.
func (d *Data) known(e *Event) bool {
	return slices.ContainsFunc(d.Events, func(o Event) bool {
		return o.Kind == e.Kind && o.Node == e.Node && o.Text == e.Text
	})
}

// into decodes the JSON of a note into a new value.
func into[T any](to *T, rec *Record) error {
	var v T
	if err := json.Unmarshal(rec.Text, &v); err != nil {
		return fmt.Errorf("%w: note %q: %w", ErrDamaged, rec.Note, err)
	}
	*to = v
	return nil
}

// Last returns the last value of a curve, NaN without values.
func (c *Curve) Last() float64 {
	if c == nil || len(c.Value) == 0 {
		return math.NaN()
	}
	return c.Value[len(c.Value)-1]
}
