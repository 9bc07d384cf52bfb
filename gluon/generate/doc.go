// Package generate continues sequences of words with a network that scores the next word.
//
// [Words] continues several prompts together, also of different lengths: greedily, or by draws from
// the best words by number or by probability. A network takes part through [Model] and [Decoder];
// zoo.GPT2 does. The decoder keeps the steps that it has read: each further word costs one step.
package generate
