"""Shapes and types that the signatures of modules with tensors state are checked in every test."""

from jaxtyping import install_import_hook

# Before anything of the package is imported: only what is imported later is checked.
install_import_hook(
    [
        "capsmodel.augmentation",
        "capsmodel.chance",
        "capsmodel.config",
        "capsmodel.data",
        "capsmodel.functional",
        "capsmodel.layers",
        "capsmodel.losses",
        "capsmodel.models",
        "capsmodel.optimisers",
        "capsmodel.reconstruction",
        "capsmodel.routing",
        "capsmodel.tensor_file",
        "capsmodel.trained",
        "capsmodel.training",
    ],
    "beartype.beartype",
)
