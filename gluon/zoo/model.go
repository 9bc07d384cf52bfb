package zoo

import (
	"fmt"
	"slices"
	"strings"

	"gomx/gluon"
	nd "gomx/ndarray"
	"gomx/op"
)

// Entry is a network that Model knows.
type Entry struct {
	Name     string // of MXNet's get_model, such as "mobilenetv2_1.0"
	Function string // of the Python function, such as "mobilenet_v2_1_0"; Name for most
	// Inputs are the arguments in order, with the shapes for which the network is meant, for one
	// sample.
	Inputs []Input

	make func(opts []Option) (*gluon.Net, error)
}

// Input is an argument of a network.
type Input struct {
	Name  string
	Shape nd.Shape
	Below int // the values are whole numbers from 0 below it; 0: they are real
}

// vision lists the networks for pictures by the names of MXNet's get_model and of its functions.
var vision = []struct {
	name, function string
	new            func(opts ...Option) *Classifier
}{
	{"resnet18_v1", "resnet18_v1", ResNet18V1},
	{"resnet34_v1", "resnet34_v1", ResNet34V1},
	{"resnet50_v1", "resnet50_v1", ResNet50V1},
	{"resnet101_v1", "resnet101_v1", ResNet101V1},
	{"resnet152_v1", "resnet152_v1", ResNet152V1},
	{"resnet18_v2", "resnet18_v2", ResNet18V2},
	{"resnet34_v2", "resnet34_v2", ResNet34V2},
	{"resnet50_v2", "resnet50_v2", ResNet50V2},
	{"resnet101_v2", "resnet101_v2", ResNet101V2},
	{"resnet152_v2", "resnet152_v2", ResNet152V2},
	{"vgg11", "vgg11", VGG11},
	{"vgg13", "vgg13", VGG13},
	{"vgg16", "vgg16", VGG16},
	{"vgg19", "vgg19", VGG19},
	{"vgg11_bn", "vgg11_bn", VGG11BN},
	{"vgg13_bn", "vgg13_bn", VGG13BN},
	{"vgg16_bn", "vgg16_bn", VGG16BN},
	{"vgg19_bn", "vgg19_bn", VGG19BN},
	{"alexnet", "alexnet", AlexNet},
	{"densenet121", "densenet121", DenseNet121},
	{"densenet161", "densenet161", DenseNet161},
	{"densenet169", "densenet169", DenseNet169},
	{"densenet201", "densenet201", DenseNet201},
	{"squeezenet1.0", "squeezenet1_0", SqueezeNet10},
	{"squeezenet1.1", "squeezenet1_1", SqueezeNet11},
	{"inceptionv3", "inception_v3", InceptionV3},
	{"mobilenet1.0", "mobilenet1_0", MobileNetAt100},
	{"mobilenet0.75", "mobilenet0_75", MobileNetAt75},
	{"mobilenet0.5", "mobilenet0_5", MobileNetAt50},
	{"mobilenet0.25", "mobilenet0_25", MobileNetAt25},
	{"mobilenetv2_1.0", "mobilenet_v2_1_0", MobileNetV2At100},
	{"mobilenetv2_0.75", "mobilenet_v2_0_75", MobileNetV2At75},
	{"mobilenetv2_0.5", "mobilenet_v2_0_5", MobileNetV2At50},
	{"mobilenetv2_0.25", "mobilenet_v2_0_25", MobileNetV2At25},
}

// List returns the networks that Model knows, in the order of their Python functions.
func List() []Entry {
	var list []Entry
	for _, v := range vision {
		side := 224
		if v.name == "inceptionv3" {
			side = 299
		}
		list = append(list, Entry{Name: v.name, Function: v.function,
			Inputs: []Input{{Name: "data", Shape: nd.Shape{1, 3, side, side}}},
			make: func(opts []Option) (*gluon.Net, error) {
				return gluon.New(v.new(opts...)), nil
			}})
	}
	list = append(list, others()...)
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Function, b.Function) })
	return list
}

// Find returns the network of a name: of MXNet's get_model or of its Python function, in small or
// capital letters. The error of an unknown name has similar ones.
func Find(name string) (Entry, error) {
	wanted := strings.ToLower(name)
	list := List()
	for _, e := range list {
		if wanted == e.Name || wanted == e.Function {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("zoo: no network %q, %s", name, suggest(wanted, list))
}

// suggest names the networks whose names are near to one that does not exist.
func suggest(name string, list []Entry) string {
	type candidate struct {
		name string
		far  int
	}
	var near []candidate
	for _, e := range list {
		far := min(distance(name, e.Function), distance(name, e.Name))
		near = append(near, candidate{e.Function, far})
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.far - b.far })
	if near[0].far > len(name)/2 {
		return "see zoo.List or gomx zoo list"
	}
	names := []string{near[0].name}
	for _, c := range near[1:3] {
		if c.far <= near[0].far+1 {
			names = append(names, c.name)
		}
	}
	return "did you mean " + strings.Join(names, ", ") + "?"
}

// distance is the number of letters to change, insert or leave out between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Model makes a network by its name; see Find. An option that it does not have is an error.
//
// MXNet: gluon.model_zoo.get_model.
func Model(name string, opts ...Option) (*gluon.Net, error) {
	e, err := Find(name)
	if err != nil {
		return nil, err
	}
	return e.New(opts...)
}

// New makes the network.
func (e Entry) New(opts ...Option) (net *gluon.Net, err error) {
	defer op.Recover(&err)
	return e.make(opts)
}
