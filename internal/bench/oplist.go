package bench

// The operands of operators from ResNet are batches of 8 images, those from BERT are 8 sequences of
// 128 words.

func resnetOps() []single {
	return []single{
		{name: "conv7x7", op: "Convolution", in: []operand{signed(8, 3, 224, 224),
			weight(64, 3, 7, 7)}, attrs: "kernel=(7,7) stride=(2,2) pad=(3,3) num_filter=64 " +
			"no_bias=True"},
		{name: "conv3x3", op: "Convolution", in: []operand{signed(8, 64, 56, 56),
			weight(64, 64, 3, 3)}, attrs: "kernel=(3,3) pad=(1,1) num_filter=64 no_bias=True"},
		{name: "conv3x3s2", op: "Convolution", in: []operand{signed(8, 128, 56, 56),
			weight(128, 128, 3, 3)}, attrs: "kernel=(3,3) stride=(2,2) pad=(1,1) num_filter=128 " +
			"no_bias=True"},
		{name: "conv1x1", op: "Convolution", in: []operand{signed(8, 256, 56, 56),
			weight(64, 256, 1, 1)}, attrs: "kernel=(1,1) num_filter=64 no_bias=True"},
		{name: "conv1x1late", op: "Convolution", in: []operand{signed(8, 512, 7, 7),
			weight(2048, 512, 1, 1)}, attrs: "kernel=(1,1) num_filter=2048 no_bias=True"},
		{name: "batchnorm", op: "BatchNorm", in: []operand{signed(8, 64, 112, 112), positive(64),
			signed(64), signed(64), positive(64)}, attrs: "fix_gamma=False"},
		{name: "batchnorm_train", op: "BatchNorm", train: true,
			in: []operand{signed(8, 64, 112, 112), positive(64), signed(64), signed(64),
				positive(64)}, attrs: "fix_gamma=False"},
		{name: "maxpool", op: "Pooling", in: []operand{signed(8, 64, 112, 112)},
			attrs: "kernel=(3,3) stride=(2,2) pad=(1,1) pool_type=max"},
		{name: "avgpool", op: "Pooling", in: []operand{signed(8, 2048, 7, 7)},
			attrs: "kernel=(7,7) global_pool=True pool_type=avg"},
		{name: "relu", op: "Activation", in: []operand{signed(8, 256, 56, 56)},
			attrs: "act_type=relu"},
		{name: "residual", op: "elemwise_add", in: []operand{signed(8, 256, 56, 56),
			signed(8, 256, 56, 56)}},
		{name: "fc", op: "FullyConnected", in: []operand{signed(32, 2048), weight(1000, 2048),
			signed(1000)}, attrs: "num_hidden=1000"},
	}
}

func bertOps() []single {
	return []single{
		{name: "dense_up", op: "FullyConnected", in: []operand{signed(1024, 768), weight(3072, 768),
			signed(3072)}, attrs: "num_hidden=3072"},
		{name: "dense_down", op: "FullyConnected", in: []operand{signed(1024, 3072),
			weight(768, 3072), signed(768)}, attrs: "num_hidden=768"},
		{name: "attention_qk", op: "batch_dot", in: []operand{signed(96, 128, 64),
			signed(96, 128, 64)}, attrs: "transpose_b=True"},
		{name: "attention_av", op: "batch_dot", in: []operand{signed(96, 128, 128),
			signed(96, 128, 64)}},
		{name: "selfatt_qk", op: "_contrib_interleaved_matmul_selfatt_qk",
			in: []operand{signed(128, 8, 2304)}, attrs: "heads=12"},
		{name: "softmax", op: "softmax", in: []operand{signed(8, 12, 128, 128)}, attrs: "axis=-1"},
		{name: "layernorm", op: "LayerNorm", in: []operand{signed(1024, 768), signed(768),
			signed(768)}, attrs: "axis=-1"},
		{name: "gelu", op: "LeakyReLU", in: []operand{signed(1024, 3072)}, attrs: "act_type=gelu"},
		{name: "embedding", op: "Embedding", in: []operand{below(30522, 8, 128),
			signed(30522, 768)}, attrs: "input_dim=30522 output_dim=768"},
		{name: "heads", op: "transpose", in: []operand{signed(8, 128, 12, 64)},
			attrs: "axes=(0,2,1,3)"},
	}
}

// lstmOps lists the operators of two layers of 650 cells on 20 sequences of 35 words out of 10,000.
func lstmOps() []single {
	return []single{
		{name: "gates", op: "FullyConnected", in: []operand{signed(20, 650), weight(2600, 650),
			signed(2600)}, attrs: "num_hidden=2600"},
		{name: "lstm", op: "RNN", in: []operand{signed(35, 20, 650),
			weight(2*4*650*1300 + 2*2*2600), signed(2, 20, 650), signed(2, 20, 650)},
			attrs: "state_size=650 num_layers=2 mode=lstm"},
		{name: "log_softmax", op: "log_softmax", in: []operand{signed(700, 10000)},
			attrs: "axis=-1"},
		{name: "topk", op: "topk", in: []operand{signed(64, 10000)}, attrs: "axis=-1 k=10"},
	}
}

// side is the number of rows and columns of large matrices.
const side = 4096

func largeOps() []single {
	x, y, wide := signed(side, side), signed(side, side), signed(side, side/2)
	return []single{
		{name: "add", op: "elemwise_add", in: []operand{x, y}},
		{name: "mul", op: "elemwise_mul", in: []operand{x, y}},
		{name: "broadcast_add", op: "broadcast_add", in: []operand{x, signed(1, side)}},
		{name: "exp", op: "exp", in: []operand{x}},
		{name: "tanh", op: "tanh", in: []operand{x}},
		{name: "sigmoid", op: "sigmoid", in: []operand{x}},
		{name: "sqrt", op: "sqrt", in: []operand{positive(side, side)}},
		{name: "sum_rows", op: "sum", in: []operand{x}, attrs: "axis=1"},
		{name: "sum_columns", op: "sum", in: []operand{x}, attrs: "axis=0"},
		{name: "mean", op: "mean", in: []operand{x}},
		{name: "max", op: "max", in: []operand{x}, attrs: "axis=1"},
		{name: "argmax", op: "argmax", in: []operand{x}, attrs: "axis=1"},
		{name: "transpose", op: "transpose", in: []operand{x}},
		{name: "concat", op: "Concat", in: []operand{wide, wide}, attrs: "dim=1"},
	}
}

func moreLargeOps() []single {
	x, y := signed(side, side), signed(side, side)
	return []single{
		{name: "slice", op: "slice", in: []operand{x}, attrs: "begin=(0,1024) end=(4096,3072)"},
		{name: "take", op: "take", in: []operand{x, below(side, side)}},
		{name: "one_hot", op: "one_hot", in: []operand{below(side, side)}, attrs: "depth=4096"},
		{name: "where", op: "where", in: []operand{below(2, side, side), x, y}},
		{name: "cast_float16", op: "Cast", in: []operand{x}, attrs: "dtype=float16"},
		{name: "sgd_mom_update", op: "sgd_mom_update", in: []operand{x, y, signed(side, side)},
			attrs: "lr=0.01 momentum=0.9 wd=0.0001"},
		{name: "adam_update", op: "adam_update", in: []operand{x, y, signed(side, side),
			positive(side, side)}, attrs: "lr=0.01 wd=0.0001"},
		{name: "dropout", op: "Dropout", in: []operand{x}, attrs: "p=0.5 mode=always"},
		{name: "normal", op: "_random_normal", attrs: "shape=(4096,4096)"},
	}
}
