package zoo_test

import (
	"flag"
	"strings"
	"testing"

	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	nd "gomx/ndarray"
)

var largeFlag = flag.Bool("large", false, "test networks of more than ten million parameters, too")

// large is the number of parameters from which a network is tested with -large alone.
const large = 10 << 20

// totals are the numbers of trained parameters and of running statistics, as MXNet 1.9.1 counts
// them.
var totals = map[string][2]int{
	"alexnet":           {61100840, 0},
	"densenet121":       {7978856, 83648},
	"densenet161":       {28681000, 219936},
	"densenet169":       {14149480, 158400},
	"densenet201":       {20013928, 229056},
	"inception_v3":      {23834568, 34432},
	"mobilenet0_25":     {470072, 5472},
	"mobilenet0_5":      {1331592, 10944},
	"mobilenet0_75":     {2585560, 16416},
	"mobilenet1_0":      {4231976, 21888},
	"mobilenet_v2_0_25": {1516392, 10464},
	"mobilenet_v2_0_5":  {1964736, 18368},
	"mobilenet_v2_0_75": {2627592, 26272},
	"mobilenet_v2_1_0":  {3504960, 34176},
	"resnet101_v1":      {44589800, 105344},
	"resnet101_v2":      {44541614, 97798},
	"resnet152_v1":      {60252648, 151424},
	"resnet152_v2":      {60185262, 143878},
	"resnet18_v1":       {11689512, 9600},
	"resnet18_v2":       {11687854, 7942},
	"resnet34_v1":       {21797672, 17024},
	"resnet34_v2":       {21796014, 15366},
	"resnet50_v1":       {25575912, 53120},
	"resnet50_v2":       {25549486, 45574},
	"squeezenet1_0":     {1248424, 0},
	"squeezenet1_1":     {1235496, 0},
	"vgg11":             {132863336, 0},
	"vgg11_bn":          {132868840, 5504},
	"vgg13":             {133047848, 0},
	"vgg13_bn":          {133053736, 5888},
	"vgg16":             {138357544, 0},
	"vgg16_bn":          {138365992, 8448},
	"vgg19":             {143667240, 0},
	"vgg19_bn":          {143678248, 11008},
}

// ok ends the test at an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// zeros gives a network parameters of zeros, and the shapes that follow from its inputs.
func zeros(t *testing.T, net *gluon.Net, inputs []zoo.Input) {
	t.Helper()
	net.Params().SetInit(initializer.Zero{})
	ok(t, net.Init(initializer.Zero{}))
	var opts []gluon.ExportOption
	for _, in := range inputs {
		opts = append(opts, gluon.Input(in.Name, in.Shape...))
	}
	_, err := net.Symbol(opts...)
	ok(t, err)
}

// count adds up the numbers in the parameters: those that are trained, and the states.
func count(net *gluon.Net) (trained, states int) {
	seen := map[*gluon.Param]bool{}
	for _, p := range net.Params().All() {
		switch {
		case seen[p]:
		case p.State:
			states += p.Shape.Size()
		default:
			trained += p.Shape.Size()
		}
		seen[p] = true
	}
	return trained, states
}

// TestTotals compares the numbers of parameters with MXNet's.
func TestTotals(t *testing.T) {
	vision := 0
	for _, e := range zoo.List() {
		want, there := totals[e.Function]
		if !there {
			continue
		}
		vision++
		if want[0] > large && !*largeFlag {
			continue
		}
		t.Run(e.Function, func(t *testing.T) {
			net, err := e.New()
			ok(t, err)
			zeros(t, net, e.Inputs)
			if trained, states := count(net); trained != want[0] || states != want[1] {
				t.Errorf("%d parameters and %d statistics, want %v", trained, states, want)
			}
		})
	}
	if vision != len(totals) {
		t.Errorf("%d networks are in the list, want %d", vision, len(totals))
	}
}

// TestUnknown: errors name networks that are near, and options that a network has not.
func TestUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"resnet18":       "did you mean resnet18_v1, resnet18_v2",
		"mobilnet_v2_10": "did you mean mobilenet_v2_1_0",
		"vgg16bn":        "did you mean vgg16_bn",
		"xyz":            "gomx zoo list",
		"":               "gomx zoo list",
	} {
		if _, err := zoo.Model(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for want, f := range map[string]func() (*gluon.Net, error){
		"no option thumbnail": func() (*gluon.Net, error) {
			return zoo.Model("alexnet", zoo.Thumbnail())
		},
		"no option classes": func() (*gluon.Net, error) {
			return zoo.Model("gpt2_117m", zoo.Classes(3))
		},
		"0 classes": func() (*gluon.Net, error) { return zoo.Model("vgg11", zoo.Classes(0)) },
		"share":     func() (*gluon.Net, error) { return zoo.Model("densenet121", zoo.Dropout(1)) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, f := range map[string]func(){
		"17 layers":     func() { zoo.ResNet(1, 17) },
		"version 3":     func() { zoo.ResNet(3, 18) },
		"12 layers":     func() { zoo.VGG(12) },
		"100 layers":    func() { zoo.DenseNet(100) },
		`version "2.0"`: func() { zoo.SqueezeNet("2.0") },
		"multiplier 0":  func() { zoo.MobileNet(0) },
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}()
			f()
		}()
	}
}

// TestTransfer puts another output behind the features of a network.
func TestTransfer(t *testing.T) {
	model := zoo.ResNet18V1(zoo.Thumbnail())
	model.Output = zoo.VGG11().Output
	net := gluon.New(model)
	zeros(t, net, []zoo.Input{{Name: "data", Shape: nd.Shape{1, 3, 16, 16}}})
	if got := net.Params().Get("output.weight").Shape; !got.Equal(nd.Shape{1000, 512}) {
		t.Errorf("output of shape %v, want (1000, 512)", got)
	}
}
