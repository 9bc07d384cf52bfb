// Package vision has data sets of labelled pictures and transforms of pictures for package data.
//
//	train := vision.FashionMNIST(dir, vision.Train)
//	train = train.Map(vision.First(vision.RandomFlipLeftRight{}, vision.ToTensor{}))
//	loader := data.NewLoader(train, 64, data.Shuffle(7), data.Workers(2))
//
// # Data sets
//
// [MNIST], [FashionMNIST], [CIFAR10], [CIFAR100], [ImageFolder], [ImageRecord] and [ImageList]
// return data sets whose samples have two parts: a picture of 8-bit samples in the layout (height,
// width, channel), and its label. They read files that are there already; nothing is downloaded.
// Pictures of folders and records are decoded when a sample is asked for, in the workers of a
// loader.
//
// # Transforms
//
// A [Transform] makes a new tensor of a tensor. Transforms are values with settings and no state,
// so any number of workers may use one; [Compose] joins them. [First] makes of them a function for
// Dataset.Map that changes the pictures and keeps the labels. Random transforms draw from the
// random stream of their sample: batches do not depend on the number of workers, and a resumed
// run sees the same pictures.
//
// Geometry and colors are changed in the layout (height, width, channel), before [ToTensor], which
// makes the layout (channel, height, width) of networks; [Normalize] and [Rotate] are applied after
// it. Where a batch of pictures has a first axis more, it is allowed too.
//
// The model is MXNet's gluon.data.vision, whose arithmetic the transforms have.
package vision
