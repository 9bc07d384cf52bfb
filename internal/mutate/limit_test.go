package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestTestsHaveLimitedMemory asks a command for its limit.
func TestTestsHaveLimitedMemory(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("wants a shell")
	}
	out, err := limitedCommand(t.Context(), "sh", "-c", "ulimit -v; echo $0", "name").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d\nname\n", mostMemory); string(out) != want {
		t.Errorf("got %q, want %q", strings.TrimSpace(string(out)), want)
	}
}
