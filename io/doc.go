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
// An Iter hands out batches until Next answers io.EOF; Reset begins the next epoch. The iterators
// here keep their samples in memory, in the element type of the file, and convert one batch at a
// time: a Table, made by NDArrayIter, MNISTIter, CSVIter or LibSVMIter. ImageRecordIter leaves
// pictures in their RecordIO file, and decodes and augments each batch when it is asked for
// (ExampleImageRecordIter). Prefetch puts a goroutine in front of any of them. An iterator is used
// by one goroutine at a time.
//
// # Who owns a batch
//
// The arrays of a batch belong to the iterator, which fills a small ring of them over and over:
// nothing is allocated in steady state. A batch stays as it is during the two calls of Next that
// follow (more after Keep) and is then overwritten; operations that were started on its arrays
// before that still see the old content, because the iterator waits for them. Copy what is to be
// kept longer. Batches of NDArrayIter without shuffling are views of its arrays, which nothing is
// copied for: write into neither.
//
// # The last batch
//
// The number of samples is rarely a multiple of the batch size. Pad completes the last batch with
// samples from the beginning and says how many in Batch.Pad, Discard drops it, RollOver gives the
// remaining samples to the next epoch, Round pads and makes the next epoch begin after the samples
// borrowed. The default is MXNet's, which differs from iterator to iterator.
//
// # Shuffling
//
// The order of an epoch is a function of seed and epoch number alone, and so is what is drawn to
// augment a picture, whatever the number of threads: a run resumed with SetEpoch sees what the
// undisturbed run would have seen. In the middle of an epoch the iterators here are taken up by
// their state (Stateful), and pass over batches without reading them (Skipper).
//
// # Files
//
// ReadIDX decodes the idx files of MNIST and its relatives, plain or gzipped; RecordReader and
// RecordWriter handle RecordIO; package io/image decodes pictures, PackImages (and the command gomx
// im2rec) makes files of them. Decoders answer damaged input with an error that says what was found
// and what was wanted, and never allocate what a header merely claims.
package io
