// Package tokenizer cuts texts into the tokens that models of language read, by the file
// tokenizer.json of a model of Hugging Face.
//
//	t, err := tokenizer.Load("tokenizer.json")
//	e := t.Encode("The engine knows no tensors.")
//	fmt.Println(e.IDs, e.Mask)
//	text := t.Decode(e.IDs, false)
//
// # Parts
//
// A text goes through the parts that the file names: added tokens are cut out, a normalizer changes
// characters, a pre-tokenizer cuts words, the model finds tokens in them, and a post-processor puts
// special tokens around them. A decoder goes the way back.
//
// Models are WordPiece (BERT), BPE (GPT-2, RoBERTa, CLIP, Llama; with bytes as visible characters
// or as tokens <0x00> to <0xFF>) and WordLevel. Normalizers are BertNormalizer, Lowercase, NFC,
// NFD, NFKC, NFKD, StripAccents, Strip, Prepend, Replace, ByteLevel; pre-tokenizers
// BertPreTokenizer, ByteLevel, Metaspace, Whitespace, WhitespaceSplit, Punctuation, Digits, Split,
// CharDelimiterSplit; post-processors TemplateProcessing, BertProcessing, RobertaProcessing,
// ByteLevel; decoders WordPiece, ByteLevel, BPEDecoder, Metaspace, ByteFallback, Replace, Strip,
// Fuse. Sequences of all are known.
//
// Parse refuses a file with other parts, among them the model Unigram, and with options that the
// package does not know: its error names them. Regular expressions have the syntax of regexp, and
// the end `\s+(?!\S)|\s+` that GPT-2 and its successors have.
//
// # Length
//
// A file may shorten and pad texts. With makes a tokenizer with other lengths:
//
//	t, err = t.With(tokenizer.MaxLength(256), tokenizer.PadLongest())
//	batch := t.EncodeBatch(texts)
//
// # Agreement
//
// Tokens, ids, types, masks, offsets and decoded texts equal the ones of the Python package
// tokenizers 0.23.3, which TestCases compares for sixteen kinds of files, and TestPeer for any
// file. Offsets count bytes of the text, where Python counts characters. Characters that Unicode
// has got since the tables of that package were made, or got after the tables of Go, may belong to
// other categories.
//
// # Safety
//
// Files and texts are hostile input: the time for a text of n bytes is O(n log n) for BPE, and
// bounded by the longest token of the vocabulary for the others. Bytes that are no UTF-8 count as
// U+FFFD. A Tokenizer does not change; any number of goroutines may use it.
//
// Sources: https://huggingface.co/docs/tokenizers; Wu et al., "Google's Neural Machine Translation
// System", 2016 (WordPiece); Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words
// with Subword Units", 2016 (BPE).
package tokenizer
