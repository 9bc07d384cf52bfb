//go:build cuda

package cuda

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Compiled kernels are files in folders: the cache, to which new ones are added, and folders that
// Pack has filled for machines without NVRTC. The name of a file is made of the
// architecture, the options and the source. The compiler's version is not part of the name, so that
// no compiler is needed to find it.

// machineCode and portable are the architecture options: machine code runs on devices of its major
// version with the same or a later minor version; the driver translates PTX for later devices.
func machineCode(arch int) string { return fmt.Sprintf("--gpu-architecture=sm_%d", arch) }
func portable(arch int) string    { return fmt.Sprintf("--gpu-architecture=compute_%d", arch) }

// keptName returns the file name of a unit with this source for an architecture option.
func keptName(u Unit, text, option string) string {
	h := sha256.New()
	fmt.Fprintln(h, option, u.options(), text)
	return u.Family + "-" + hex.EncodeToString(h.Sum(nil)[:12])
}

// targets lists the architecture options of images that run on devices of compute capability arch,
// the best one first.
func targets(arch int) (list []string) {
	for a := arch; a >= arch/10*10; a-- {
		list = append(list, machineCode(a))
	}
	for a := arch; a >= 50; a-- {
		list = append(list, portable(a))
	}
	return list
}

// folders lists the folders of compiled kernels: the cache, and the folder kernels beside the
// program.
func folders() (list []string) {
	if dir := cacheDir(); dir != "" {
		list = append(list, dir)
	}
	if path, err := os.Executable(); err == nil {
		list = append(list, filepath.Join(filepath.Dir(path), "kernels"))
	}
	return list
}

// keptImages returns the images in the folders that run on a compute capability, the best one
// first.
func keptImages(u Unit, text string, arch int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, option := range targets(arch) {
			name := keptName(u, text, option)
			for _, dir := range folders() {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err == nil && len(b) > 0 && !yield(b) {
					return
				}
			}
		}
	}
}

// compileNew compiles a unit and stores it in the cache.
func compileNew(u Unit, text string, arch int) ([]byte, error) {
	c, err := theCompiler()
	if err != nil {
		return nil, err
	}
	option := c.target(arch)
	b, err := c.compile(u.title(), text, option, u.options())
	if dir := cacheDir(); err == nil && dir != "" {
		store(filepath.Join(dir, keptName(u, text, option)), b)
	}
	return b, err
}

// Compile compiles a unit for a compute capability such as 90, without a device, or takes it from
// the cache.
func Compile(u Unit, arch int) ([]byte, error) {
	text, err := u.source()
	if err != nil {
		return nil, err
	}
	for b := range keptImages(u, text, arch) {
		return b, nil
	}
	return compileNew(u, text, arch)
}

// known reports whether a unit can be had: the compiler is there, or a folder holds the unit for
// some architecture.
func (u Unit) known() bool {
	if _, err := theCompiler(); err == nil {
		return true
	}
	text, err := u.source()
	if err != nil {
		return false
	}
	for _, a := range []int{70, 75, 80, 86, 89, 90, 100, 120} {
		for range keptImages(u, text, a) {
			return true
		}
	}
	return false
}

// Pack compiles a unit into a folder for machines without NVRTC: machine code for a compute
// capability, or, if translated is true, PTX, which drivers translate for later devices. It returns
// an error if the compiler does not support the architecture.
func Pack(dir string, u Unit, arch int, translated bool) error {
	c, err := theCompiler()
	if err != nil {
		return err
	}
	text, err := u.source()
	if err != nil {
		return err
	}
	option := machineCode(arch)
	if translated {
		option = portable(arch)
	}
	if !c.supports(arch) {
		return fmt.Errorf("cuda: NVRTC %d.%d does not compile for compute capability %d.%d: it has %v",
			c.major, c.minor, arch/10, arch%10, c.archs)
	}
	path := filepath.Join(dir, keptName(u, text, option))
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	b, err := c.compile(u.title(), text, option, u.options())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
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
