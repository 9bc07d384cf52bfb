package zmq_test

import (
	"os"
	"regexp"
	"testing"
)

// layers are the files of the C part, the lowest first: each uses functions of those before it
// alone.
var layers = []string{"calm.c", "box.c", "out.c", "in.c"}

var (
	comment    = regexp.MustCompile(`//[^\n]*`)
	definition = regexp.MustCompile(`(?m)^[a-z][^\n;]*\b(gx_[a-z_]+)\([^\n;]*\) \{`)
	use        = regexp.MustCompile(`\b(gx_[a-z_]+)\(`)
)

// TestLayersHaveAnOrder finds every function of the C files in one of them, and its uses above it.
func TestLayersHaveAnOrder(t *testing.T) {
	texts, home := map[string][]byte{}, map[string]int{}
	for i, name := range layers {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = comment.ReplaceAll(b, nil)
		for _, m := range definition.FindAllSubmatch(texts[name], -1) {
			home[string(m[1])] = i
		}
	}
	if len(home) < 15 {
		t.Fatalf("%d functions found, want the 15 or more of box.h and inside.h", len(home))
	}
	for i, name := range layers {
		for _, m := range use.FindAllSubmatch(texts[name], -1) {
			if at, ok := home[string(m[1])]; !ok || at > i {
				t.Errorf("%s uses %s, which is not defined there or in a lower layer", name, m[1])
			}
		}
	}
}
