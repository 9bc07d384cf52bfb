//go:build cuda

package cuda

/*
#include "bridge.h"
*/
import "C"

import (
	"embed"
	"fmt"
	"math"
	"sync"
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

// title names the unit in errors of the compiler.
func (u Unit) title() string { return fmt.Sprintf("%s.cu (%v)", u.Family, u.DType) }

// modules holds the units that a device has loaded, or is loading.
type modules struct {
	mu   sync.Mutex
	list map[Unit]*module
}

// module is a unit that one goroutine loads while the others that need it wait.
type module struct {
	ready chan struct{} // closed when the fields below are set
	mod   cu.Module
	err   error
}

// load returns a unit loaded on g. No lock is held while it is compiled, so that several units are
// compiled at once. A failed unit is tried again at its next use.
func (g *gpu) load(u Unit) (cu.Module, error) {
	g.modules.mu.Lock()
	m := g.modules.list[u]
	if m != nil {
		g.modules.mu.Unlock()
		<-m.ready
		return m.mod, m.err
	}
	m = &module{ready: make(chan struct{})}
	if g.modules.list == nil {
		g.modules.list = map[Unit]*module{}
	}
	g.modules.list[u] = m
	g.modules.mu.Unlock()
	defer close(m.ready)
	m.mod, m.err = g.build(u)
	if m.err != nil {
		g.modules.mu.Lock()
		delete(g.modules.list, u)
		g.modules.mu.Unlock()
	}
	return m.mod, m.err
}

// build loads the first kept image of a unit that the driver accepts, otherwise a new one.
func (g *gpu) build(u Unit) (mod cu.Module, err error) {
	text, err := u.source()
	if err != nil {
		return mod, err
	}
	arch := 10*g.info.Major + g.info.Minor
	for image := range keptImages(u, text, arch) {
		if mod, err = g.loadImage(image); err == nil {
			return mod, nil
		}
	}
	image, err := compileNew(u, text, arch)
	if err != nil {
		return mod, err
	}
	if mod, err = g.loadImage(image); err != nil {
		return mod, fmt.Errorf("cuda: loading %s.cu (%v) on %s: %w", u.Family, u.DType, g.info.Name,
			err)
	}
	return mod, nil
}

func (g *gpu) loadImage(image []byte) (mod cu.Module, err error) {
	err = g.locked(func() (err error) {
		mod, err = cu.LoadData(string(image))
		return err
	})
	return mod, err
}

// Function is a kernel by unit and name, for all devices: the first launch on a device compiles and
// loads it.
type Function struct {
	unit  Unit
	name  string
	title string // family and name, for counts
	id    int
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
	f := &Function{u, name, u.Family + "." + name, len(functions.byID)}
	functions.byID[key] = f
	return f
}

// entry is a kernel on a device: the driver's handle and the size of its parameter in bytes, 0 if
// the driver does not tell it.
type entry struct {
	fn    unsafe.Pointer
	bytes int
}

// on returns f on the device of q, on which it is loaded at its first use. Kernels are not loaded
// while q records.
func (q *Queue) on(f *Function) (entry, error) {
	g := q.gpu
	if list := g.functions.Load(); list != nil && f.id < len(*list) {
		if e := (*list)[f.id]; e.fn != nil {
			return e, nil
		}
	}
	if q.tape.refuses() {
		return entry{}, errNotRecorded
	}
	mod, err := g.load(f.unit)
	if err != nil {
		return entry{}, err
	}
	var fn cu.Function
	err = g.locked(func() (err error) {
		fn, err = mod.Function("k_" + f.name)
		return err
	})
	if err != nil {
		return entry{}, fmt.Errorf("cuda: kernel %s of %s.cu: %w", f.name, f.unit.Family, err)
	}
	e := entry{fn: handle(&fn)}
	var bytes C.size_t
	if C.gcu_param_bytes(g.c(), e.fn, &bytes) == 0 {
		e.bytes = int(bytes)
	}
	g.remember(f, e)
	return e, nil
}

// remember adds a handle to the table, which launches read without a lock.
func (g *gpu) remember(f *Function, e entry) {
	g.modules.mu.Lock()
	defer g.modules.mu.Unlock()
	var list []entry
	if old := g.functions.Load(); old != nil {
		list = append(list, *old...)
	}
	for len(list) <= f.id {
		list = append(list, entry{})
	}
	list[f.id] = e
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
	k, err := q.on(f)
	if err != nil {
		return err
	}
	if k.bytes > 0 && k.bytes != 8*len(args) {
		return fmt.Errorf("cuda: kernel %s of %s.cu takes a parameter of %d bytes, got %d", f.name,
			f.unit.Family, k.bytes, 8*len(args))
	}
	if g.X <= 0 || g.Y <= 0 {
		return nil
	}
	if err := q.putJoint(); err != nil {
		return err
	}
	q.launched(ranKernel, f.title)
	code := C.gcu_launch(q.gpu.c(), k.fn, q.s, C.uint(g.X), C.uint(g.Y), C.uint(g.Threads), 1,
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
