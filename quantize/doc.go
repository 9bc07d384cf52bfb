// Package quantize turns trained networks into networks that compute with integers of 8 bits.
//
//	m, err := checkpoint.Load("resnet", 12)
//	…
//	q, err := quantize.Calibrate(ctx, m, data, quantize.Config{Mode: quantize.Entropy})
//	…
//	err = q.Model.Save("resnet-int8", 0)
//
// # Layers
//
// Convolutions over two or three axes and dense layers become MXNet's quantized operators. MXNet
// has no groups there, so Config.ForMXNet leaves convolutions with groups in float32. Batch norms
// behind layers are folded into their weights first, and dropouts go. Weights are int8, with a step
// for each output channel. Data are uint8 where no number is negative, as behind a rectifier. Other
// data of dense layers are int8; other data of convolutions, which MXNet wants as uint8, are moved
// by an integer zero point that the offset of the layer takes back.
//
// Pooling by max, flattening and joins along channels work on the integers. Residual sums read
// integers and add in float32. All other operators compute in float32.
//
// The sums of a layer are int32. They become float32, are multiplied by the step of their channel,
// and an offset is added: so the files hold operators that MXNet 1.9.1 has and computes alike.
// Executors run all of these operators of a layer as one.
//
// # Ranges
//
// The range of data decides about accuracy. Naive takes the least and the greatest number that the
// calibration data show, Percentile leaves out the outermost numbers, Entropy cuts off where the
// distribution of the integers resembles that of the real numbers most. None takes the range of
// each batch when the network runs, which costs time.
//
// Batches of calibration come from an iterator: some hundred samples as the network will see them.
//
// # Choice of layers
//
// Config.Exclude names layers that stay float32. With Config.MaxLoss, Calibrate measures the error
// that each layer alone causes at the outputs, and leaves the worst layers in float32 until the
// error of the network is small enough.
//
// # Weights alone
//
// Weights stores the weights of dense layers as integers of 8 or 4 bits and leaves data and sums in
// float32: for networks that read more weights than they compute, without calibration.
package quantize
