"""Layers of capsule networks, and of the plain ones that they are compared with."""

from capsmodel.layers.backbone import Backbone as Backbone
from capsmodel.layers.backbone import ResidualBlock as ResidualBlock
from capsmodel.layers.capsule_grid import CapsuleGrid as CapsuleGrid
from capsmodel.layers.capsule_grid import CapsuleNorm as CapsuleNorm
from capsmodel.layers.capsule_grid import GridPrimaryCapsules as GridPrimaryCapsules
from capsmodel.layers.capsule_grid import PreNormPrimaryCapsules as PreNormPrimaryCapsules
from capsmodel.layers.capsule_grid import PrimaryStart as PrimaryStart
from capsmodel.layers.capsule_maps import CapsuleCell as CapsuleCell
from capsmodel.layers.capsule_maps import RoutedGrid as RoutedGrid
from capsmodel.layers.capsule_maps import SquashedConvolution as SquashedConvolution
from capsmodel.layers.capsule_stack import CapsuleStack as CapsuleStack
from capsmodel.layers.capsules import Capsules as Capsules
from capsmodel.layers.conv_capsules import ConvCapsules as ConvCapsules
from capsmodel.layers.conv_capsules import MatrixStart as MatrixStart
from capsmodel.layers.convolution import Convolution as Convolution
from capsmodel.layers.convolution import ConvolutionStack as ConvolutionStack
from capsmodel.layers.convolution import NormalisedStack as NormalisedStack
from capsmodel.layers.convolution import Padding as Padding
from capsmodel.layers.convolution import PreNormConvolution as PreNormConvolution
from capsmodel.layers.convolution import Window as Window
from capsmodel.layers.homogeneous_capsules import HomogeneousCapsules as HomogeneousCapsules
from capsmodel.layers.linear import Classifier as Classifier
from capsmodel.layers.linear import Decoder as Decoder
from capsmodel.layers.primary_capsules import PrimaryCapsules as PrimaryCapsules
