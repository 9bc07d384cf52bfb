package measure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"gomx/device"
	"gomx/dtype"
	"gomx/plan"
	sym "gomx/symbol"
)

// Cache keeps the calibrations of a machine and of networks in a file. The file belongs to a model
// of processor, a number of cores and a version of gomx. A file that cannot be read is measured
// anew.
type Cache struct {
	m       *Measurer
	path    string
	version string
	refresh bool
	content cacheContent
}

// cacheFormat is the version of the file.
const cacheFormat = 8

// cacheContent is the content of the file.
type cacheContent struct {
	Format   int                      `json:"format"`
	Host     *plan.Host               `json:"host"`
	Networks map[string]*plan.Compute `json:"networks"` // by networkKey
}

// Open reads the file of this machine in a folder. With refresh everything is measured anew, once.
func (m *Measurer) Open(folder, version string, refresh bool) (*Cache, error) {
	id := sha256.Sum256(fmt.Appendf(nil, "%s|%d|%s", device.Processor(), runtime.NumCPU(), version))
	c := &Cache{m: m, version: version, refresh: refresh,
		path: filepath.Join(folder, "host-"+hex.EncodeToString(id[:6])+".json")}
	text, err := os.ReadFile(c.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		_ = json.Unmarshal(text, &c.content) // a damaged file is written anew
	}
	if c.content.Format != cacheFormat || refresh {
		c.content = cacheContent{}
	}
	if c.content.Networks == nil {
		c.content.Networks = map[string]*plan.Compute{}
	}
	return c, nil
}

// Host returns the calibration of the machine, measured if there is none.
func (c *Cache) Host(ctx context.Context) (*plan.Host, error) {
	if c.content.Host != nil {
		return c.content.Host, nil
	}
	h, err := c.m.Host(ctx, c.version)
	if err != nil {
		return nil, err
	}
	c.content.Host = h
	return h, c.save()
}

// Compute returns the work of a network, whose times are measured if the file has none. A network
// for more threads than the machine has cores gets the times of all cores, divided as the times of
// one thread and of all threads suggest.
func (c *Cache) Compute(ctx context.Context, s *sym.Symbol, shapes map[string]dtype.Shape,
	threads int) (*plan.Network, *plan.Compute, error) {
	cores := runtime.NumCPU()
	if threads <= cores {
		return c.measured(ctx, s, shapes, threads)
	}
	n, err := plan.Describe(s, plan.Training{Shapes: shapes, Threads: threads})
	if err != nil {
		return nil, nil, err
	}
	narrow, one, err := c.measured(ctx, s, shapes, 1)
	if err != nil {
		return nil, nil, err
	}
	_, all, err := c.measured(ctx, s, shapes, cores)
	if err != nil {
		return nil, nil, err
	}
	return n, plan.Widen(n, narrow, one, all, cores, threads), nil
}

// measured is Compute for numbers of threads that this machine has.
func (c *Cache) measured(ctx context.Context, s *sym.Symbol, shapes map[string]dtype.Shape,
	threads int) (*plan.Network, *plan.Compute, error) {
	key, err := networkKey(s, shapes, threads)
	if err != nil {
		return nil, nil, err
	}
	if known := c.content.Networks[key]; known != nil {
		n, err := plan.Describe(s, plan.Training{Shapes: shapes, Threads: threads})
		if err != nil {
			return nil, nil, err
		}
		if len(known.Seconds) == len(n.Segments) {
			return n, known, nil
		}
	}
	n, w, err := c.m.Compute(ctx, s, shapes, threads)
	if err != nil {
		return nil, nil, err
	}
	c.content.Networks[key] = w
	return n, w, c.save()
}

// again measures a network once more. The faster measurement stays, and the lesser jitter.
func (c *Cache) again(ctx context.Context, s *sym.Symbol, shapes map[string]dtype.Shape,
	threads int) error {
	key, err := networkKey(s, shapes, threads)
	if err != nil {
		return err
	}
	_, w, err := c.m.Compute(ctx, s, shapes, threads)
	if err != nil {
		return err
	}
	if known := c.content.Networks[key]; known != nil {
		jitter := min(known.Jitter, w.Jitter)
		if known.Step() <= w.Step() {
			w = known
		}
		w.Jitter = jitter
	}
	c.content.Networks[key] = w
	return c.save()
}

// has reports whether the file has the times of a network.
func (c *Cache) has(s *sym.Symbol, shapes map[string]dtype.Shape, threads int) bool {
	key, err := networkKey(s, shapes, threads)
	return err == nil && c.content.Networks[key] != nil
}

// networkKey tells networks apart.
func networkKey(s *sym.Symbol, shapes map[string]dtype.Shape, threads int) (string, error) {
	text, err := s.JSON()
	if err != nil {
		return "", err
	}
	rest, err := json.Marshal(shapes)
	if err != nil {
		return "", err
	}
	id := sha256.New()
	id.Write(text)
	id.Write(rest)
	fmt.Fprint(id, threads)
	return hex.EncodeToString(id.Sum(nil)[:12]), nil
}

// save writes the file.
func (c *Cache) save() error {
	c.content.Format = cacheFormat
	text, err := json.MarshalIndent(&c.content, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o777); err != nil {
		return err
	}
	temporary := c.path + ".tmp"
	if err := os.WriteFile(temporary, text, 0o666); err != nil {
		return err
	}
	return os.Rename(temporary, c.path)
}
