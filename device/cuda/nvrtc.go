//go:build cuda

package cuda

/*
#include <stdlib.h>
#include "library.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// compilerNames lists the file names of NVRTC, the newest first.
var compilerNames = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}

// compiler is NVRTC, NVIDIA's library that compiles CUDA C at run time, on this machine.
type compiler struct {
	f            C.gcu_nvrtc
	major, minor int
	archs        []int // supported architectures, ascending; empty: unknown
}

// theCompiler opens the compiler at the first use.
var theCompiler = sync.OnceValues(openCompiler)

func openCompiler() (*compiler, error) {
	lib, err := OpenLibrary("the compiler NVRTC, which makes GPU code of kernels,", compilerNames)
	if err != nil {
		return nil, err
	}
	c := &compiler{}
	var missing *C.char
	if C.gcu_nvrtc_load(lib, &c.f, &missing) != 0 {
		return nil, fmt.Errorf("cuda: the compiler NVRTC has no function %s", C.GoString(missing))
	}
	var major, minor C.int
	C.gcu_nvrtc_version(&c.f, &major, &minor)
	c.major, c.minor = int(major), int(minor)
	var list [64]C.int
	for _, a := range list[:C.gcu_nvrtc_archs(&c.f, &list[0], C.int(len(list)))] {
		c.archs = append(c.archs, int(a))
	}
	slices.Sort(c.archs)
	return c, nil
}

// OpenLibrary opens the first file among names that exists. what names the library and its purpose
// for the error, which lists the reason per file.
func OpenLibrary(what string, names []string) (unsafe.Pointer, error) {
	var reasons []string
	for _, name := range names {
		var why [512]C.char
		n := C.CString(name)
		lib := C.gcu_dlopen(n, &why[0], C.size_t(len(why)))
		C.free(unsafe.Pointer(n))
		if lib != nil {
			return lib, nil
		}
		reasons = append(reasons, C.GoString(&why[0]))
	}
	return nil, fmt.Errorf("cuda: %s was not found: %s", what, strings.Join(reasons, "; "))
}

// supports reports whether the compiler makes code for compute capability arch.
func (c *compiler) supports(arch int) bool {
	return len(c.archs) == 0 || slices.Contains(c.archs, arch)
}

// target returns the compiler's option for devices of compute capability arch: machine code if the
// compiler supports the architecture, otherwise PTX for the newest one it supports, which the
// driver translates.
func (c *compiler) target(arch int) string {
	if c.supports(arch) {
		return machineCode(arch)
	}
	i, _ := slices.BinarySearch(c.archs, arch)
	return portable(c.archs[max(i-1, 0)])
}

// compile compiles a source for an architecture option.
func (c *compiler) compile(name, source, option string, more []string) ([]byte, error) {
	options := append([]string{option, "--std=c++17", "-default-device"}, more...)
	list := make([]*C.char, len(options))
	for i, o := range options {
		list[i] = C.CString(o)
		defer C.free(unsafe.Pointer(list[i]))
	}
	text, title := C.CString(source), C.CString(name)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(title))
	var out, log *C.char
	var size C.size_t
	var wantBinary C.int
	if strings.Contains(option, "=sm_") {
		wantBinary = 1
	}
	argv := (**C.char)(C.malloc(C.size_t(len(list)) * C.size_t(unsafe.Sizeof(out))))
	defer C.free(unsafe.Pointer(argv))
	copy(unsafe.Slice(argv, len(list)), list)
	code := C.gcu_nvrtc_compile(&c.f, text, title, C.int(len(list)), argv, wantBinary, &out, &size,
		&log)
	defer C.free(unsafe.Pointer(out))
	defer C.free(unsafe.Pointer(log))
	if code != 0 {
		return nil, errors.New("cuda: compiling " + name + " for " + option + ": " +
			C.GoString(C.gcu_nvrtc_text(&c.f, code)) + "\n" + C.GoString(log))
	}
	return C.GoBytes(unsafe.Pointer(out), C.int(size)), nil
}
