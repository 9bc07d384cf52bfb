package main

import (
	"strings"
	"testing"

	"gomx/internal/shape/measure"
)

func TestTable(t *testing.T) {
	pkgs := []measure.Package{
		{Path: "engine", Code: 90, Tests: 180, Comments: 10, Relative: 1, Lines: 100, Long: 2,
			Stems:  []string{"a"},
			Widest: measure.Struct{Name: "Engine", Fields: 7}, Largest: measure.Type{Name: "Engine",
				Methods: 9}},
		{Path: "empty"},
	}
	got := table(pkgs, map[string]float64{"gomx/engine": 0.876})
	want := "| engine | 90 | 180 | 88 % | 10 % | 1 | Engine 7 | Engine 9 | 2.0 % ⚠ | 10.0 % ⚠ |\n"
	if !strings.HasSuffix(got, want) || strings.Contains(got, "empty") {
		t.Errorf("got\n%swant one row\n%s", got, want)
	}
}

func TestTableMarksFigures(t *testing.T) {
	pkgs := []measure.Package{{Path: "memplan", Code: 90, Comments: 10, Relative: 1, Lines: 100,
		Long: 1, Stems: make([]string, 26), Widest: measure.Struct{Name: "S", Fields: 16},
		Largest: measure.Type{Name: "T", Methods: 41}}}
	got := table(pkgs, map[string]float64{"gomx/memplan": 0.94})
	want := "| memplan | 90 | 0 | 94 % ⚠ | 10 % ⚠ | 26 ⚠ | S 16 ⚠ | T 41 ⚠ | 1.0 % ⚠ | 10.0 % ⚠ |\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%swant one row\n%s", got, want)
	}
}

func TestReplace(t *testing.T) {
	got, err := replace("a\n"+begin+"old\n"+end+"b\n", "new\n")
	if want := "a\n" + begin + "new\n" + end + "b\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for _, page := range []string{"", begin} {
		if _, err := replace(page, "new\n"); err == nil {
			t.Errorf("page %q: got no error, want one that names the missing mark", page)
		}
	}
}
