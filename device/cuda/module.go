//go:build cuda

package cuda

/*
#include "bridge.h"
*/
import "C"

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"

	"gomx/dtype"
)

//go:embed kernels
var kernelFiles embed.FS

// Unit is a unit of compilation: a file of kernels for one element type, or a source generated at
// run time.
type Unit struct {
	Family string     // file kernels/<Family>.cu, or the name of a generated unit
	DType  dtype.Type // element type; dtype.Unknown: the file does not depend on one
	Text   string     // source of a generated unit; empty: the file
}

// source returns the source to compile.
func (u Unit) source() (string, error) {
	head, err := kernelFiles.ReadFile("kernels/gx.cuh")
	if err != nil {
		return "", err
	}
	if u.Text != "" {
		return string(head) + u.Text, nil
	}
	body, err := kernelFiles.ReadFile("kernels/" + u.Family + ".cu")
	if err != nil {
		return "", fmt.Errorf("cuda: there is no family of kernels %q", u.Family)
	}
	return string(head) + "#line 1 \"" + u.Family + ".cu\"\n" + string(body), nil
}

// options returns the compiler's options, which define the element type. Pointwise functions are
// compiled without fused multiply-add, so that a chain of functions has the same bits as the
// functions one after the other; kernels of boxes and of samples of images too, so that comparisons
// have the same result as on the processor.
func (u Unit) options() (list []string) {
	if u.DType != dtype.Unknown {
		list = append(list, fmt.Sprintf("-DGX_T=%d", int(u.DType)+1))
	}
	switch u.Family {
	case "pointwise", "chain", "boxes", "sample":
		list = append(list, "--fmad=false")
	}
	return list
}

// Compile compiles a unit for a compute capability such as 90, without a device, or takes it from
// the cache.
func Compile(u Unit, arch int) ([]byte, error) { return code(u, arch) }

// compile compiles the source of a unit.
func (u Unit) compile(c *compiler, text string, arch int) ([]byte, error) {
	return c.compile(fmt.Sprintf("%s.cu (%v)", u.Family, u.DType), text, arch, u.options())
}

// code returns the compiled unit, from the cache on disk if it is there.
func code(u Unit, arch int) ([]byte, error) {
	c, err := theCompiler()
	if err != nil {
		return nil, err
	}
	text, err := u.source()
	if err != nil {
		return nil, err
	}
	option, _ := c.target(arch)
	h := sha256.New()
	fmt.Fprintln(h, c.major, c.minor, option, u.options(), text)
	path := ""
	if dir := cacheDir(); dir != "" {
		path = filepath.Join(dir, u.Family+"-"+hex.EncodeToString(h.Sum(nil)[:12]))
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			return b, nil
		}
	}
	b, err := u.compile(c, text, arch)
	if err == nil && path != "" {
		store(path, b)
	}
	return b, err
}

// cache is the folder of compiled kernels: the user's cache folder unless SetCache has set another.
var cache atomic.Pointer[string]

// SetCache makes dir the folder in which compiled kernels are kept between runs; "" means no cache.
func SetCache(dir string) { cache.Store(&dir) }

func cacheDir() string {
	if p := cache.Load(); p != nil {
		return *p
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "gomx", "cuda")
}

// store writes a file of the cache atomically. It ignores errors, such as a full disk, because the
// cache only saves time.
func store(path string, b []byte) {
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return
	}
	_, werr := f.Write(b)
	if cerr := f.Close(); werr != nil || cerr != nil || os.Rename(f.Name(), path) != nil {
		os.Remove(f.Name())
	}
}

// modules holds the units that a device has loaded.
type modules struct {
	mu   sync.Mutex
	list map[Unit]cu.Module
}

// load returns a unit loaded on g.
func (g *gpu) load(u Unit) (mod cu.Module, err error) {
	g.modules.mu.Lock()
	defer g.modules.mu.Unlock()
	if m, ok := g.modules.list[u]; ok {
		return m, nil
	}
	image, err := code(u, 10*g.info.Major+g.info.Minor)
	if err != nil {
		return mod, err
	}
	err = g.locked(func() (err error) {
		mod, err = cu.LoadData(string(image))
		return err
	})
	if err != nil {
		return mod, fmt.Errorf("cuda: loading %s.cu (%v) on %s: %w", u.Family, u.DType, g.info.Name,
			err)
	}
	if g.modules.list == nil {
		g.modules.list = map[Unit]cu.Module{}
	}
	g.modules.list[u] = mod
	return mod, nil
}

