// Package tensorboard encodes event files of TensorBoard: scalars, histograms, images and graphs.
// Package runs writes them by its option TensorBoard.
//
// Such a file is a sequence of records of TensorFlow's TFRecord format: a length of eight bytes,
// its checksum, the data, and their checksum. Checksums are CRC-32C, masked as TensorFlow does. The
// data of a record are a message Event of tensorboard/compat/proto/event.proto, which this package
// writes field by field.
package tensorboard
