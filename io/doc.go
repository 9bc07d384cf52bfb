// Package io feeds models with batches: iterators over arrays and files, under MXNet's names.
// Import it as dataio "gomx/io".
//
//	train, err := dataio.MNISTIter(dataio.MNISTConfig{
//		Image: "train-images-idx3-ubyte.gz", Label: "train-labels-idx1-ubyte.gz",
//		BatchSize: 64, Shuffle: true, Seed: 7,
//	})
//	for batch, err := range train.Epoch() {
//		…
//	}
//
// # Iterators
//
// An Iter returns batches until Next returns io.EOF; Reset begins the next epoch. NDArrayIter and
// MNISTIter make a Table, which keeps its samples in memory, in the element type of the file, and
// converts one batch at a time. CSVIter and LibSVMIter leave samples in their text files, and read
// and parse the lines of a batch when Next is called; the data of LibSVMIter are csr arrays
// (ExampleLibSVMIter). ImageRecordIter leaves pictures in their RecordIO file, and decodes and
// augments the pictures of a batch when Next is called (ExampleImageRecordIter). ImageIter does so
// with augmenters of package image; ImageDetIter and ImageDetRecordIter read pictures with the boxes
// of objects, which change with the pictures (ExampleImageDetIter). Prefetch reads ahead of an
// iterator in a goroutine. An iterator is used by one goroutine at a time.
//
// # Ownership of batches
//
// The arrays of a batch belong to the iterator, which fills a small ring of them over and over:
// nothing is allocated in steady state. A batch keeps its content during the next two calls of Next
// (more after Keep) and is then overwritten. Operations that have been started on its arrays still
// see the old content, because the iterator waits for them. Copy the content to keep it longer.
// Batches of NDArrayIter without shuffling are views of its arrays, without a copy: do not write
// into either.
//
// # The last batch
//
// The number of samples is rarely a multiple of the batch size. Pad fills the last batch with
// samples from the beginning and stores their number in Batch.Pad. Discard drops the last batch.
// RollOver keeps the remaining samples for the next epoch. Round pads, and the next epoch begins
// after the borrowed samples. The default is MXNet's, which differs between iterators.
//
// # Shuffling
//
// The order of an epoch and the random augmentation of a picture depend only on the seed and the
// epoch number, not on the number of threads: a run resumed with SetEpoch sees the same samples as
// an uninterrupted run. The iterators can also be resumed in the middle of an epoch from their
// state (Stateful), and can skip batches without reading them (Skipper).
//
// # Files
//
// Package io/text finds and parses the lines of text files, whole or one part of them by bytes.
// ReadIDX decodes the idx files of MNIST and similar data sets, plain or gzipped. RecordReader and
// RecordWriter handle RecordIO. Package io/image decodes pictures; PackImages (and the command gomx
// im2rec) packs them into RecordIO files. For damaged input, decoders return an error with the
// value found and the value wanted; they never allocate memory for sizes that a header claims and
// the file does not have.
package io
