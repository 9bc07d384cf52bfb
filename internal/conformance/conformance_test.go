package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gomx/device"
	"gomx/internal/conformance"
)

var (
	goldenFlag = flag.String("golden", "",
		"folder of golden data; a relative one counts from the module's root")
	tierFlag   = flag.String("tier", "c", "kernel tiers: ref, go, c or several with commas")
	deviceFlag = flag.String("device", "cpu", "device to compute on")
	onlyFlag   = flag.String("only", "",
		"run the cases whose id matches, without consulting the list of known failures")
	smallFlag = flag.Bool("small", false,
		"leave out the networks that are too large for slow kernels, such as those of an "+
			"imitated device")
	rewriteFlag = flag.Bool("rewrite", false, "write the list of known failures anew")
	selectFlag  = flag.Bool("select", false, "write testdata/golden from the golden folder")
)

func TestOps(t *testing.T)     { suite(t, conformance.OpCases) }
func TestFormats(t *testing.T) { suite(t, conformance.FormatCases) }
func TestModels(t *testing.T)  { suite(t, conformance.ModelCases) }
func TestMemplan(t *testing.T) { suite(t, conformance.PlanCases) }
func TestOptim(t *testing.T)   { suite(t, conformance.OptimCases) }
func TestTrain(t *testing.T)   { suite(t, conformance.TrainCases) }
func TestRest(t *testing.T)    { suite(t, conformance.RestCases) }
func TestCells(t *testing.T)   { suite(t, conformance.CellCases) }
func TestGluon(t *testing.T)   { suite(t, conformance.GluonCases) }
func TestSparse(t *testing.T)  { suite(t, conformance.SparseCases) }
func TestControl(t *testing.T) { suite(t, conformance.ControlCases) }

// suite runs the cases of one folder and compares the failing ones with the list of known ones.
func suite(t *testing.T, load func(*conformance.Golden) ([]conformance.Case, error)) {
	env, tiers := environment(t)
	cases, err := load(env.Golden)
	if err != nil {
		t.Fatal(err)
	}
	if *onlyFlag != "" {
		re, err := regexp.Compile(*onlyFlag)
		if err != nil {
			t.Fatal(err)
		}
		cases = slices.DeleteFunc(cases,
			func(c conformance.Case) bool { return !re.MatchString(c.ID) })
	}
	cases, left := conformance.LeaveOut(cases, tiers, *smallFlag, *goldenFlag != "" ||
		*onlyFlag != "")
	if len(left) > 0 {
		fmt.Printf("%s: left out for their size: %s\n", t.Name(), strings.Join(left, " "))
	}
	report := conformance.Run(os.Stdout, t.Name(), cases, env, tiers)
	defer func() { fmt.Println(report.Summary()) }()
	list := t.Name()
	if env.Device.Kind != device.KindCPU { // cases that a device does not support fail only there
		list += "." + env.Device.Kind.String()
	}
	if _, err := os.Stat(knownList(list + ".nocgo")); err == nil &&
		device.MaxTier() < device.TierC {
		list += ".nocgo"
	}
	known, err := conformance.ReadKnown(knownList(list))
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case *onlyFlag != "":
	case *rewriteFlag:
		if err := known.Rewrite(report); err != nil {
			t.Fatal(err)
		}
	default:
		for _, line := range known.Check(report) {
			t.Error(line)
		}
	}
}

// knownList is the path of a list of known failures.
func knownList(name string) string {
	return filepath.Join("testdata", "known_failing", name+".txt")
}

// environment reads the flags.
func environment(t *testing.T) (conformance.Env, []device.Tier) {
	t.Helper()
	g, err := conformance.Open(goldenDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	dev, err := device.Parse(strings.Replace(*deviceFlag, "cuda", "gpu", 1))
	if err != nil {
		t.Fatal(err)
	}
	var tiers []device.Tier
	for name := range strings.SplitSeq(*tierFlag, ",") {
		tier, err := device.ParseTier(name)
		if err != nil {
			t.Fatal(err)
		}
		tiers = append(tiers, tier)
	}
	return conformance.Env{Golden: g, Device: dev}, tiers
}

// goldenDir finds the golden data: the flag's, the one beside the module, or the selection in
// testdata.
func goldenDir(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if dir := *goldenFlag; dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		return dir
	}
	beside := filepath.Join(root, "..", "shared", "golden")
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return filepath.Join("testdata", "golden")
}
