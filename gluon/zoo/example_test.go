package zoo_test

import (
	"fmt"
	"log"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/gluon/zoo"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// A network by the name of MXNet's get_model, with options.
func ExampleModel() {
	net, err := zoo.Model("mobilenetv2_0.25", zoo.Classes(10))
	if err != nil {
		log.Fatal(err)
	}
	if err := net.Init(initializer.Xavier{}); err != nil { // or net.Load(file of MXNet)
		log.Fatal(err)
	}
	fmt.Println(net.Forward(nd.Zeros(nd.Shape{2, 3, 64, 64})).Shape())
	_, err = zoo.Model("mobilenetv2_0.2")
	fmt.Println(err)
	// Output:
	// (2, 10)
	// zoo: no network "mobilenetv2_0.2", did you mean mobilenet_v2_0_25, mobilenet_v2_0_5, mobilenet_v2_0_75?
}

// The features of a network with another output.
func ExampleClassifier() {
	model := zoo.MobileNet(0.25)
	model.Output = &nn.Dense{Units: 3}
	net := gluon.New(model)
	if err := net.Init(initializer.Xavier{}); err != nil {
		log.Fatal(err)
	}
	features, err := net.Params().Select("^features")
	if err != nil {
		log.Fatal(err)
	}
	features.SetGradReq(nd.GradNull) // a trainer leaves them as they are
	fmt.Println(net.Forward(nd.Zeros(nd.Shape{1, 3, 32, 32})).Shape())
	fmt.Println(net.GlobalNames("")["features.0.weight"])
	// Output:
	// (1, 3)
	// mobilenet0_conv0_weight
}

// BERT without the parts for pretraining, with sequences of different lengths.
func ExampleBERT() {
	bert := zoo.NewBERT(zoo.BERTConfig{Vocab: 100, Units: 32, Layers: 2, Heads: 4,
		NoDecoder: true, NoClassifier: true})
	if err := bert.Net().Init(initializer.Xavier{}); err != nil {
		log.Fatal(err)
	}
	out := bert.Run(zoo.BERTInput{Words: nd.Ones(nd.Shape{2, 7}),
		TokenTypes: nd.Zeros(nd.Shape{2, 7}), ValidLength: nd.FromSlice([]float32{7, 4}, 2)})
	fmt.Println(out.Steps.Shape(), out.Pooled.Shape())
	// Output: (2, 7, 32) (2, 32)
}

// GPT-2 reads the steps of a text one after the other and keeps the keys and values of earlier
// ones.
func ExampleGPT2_Run() {
	gpt := zoo.NewGPT2(zoo.GPT2Config{Vocab: 100, Units: 32, Layers: 2, Heads: 4})
	if err := gluon.New(gpt).Init(initializer.Xavier{}); err != nil {
		log.Fatal(err)
	}
	var scores *nd.Array
	var past []*nd.Array
	for range 3 {
		scores, past = gpt.Run(nd.Ones(nd.Shape{1, 1}), past)
	}
	fmt.Println(scores.Shape(), past[0].Shape())
	// Output: (1, 1, 100) (1, 3, 32)
}
