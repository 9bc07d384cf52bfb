// Package embed makes embeddings of sentences: vectors whose products tell how much sentences have
// to do with each other. It serves models of sentence-transformers, such as all-MiniLM-L6-v2.
//
//	m, err := embed.Load("all-MiniLM-L6-v2") // a folder
//	defer m.Close()
//	vectors, err := m.Embed(ctx, "How do I resume a run?", "The engine knows no tensors.")
//
// The folder has config.json and model.safetensors of a network that zoo.LoadBERT knows,
// tokenizer.json, and may have the files of sentence-transformers: modules.json,
// sentence_bert_config.json and the configuration of the pooling. Embeddings are the mean of the
// outputs of all tokens of a sentence, or the first output, and have the length 1 where the model
// says so. A sentence of more tokens than the model takes is cut.
//
// # Packing
//
// Sentences have many lengths, and padding them to one costs more than half of the time. Embed
// packs several sentences into one row of 16 to 512 tokens: a mask keeps their attention apart,
// each token has the position in its own sentence, and a product with a matrix takes the means.
// Rows are full but for their ends, and few shapes are ever compiled. The same sentence has the
// same embedding in any company, within rounding.
//
// A Model may be used by any number of goroutines.
//
// Source: Reimers and Gurevych, "Sentence-BERT", 2019; packing: Krell et al., "Efficient Sequence
// Packing without Cross-contamination", 2021.
package embed
