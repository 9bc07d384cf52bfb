package measure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gomx/dtype"
	"gomx/kvstore/wire"
	"gomx/launch"
	"gomx/plan"
	sym "gomx/symbol"
)

// Measurer runs measurements.
type Measurer struct {
	Program []string // command line of this program up to the task; NodeCommand is its end
	Dir     string   // folder for temporary files
	// Once measures everything once, and the memory of two sizes alone. The result is rough.
	Once bool
	// Report, if set, gets a line of text before each measurement.
	Report func(text string)
}

// times returns the number of repetitions.
func (m *Measurer) times(n int) int {
	if m.Once {
		return 1
	}
	return n
}

// report announces a measurement.
func (m *Measurer) report(format string, args ...any) {
	if m.Report != nil {
		m.Report(fmt.Sprintf(format, args...))
	}
}

// jobSpec is a job of real processes.
type jobSpec struct {
	workers, servers int
	way              string // of plan.WayNames
	task             task
}

// encryption is the kind of encryption of each way.
var encryption = map[string]string{plan.WayBulk: launch.EncryptBulk,
	plan.WayCurve: launch.EncryptCurve}

// jobTime is the longest time of a measured job.
const jobTime = 3 * time.Minute

// run runs a job and returns the output of its workers by rank.
func (m *Measurer) run(ctx context.Context, j jobSpec) ([]json.RawMessage, error) {
	dir, err := os.MkdirTemp(m.Dir, "job-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	j.task.Dir = dir
	text, err := json.Marshal(&j.task)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	out := &outputs{list: make([]json.RawMessage, j.workers)}
	var said bytes.Buffer
	var mu sync.Mutex
	var noting error
	l := launch.Local{Program: append(append([]string{}, m.Program...), string(text)),
		Workers: j.workers, Servers: j.servers, Restarts: -1, Dir: dir, Stdout: out, Stderr: &said,
		TCP: j.way != plan.WayShared, Encrypt: encryption[j.way],
		Started: func(n wire.Node, pid int) {
			mu.Lock()
			defer mu.Unlock()
			noting = errors.Join(noting, writePID(dir, n.String(), pid))
		}}
	if j.way != plan.WayShared {
		l.Env = append(l.Env, "GOMX_SHARED_MEMORY=off")
	}
	if err := l.Run(ctx); err != nil {
		return nil, fmt.Errorf("measure: %w: %s", err, lastLine(said.String()))
	}
	if noting != nil {
		return nil, noting
	}
	for rank, line := range out.list {
		if line == nil {
			return nil, fmt.Errorf("measure: worker %d has printed no figures: %s", rank,
				lastLine(said.String()))
		}
	}
	return out.list, nil
}

// outputs collects the line of every worker.
type outputs struct {
	list []json.RawMessage
	rest []byte
}

// Write implements io.Writer; launch calls it for one line at a time.
func (o *outputs) Write(b []byte) (int, error) {
	o.rest = append(o.rest, b...)
	for {
		line, rest, ok := bytes.Cut(o.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		o.rest = rest
		var rank int
		head, text, ok := strings.Cut(string(line), "] ")
		if _, err := fmt.Sscanf(head, "[worker %d", &rank); ok && err == nil &&
			rank < len(o.list) && json.Valid([]byte(text)) {
			o.list[rank] = json.RawMessage(text)
		}
	}
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// alone runs processes of a task that do not belong to a job, several times. It returns the figures
// that come first in an order, with the median of the memory of the first process.
func (m *Measurer) alone(ctx context.Context, t task, count int,
	order func(a, b []computeFigures) int) ([]computeFigures, error) {
	rounds := make([][]computeFigures, m.times(computeRounds))
	for i := range rounds {
		var err error
		if rounds[i], err = m.aloneOnce(ctx, t, count); err != nil {
			return nil, err
		}
	}
	var memory []float64
	for _, list := range rounds {
		memory = append(memory, float64(list[0].Memory))
	}
	each := calmest(rounds)
	slices.SortFunc(rounds, order)
	list := rounds[0]
	list[0].Memory, list[0].Each = int64(median(memory)), each
	return list, nil
}

// calmest returns the times of the steps of the first process, from the round in which they differ
// least: other programs only add to the differences.
func calmest(rounds [][]computeFigures) []float64 {
	return slices.MinFunc(rounds, func(a, b []computeFigures) int {
		return cmp.Compare(spread(a[0].Each), spread(b[0].Each))
	})[0].Each
}

// aloneOnce runs the processes once. They begin to measure at the same time.
func (m *Measurer) aloneOnce(ctx context.Context, t task, count int) ([]computeFigures, error) {
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	text, err := json.Marshal(&t)
	if err != nil {
		return nil, err
	}
	var list []*child
	defer func() {
		cancel()
		for _, c := range list {
			c.cmd.Wait()
		}
	}()
	for range count {
		c, err := m.start(ctx, string(text))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	for _, c := range list {
		var ready string
		if err := c.read(&ready); err != nil {
			return nil, err
		}
	}
	for _, c := range list {
		if _, err := c.in.Write([]byte("go\n")); err != nil {
			return nil, err
		}
	}
	figures := make([]computeFigures, count)
	for i, c := range list {
		if err := c.read(&figures[i]); err != nil {
			return nil, err
		}
	}
	return figures, nil
}

// child is a process that belongs to no job.
type child struct {
	cmd  *exec.Cmd
	in   interface{ Write([]byte) (int, error) }
	out  *json.Decoder
	said *bytes.Buffer
}

func (m *Measurer) start(ctx context.Context, text string) (*child, error) {
	args := append(append([]string{}, m.Program[1:]...), text)
	c := &child{cmd: exec.CommandContext(ctx, m.Program[0], args...), said: &bytes.Buffer{}}
	c.cmd.Stderr = c.said
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, json.NewDecoder(out)
	return c, c.cmd.Start()
}

// read decodes the next value that a process prints.
func (c *child) read(v any) error {
	if err := c.out.Decode(v); err != nil {
		_ = c.cmd.Wait() // its text says more
		return fmt.Errorf("measure: %w: %s", err, lastLine(c.said.String()))
	}
	return nil
}

// network writes the file of a symbol.
func (m *Measurer) network(s *sym.Symbol, shapes map[string]dtype.Shape) (network, error) {
	data, err := s.JSON()
	if err != nil {
		return network{}, err
	}
	f, err := os.CreateTemp(m.Dir, "plan-*-symbol.json")
	if err != nil {
		return network{}, err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return network{filepath.Clean(f.Name()), shapes}, err
}
