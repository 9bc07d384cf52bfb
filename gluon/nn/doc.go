// Package nn has the layers of networks. A layer is a struct whose fields configure it; the zero
// value of a field is MXNet's default. Its parameters are fields of type *gluon.Param, which are
// nil until the layer is part of a network or is called.
//
//	net := gluon.New(nn.Sequential{
//		&nn.Conv2D{Channels: 20, Kernel: nn.Square(5), Activation: "tanh"},
//		&nn.MaxPool2D{},
//		nn.Flatten{},
//		&nn.Dense{Units: 10}})
//
// # Layers
//
//   - Products: [Dense], [Embedding]
//   - Convolutions: [Conv], [ConvTranspose], under names for one to three axes;
//     [DeformableConvolution]
//   - Pooling: [MaxPool], [AvgPool], [GlobalMaxPool], [GlobalAvgPool]
//   - Normalization: [BatchNorm], [BatchNormReLU], [SyncBatchNorm], [LayerNorm], [RMSNorm],
//     [GroupNorm], [InstanceNorm]
//   - Functions: [Activation], [LeakyReLU], [PReLU], [ELU], [SELU], [GELU], [Swish], [Dropout]
//   - Attention: [Attention], [KVCache], [MultiHeadAttention], [TransformerEncoder],
//     [TransformerDecoder] and their layers, [FeedForward], [SinusoidalPosition], [LearnedPosition]
//   - Shapes: [Flatten], [ReflectionPad2D], [PixelShuffle]
//   - Containers: [Sequential], [Concurrent], [Identity]; gluon.Func makes a block of a function
//
// Layers that are pointers have hooks, see gluon.Hooks; gluon.Hooked gives hooks to the others.
//
// # Sharing
//
// Two layers share a parameter when both have the same *gluon.Param: a program sets the field of
// the second to the field of the first after the first has been declared.
//
// Layers may be called from many goroutines once their parameters have values.
package nn
