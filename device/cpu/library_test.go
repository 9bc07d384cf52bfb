//go:build cgo && linux

package cpu_test

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"gomx/device/cpu"
)

// TestLinkedLibraries: a program needs the library that it says it computes with, and no other;
// built with the tag nodnn it needs none.
func TestLinkedLibraries(t *testing.T) {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	got := slices.ContainsFunc(needed, func(name string) bool {
		return strings.HasPrefix(name, "libdnnl")
	})
	if want := strings.HasPrefix(cpu.Library(), "oneDNN"); got != want {
		t.Errorf("computing with %s, the program is linked to %v", cpu.Library(), needed)
	}
}
