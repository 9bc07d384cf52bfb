// Package zoo has well-known networks with the structure, the names and the files of MXNet's.
//
//	net, err := zoo.Model("resnet18_v1", zoo.Classes(10))
//	err = net.Load("resnet18_v1.params") // of MXNet's save_parameters or export
//	scores := net.Forward(pictures)
//
// [Model] makes a network by its name, in the spelling of gluon.model_zoo.vision.get_model
// ("mobilenetv2_1.0") or of the Python function ("mobilenet_v2_1_0"); [List] has all names. There
// is a constructor for each, such as [ResNet18V1], and one for each family, such as [ResNet]. They
// return a [Classifier], whose Features a program can use with another Output.
//
// Other networks have constructors alone: [NewBERT], [NewGPT2], [NewLSTMLM], [NewSSD], [NewUNet],
// [DCGANGenerator] and [DCGANDiscriminator].
//
// # Names
//
// Parameters have MXNet's structural names ("features.0.weight"). With gluon.GlobalNames a network
// is exported as MXNet exports it, under global names ("resnetv10_conv0_weight") for parameters and
// operators.
//
// There are no files of trained parameters here: Load reads MXNet's files.
package zoo
