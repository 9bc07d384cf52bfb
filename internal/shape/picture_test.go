package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPictureIsFresh compares the picture of the layers with the list in the page.
func TestPictureIsFresh(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/architecture.svg")
	if err != nil {
		t.Fatal(err)
	}
	want := draw(layersOf(string(page)))
	if string(got) != want {
		t.Error("docs/architecture.svg shows other layers than docs/architecture.md; run " +
			"go run ./internal/shape --picture docs/architecture.svg")
	}
	for _, name := range []string{">compile<", ">exec<", ">predict<", ">dtype<"} {
		if !strings.Contains(want, name) {
			t.Errorf("the picture has no box %s", name)
		}
	}
}

func TestBoxes(t *testing.T) {
	for layer, want := range map[string][]string{
		"a  b/c   a remark":                {"a", "b/c"},
		"op/a op/b":                        {"op/a", "op/b"},
		"op/a op/b op/c op/d op/e    more": {"op/a  b  c  d  e"},
	} {
		if got := boxes(layer); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", layer, got, want)
		}
	}
	for text, want := range map[string]string{"op/prim": "#d6dff0", "op": "#d6dff0",
		"optimizer": "#cfe3d4", "kvstore/ps": "#f3d9c6", "symbol": "#cfe3d4", "exec": "#efe3c2"} {
		if got := fill(text); got != want {
			t.Errorf("%s: got colour %s, want %s", text, got, want)
		}
	}
}
