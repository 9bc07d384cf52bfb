//go:build cuda

package rnn_test

import _ "gomx/device/cuda"