// Function is a kernel by unit and name, for all devices: the first launch on a device compiles and
// loads it.
type Function struct {
	unit Unit
	name string
	id   int
}

type functionKey struct {
	unit Unit
	name string
}

// functions holds one Function per kernel.
var functions struct {
	mu   sync.Mutex
	byID map[functionKey]*Function
}

// Func returns a kernel of a family for an element type.
func Func(family, name string, t dtype.Type) *Function {
	return FuncOf(Unit{Family: family, DType: t}, name)
}

// FuncOf returns a kernel of a unit.
func FuncOf(u Unit, name string) *Function {
	key := functionKey{u, name}
	functions.mu.Lock()
	defer functions.mu.Unlock()
	if f := functions.byID[key]; f != nil {
		return f
	}
	if functions.byID == nil {
		functions.byID = map[functionKey]*Function{}
	}
	f := &Function{u, name, len(functions.byID)}
	functions.byID[key] = f
	return f
}

// on returns the driver's handle of f on g.
func (g *gpu) on(f *Function) (unsafe.Pointer, error) {
	if list := g.functions.Load(); list != nil && f.id < len(*list) {
		if p := (*list)[f.id]; p != nil {
			return p, nil
		}
	}
	mod, err := g.load(f.unit)
	if err != nil {
		return nil, err
	}
	var fn cu.Function
	err = g.locked(func() (err error) {
		fn, err = mod.Function("k_" + f.name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cuda: kernel %s of %s.cu: %w", f.name, f.unit.Family, err)
	}
	g.remember(f, handle(&fn))
	return handle(&fn), nil
}

// remember adds a handle to the table, which launches read without a lock.
func (g *gpu) remember(f *Function, p unsafe.Pointer) {
	g.modules.mu.Lock()
	defer g.modules.mu.Unlock()
	var list []unsafe.Pointer
	if old := g.functions.Load(); old != nil {
		list = append(list, *old...)
	}
	for len(list) <= f.id {
		list = append(list, nil)
	}
	list[f.id] = p
	g.functions.Store(&list)
}

// blockThreads is the number of threads per block of kernels that treat elements one by one.
const blockThreads = 256

// Grid is the size of a launch: X·Y blocks of Threads threads.
type Grid struct{ X, Y, Threads int }

// Each returns a grid for a loop over n elements, with no more blocks than keep the device busy.
func (q *Queue) Each(n int) Grid {
	blocks := (n + blockThreads - 1) / blockThreads
	return Grid{min(max(blocks, 1), 16*q.gpu.info.Processors), 1, blockThreads}
}

// Launch puts a kernel on q. args are the fields of its parameter, a struct of eight-byte fields.
func (q *Queue) Launch(f *Function, g Grid, args ...uint64) error {
	fn, err := q.gpu.on(f)
	if err != nil {
		return err
	}
	if g.X <= 0 || g.Y <= 0 {
		return nil
	}
	q.gpu.launches.Add(1)
	code := C.gcu_launch(q.gpu.c(), fn, q.s, C.uint(g.X), C.uint(g.Y), C.uint(g.Threads), 1,
		(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(args))))
	if code != 0 {
		return check(fmt.Sprintf("launching %s of %s.cu with %d×%d blocks of %d threads", f.name,
			f.unit.Family, g.X, g.Y, g.Threads), code)
	}
	return nil
}

// P converts a pointer to an argument of a kernel.
func P(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// I converts an integer to an argument of a kernel.
func I(n int) uint64 { return uint64(n) }

// F converts a double to an argument of a kernel.
func F(x float64) uint64 { return math.Float64bits(x) }

// DType returns the element type of the kernel.
func (f *Function) DType() dtype.Type { return f.unit.DType }
