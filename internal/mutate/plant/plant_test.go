package plant_test

import (
	"slices"
	"testing"

	"gomx/internal/mutate/plant"
)

func TestSites(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string // fault and body with it
	}{
		{"equal", "return a == b", []string{"== becomes !=", "return a != b"}},
		{"order", "return a < b", []string{"< becomes <=", "return a <= b", "< becomes >=",
			"return a >= b"}},
		{"number", "return 7", []string{"7 becomes 8", "return 8"}},
		{"call", "f()", []string{"statement is left out: f()", ""}},
		{"condition", "if ok { g = h }", []string{
			"condition is negated", "if !(ok) { g = h }",
			"statement is left out: g = h", "if ok {  }"}},
		{"step", "n++", []string{"statement is left out: n++", "", "++ becomes --", "n--"}},
		{"loop", "for ok { continue }", []string{"continue becomes break", "for ok { break }"}},
		{"panic", `panic("a" + "b")`, nil},
		{"text", `return "1"`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			head, tail := "package p\n\nfunc x() {\n\t", "\n}\n"
			text := []byte(head + tt.body + tail)
			sites, err := plant.Sites("p.go", text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range sites {
				faulty := string(s.Apply(text))
				got = append(got, s.Fault, faulty[len(head):len(faulty)-len(tail)])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	sites, err := plant.Sites("p.go", []byte(
		"package p\n\nvar v = 1\n\nfunc x() {\n\treturn a == b\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(sites) != 1 || sites[0].String() != "p.go:6:11: == becomes !=" {
		t.Errorf("got %v, want one site at p.go:6:11", sites)
	}
}

func TestSyntaxIsReported(t *testing.T) {
	if _, err := plant.Sites("p.go", []byte("package {")); err == nil {
		t.Error("got no error, want one for a file that does not parse")
	}
}
