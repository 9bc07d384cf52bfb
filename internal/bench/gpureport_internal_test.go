package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGPUReport makes tables of figures, the last of each name, and refuses damaged files.
func TestGPUReport(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "results.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"stage":"bench","name":"lenet","value":1000,"unit":"images/s"}
{"stage":"torch","name":"resnet","value":123.456,"unit":"images/s","peer":"torch","peer_value":100,"ratio":1.23456}
{"stage":"bench","name":"lenet","value":2000,"unit":"images/s"}
`)
	var out bytes.Buffer
	if err := GPUReport(&out, dir); err != nil {
		t.Fatal(err)
	}
	want := `| bench | gomx | peer | ratio | unit |
|---|---|---|---|---|
| lenet | 2000 |  |  | images/s |

| torch | gomx | peer | ratio | unit |
|---|---|---|---|---|
| resnet | 123.5 | torch 100 | 1.235 | images/s |
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for text, why := range map[string]string{
		"":                                   "no figures",
		"{\"stage\":":                        "line 1",
		"{\"stage\":\"a\",\"name\":\"b\"}\n": "no stage, name or value",
	} {
		write(text)
		if err := GPUReport(&out, dir); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want an error with %q", text, err, why)
		}
	}
	if err := GPUReport(&out, filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that does not exist is accepted")
	}
}
