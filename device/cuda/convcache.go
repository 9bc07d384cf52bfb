//go:build cuda

package cuda

/*
#include "conv.h"
*/
import "C"

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"
)

// Chosen algorithms are kept on disk beside compiled kernels: another run of the program on the
// same machine uses the same ones, and so gets the same bits.

// file returns the path of the choice for a kind of computation, "" if it is not kept.
func (c *Conv) file(q *Queue, kind int) string {
	dir := cacheDir()
	if dir == "" {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, q.gpu.info.Name, c.lib.version, kind, c.key)
	return filepath.Join(dir, "conv-"+hex.EncodeToString(h.Sum(nil)[:12]))
}

// remember writes a choice to disk.
func (c *Conv) remember(q *Queue, kind int, s *choice) {
	if path := c.file(q, kind); path != "" {
		store(path, fmt.Appendf(nil, "%d %d\n", s.algo, s.math))
	}
}

// remembered returns the choice of an earlier run, nil if there is none or the library does not
// support it.
func (c *Conv) remembered(q *Queue, handle unsafe.Pointer, kind int) *choice {
	text, err := os.ReadFile(c.file(q, kind))
	if err != nil {
		return nil
	}
	s, bytes := &choice{}, C.size_t(0)
	if n, err := fmt.Sscan(string(text), &s.algo, &s.math); n != 2 || err != nil {
		return nil
	}
	if C.gcu_dnn_conv_math(c.lib.f, c.c, C.int(kind), s.math) != 0 ||
		C.gcu_dnn_conv_size(c.lib.f, q.gpu.c(), handle, c.c, C.int(kind), s.algo, &bytes) != 0 ||
		bytes > mostSpace {
		C.gcu_dnn_conv_math(c.lib.f, c.c, C.int(kind), c.math)
		return nil
	}
	s.bytes = int(bytes)
	return s
}
