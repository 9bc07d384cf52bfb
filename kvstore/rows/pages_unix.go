//go:build unix

package rows

import (
	"fmt"
	"syscall"
)

// fromSystem returns memory that the system fills with zeros when it is touched.
func fromSystem(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("rows: no memory for %d bytes: %v", n, err))
	}
	return b
}

// toSystem gives memory back.
func toSystem(b []byte) {
	if err := syscall.Munmap(b); err != nil {
		panic(fmt.Sprintf("rows: %d bytes cannot be given back: %v", len(b), err))
	}
}
