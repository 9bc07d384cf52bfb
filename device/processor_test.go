package device

import (
	"strings"
	"testing"
)

func TestProcessorIn(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel\t\t: 17\ncpu family: 25\nmodel name\t: AMD EPYC\nmodel name\t: x\n": "AMD EPYC (family 25, model 17)",
		"processor\t: 0\nmodel name\t: AMD EPYC 9R14\n":                                            "AMD EPYC 9R14",
		"processor : 0\nCPU part\t: 0xd40\nModel : Board 4\n":                                      "Board 4",
		"processor : 0\nCPU part\t: 0xd40\n":                                                       "0xd40",
	} {
		if got := processorIn(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := processorIn(""); !strings.Contains(got, "unknown model") {
		t.Errorf("got %q for an empty text", got)
	}
}
