package arch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gomx/internal/shape/measure"
)

// exempt lists with a reason the packages and types that no limit of the kind holds for. A name
// that begins with * stands for every type whose name ends so.
var exempt = map[string]string{
	"stems op/nn":        "a file per family of operators",
	"stems op/prim":      "a file per family of operators",
	"stems op/vision":    "a file per family of operators",
	"stems interop/onnx": "a file per family of operators",
	"stems device/cpu":   "a file per kernel",

	"long interop/onnx/internal/onnxpb":     "comments of onnx.proto",
	"relative interop/onnx/internal/onnxpb": "comments of onnx.proto",

	"methods ndarray Array": "MXNet's NDArray has as many; half of them call an operator",

	"fields *Params": "an operator's parameters, as MXNet names them",
	"fields *Args":   "the argument of a GPU kernel, a record whose layout the kernel fixes",
	"fields *CUDA":   "descriptors and rooms of one cuDNN call",
	"fields *Config": "configuration",
	"fields *Spec":   "a description that a caller fills in",

	"fields op Traits":            "the facts that a definition of an operator may state",
	"fields op Op":                "the definition of an operator without its parameter type",
	"fields op Spec":              "the definition of an operator",
	"fields io/image Augment":     "configuration: the options of ImageRecordIter",
	"fields launch Local":         "configuration: the flags of gomx launch",
	"fields launch Environ":       "configuration: the environment variables of a job",
	"fields module runRecord":     "a record of a file: all that an exact resume needs",
	"fields kvstore/wire Message": "the words of a header, as the format of messages has them",
	"fields io tableState":        "a record of a file: the place in a table after a resume",
}

// unmet lists figures that are above their limit still. A figure may fall, never rise; a line whose
// limit is met is taken out.
var unmet = map[string]float64{}

// figures are the measures of a package that are beyond a limit, by their name in unmet.
func figures(p measure.Package) map[string]float64 {
	found := map[string]float64{}
	if n := len(p.Stems); n > measure.MostStems && !strings.HasPrefix(p.Path, "internal/") {
		found["stems "+p.Path] = float64(n)
	}
	for _, s := range p.Structs {
		if s.Fields > measure.MostFields && !strings.HasPrefix(p.Path, "internal/") {
			found["fields "+p.Path+" "+s.Name] = float64(s.Fields)
		}
	}
	for _, s := range p.Types {
		if s.Methods > measure.MostMethods {
			found["methods "+p.Path+" "+s.Name] = float64(s.Methods)
		}
	}
	if p.LongShare() >= measure.MostLong {
		found["long "+p.Path] = 100 * p.LongShare()
	}
	if p.RelativeShare() >= measure.MostRelative {
		found["relative "+p.Path] = 100 * p.RelativeShare()
	}
	for _, core := range measure.Cores {
		if p.Path == core && p.CommentShare() < measure.LeastComment {
			found["comment "+p.Path] = -100 * p.CommentShare()
		}
	}
	return found
}

// exempted finds the reason for which a figure has no limit.
func exempted(figure string) bool {
	if exempt[figure] != "" {
		return true
	}
	kind, rest, _ := strings.Cut(figure, " ")
	_, name, _ := strings.Cut(rest, " ")
	for pattern := range exempt {
		end, ok := strings.CutPrefix(pattern, kind+" *")
		if ok && name != "" && strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// judge compares figures with the list of unmet ones.
func judge(found, unmet map[string]float64) []string {
	var faults []string
	for figure, now := range found {
		most, listed := unmet[figure]
		switch {
		case exempted(figure):
		case !listed:
			faults = append(faults, fmt.Sprintf("%s: %.1f is beyond the limit", figure, now))
		case now > most+0.05:
			faults = append(faults, fmt.Sprintf("%s: %.1f, it was %.1f before", figure, now, most))
		}
	}
	for figure := range unmet {
		if _, still := found[figure]; !still {
			faults = append(faults, figure+": the limit is met, take the line out of unmet")
		}
	}
	return faults
}

func TestShape(t *testing.T) {
	pkgs, err := measure.Tree(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, p := range pkgs {
		for figure, n := range figures(p) {
			found[figure] = n
		}
	}
	for _, fault := range judge(found, unmet) {
		t.Error(fault)
	}
}

func TestShapeBites(t *testing.T) {
	wide := measure.Package{
		Path: "compile", Stems: make([]string, 26), Code: 90, Comments: 10, Relative: 1,
		Long: 1, Lines: 100, Structs: []measure.Struct{{Name: "unit", Fields: 16}},
		Types: []measure.Type{{Name: "Program", Methods: 41}},
	}
	found := figures(wide)
	for _, figure := range []string{"stems compile", "fields compile unit",
		"methods compile Program", "long compile", "relative compile", "comment compile"} {
		if _, ok := found[figure]; !ok {
			t.Errorf("%s: not found in %v", figure, found)
		}
	}
	if got := judge(found, nil); len(got) != 6 {
		t.Errorf("got faults %v, want six", got)
	}
	if got := judge(found, found); len(got) != 0 {
		t.Errorf("got faults %v, want none where all are listed", got)
	}
	if got := judge(nil, map[string]float64{"stems compile": 26}); len(got) != 1 {
		t.Errorf("got %v, want a fault: the line is superfluous", got)
	}
	if !exempted("fields op/nn poolArgs") || exempted("fields op/nn pool") {
		t.Error("the argument of a kernel is exempt, another struct is not")
	}
}
