// Package data loads training data: data sets with random access, samplers that choose their order,
// and a loader whose workers compute batches ahead of the training loop.
//
//	set := data.Arrays(images, labels).Map(data.First(scale))
//	loader := data.NewLoader(set, 64, data.Shuffle(7), data.Workers(4))
//	for epoch := range 5 {
//		for batch, err := range loader.Batches(ctx) {
//			if err != nil {
//				return err
//			}
//			y := net.Forward(tape.Watch(batch.Data)) // and batch.Label, batch.Size
//		}
//	}
//
// # Data sets
//
// A [Dataset] of type S computes sample i when it is asked for it. [Arrays], [FromSlice],
// [RecordFile] and [New] make data sets; Map, Filter, Shard, Take, Sample and Load change them;
// [Convert] changes the type of samples. Package vision has data sets and transforms of pictures. A
// loader takes samples of type [Sample]: a list of tensors in the memory of the program, mostly
// data and label. Functions for Map run on several goroutines at once. They need no lock if they
// change nothing but their own sample.
//
// A data set keeps the first error of the calls that made it, so that calls can be chained. Err
// returns it, and so does the first step of a loop over a loader.
//
// # Order and randomness
//
// The order of an epoch is a function of the sampler and of the number of the epoch. Every function
// for Map gets the random stream of its sample, which is a function of the seed, the epoch and the
// number of the sample. Therefore batches are the same, bit for bit, for all numbers of workers.
//
// # Batches
//
// [Stack] joins tensors of one shape, [Pad] makes tensors equally large first, [Append] keeps them
// apart; [Group] chooses one of them for each part of the samples. The arrays of a batch belong to
// the loader, which fills a ring of them over and over. A batch keeps its content during the next
// two steps of the loop, or more with [Hold], and is then overwritten. Operations that a program
// has started on the arrays still see the old content, because the loader waits for them.
//
// A part is copied once, from the tensors to the arrays, if its rows have at least 16 KiB, and
// twice if they are smaller.
//
// # Jobs and resumed runs
//
// [Share] and [InJob] divide the batches of an epoch among the workers of a job. A loader
// implements io.Stateful: State describes its epoch and its position, and a loader of the same
// configuration continues there, also in another process and with another number of workers.
//
// The model is MXNet's gluon.data.
package data
