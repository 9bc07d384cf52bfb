package zoo

// ResNet18V1 makes a residual network of version 1 with 18 layers, see [ResNet].
func ResNet18V1(opts ...Option) *Classifier { return ResNet(1, 18, opts...) }

// ResNet34V1 makes a residual network of version 1 with 34 layers, see [ResNet].
func ResNet34V1(opts ...Option) *Classifier { return ResNet(1, 34, opts...) }

// ResNet50V1 makes a residual network of version 1 with 50 layers, see [ResNet].
func ResNet50V1(opts ...Option) *Classifier { return ResNet(1, 50, opts...) }

// ResNet101V1 makes a residual network of version 1 with 101 layers, see [ResNet].
func ResNet101V1(opts ...Option) *Classifier { return ResNet(1, 101, opts...) }

// ResNet152V1 makes a residual network of version 1 with 152 layers, see [ResNet].
func ResNet152V1(opts ...Option) *Classifier { return ResNet(1, 152, opts...) }

// ResNet18V2 makes a residual network of version 2 with 18 layers, see [ResNet].
func ResNet18V2(opts ...Option) *Classifier { return ResNet(2, 18, opts...) }

// ResNet34V2 makes a residual network of version 2 with 34 layers, see [ResNet].
func ResNet34V2(opts ...Option) *Classifier { return ResNet(2, 34, opts...) }

// ResNet50V2 makes a residual network of version 2 with 50 layers, see [ResNet].
func ResNet50V2(opts ...Option) *Classifier { return ResNet(2, 50, opts...) }

// ResNet101V2 makes a residual network of version 2 with 101 layers, see [ResNet].
func ResNet101V2(opts ...Option) *Classifier { return ResNet(2, 101, opts...) }

// ResNet152V2 makes a residual network of version 2 with 152 layers, see [ResNet].
func ResNet152V2(opts ...Option) *Classifier { return ResNet(2, 152, opts...) }

// VGG11 makes a VGG network of 11 layers, see [VGG].
func VGG11(opts ...Option) *Classifier { return VGG(11, opts...) }

// VGG13 makes a VGG network of 13 layers, see [VGG].
func VGG13(opts ...Option) *Classifier { return VGG(13, opts...) }

// VGG16 makes a VGG network of 16 layers, see [VGG].
func VGG16(opts ...Option) *Classifier { return VGG(16, opts...) }

// VGG19 makes a VGG network of 19 layers, see [VGG].
func VGG19(opts ...Option) *Classifier { return VGG(19, opts...) }

// VGG11BN makes a VGG network of 11 layers with batch normalization, see [VGG].
func VGG11BN(opts ...Option) *Classifier { return VGG(11, append(opts, BatchNorm())...) }

// VGG13BN makes a VGG network of 13 layers with batch normalization, see [VGG].
func VGG13BN(opts ...Option) *Classifier { return VGG(13, append(opts, BatchNorm())...) }

// VGG16BN makes a VGG network of 16 layers with batch normalization, see [VGG].
func VGG16BN(opts ...Option) *Classifier { return VGG(16, append(opts, BatchNorm())...) }

// VGG19BN makes a VGG network of 19 layers with batch normalization, see [VGG].
func VGG19BN(opts ...Option) *Classifier { return VGG(19, append(opts, BatchNorm())...) }

// DenseNet121 makes a DenseNet of 121 layers, see [DenseNet].
func DenseNet121(opts ...Option) *Classifier { return DenseNet(121, opts...) }

// DenseNet161 makes a DenseNet of 161 layers, see [DenseNet].
func DenseNet161(opts ...Option) *Classifier { return DenseNet(161, opts...) }

// DenseNet169 makes a DenseNet of 169 layers, see [DenseNet].
func DenseNet169(opts ...Option) *Classifier { return DenseNet(169, opts...) }

// DenseNet201 makes a DenseNet of 201 layers, see [DenseNet].
func DenseNet201(opts ...Option) *Classifier { return DenseNet(201, opts...) }

// SqueezeNet10 makes version 1.0 of SqueezeNet, see [SqueezeNet].
func SqueezeNet10(opts ...Option) *Classifier { return SqueezeNet("1.0", opts...) }

// SqueezeNet11 makes version 1.1 of SqueezeNet, see [SqueezeNet].
func SqueezeNet11(opts ...Option) *Classifier { return SqueezeNet("1.1", opts...) }

// MobileNetAt100 makes a MobileNet with all channels, see [MobileNet].
func MobileNetAt100(opts ...Option) *Classifier { return MobileNet(1, opts...) }

// MobileNetAt75 makes a MobileNet with 75 % of the channels, see [MobileNet].
func MobileNetAt75(opts ...Option) *Classifier { return MobileNet(0.75, opts...) }

// MobileNetAt50 makes a MobileNet with 50 % of the channels, see [MobileNet].
func MobileNetAt50(opts ...Option) *Classifier { return MobileNet(0.5, opts...) }

// MobileNetAt25 makes a MobileNet with 25 % of the channels, see [MobileNet].
func MobileNetAt25(opts ...Option) *Classifier { return MobileNet(0.25, opts...) }

// MobileNetV2At100 makes a MobileNetV2 with all channels, see [MobileNetV2].
func MobileNetV2At100(opts ...Option) *Classifier { return MobileNetV2(1, opts...) }

// MobileNetV2At75 makes a MobileNetV2 with 75 % of the channels, see [MobileNetV2].
func MobileNetV2At75(opts ...Option) *Classifier { return MobileNetV2(0.75, opts...) }

// MobileNetV2At50 makes a MobileNetV2 with 50 % of the channels, see [MobileNetV2].
func MobileNetV2At50(opts ...Option) *Classifier { return MobileNetV2(0.5, opts...) }

// MobileNetV2At25 makes a MobileNetV2 with 25 % of the channels, see [MobileNetV2].
func MobileNetV2At25(opts ...Option) *Classifier { return MobileNetV2(0.25, opts...) }
