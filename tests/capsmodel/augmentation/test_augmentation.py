import torch

from capsmodel.augmentation import NoAugmentation, Shift


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_shift_moves_an_image_down_and_right_and_fills_with_zeros() -> None:
    image = torch.arange(1.0, 10.0).view(1, 1, 3, 3)
    shifted = Shift(pixels=2).apply(image, torch.tensor([[1, -1]]))
    assert shifted[0, 0].tolist() == [[0, 0, 0], [2, 3, 0], [5, 6, 0]]


def test_each_image_of_a_batch_has_its_own_shift_and_channels_move_together() -> None:
    images = torch.zeros(2, 3, 5, 5)
    images[:, :, 2, 2] = 1
    shifted = Shift(pixels=2).apply(images, torch.tensor([[0, 2], [-2, 1]]))
    places = [[n, c, *place] for n, place in enumerate([[2, 4], [0, 3]]) for c in range(3)]
    assert shifted.nonzero().tolist() == places


def test_shifts_take_every_value_up_to_the_limit_in_all_directions() -> None:
    draws = Shift(pixels=2).draw(1000, seeded())
    assert [column.unique().tolist() for column in draws.unbind(1)] == [[-2, -1, 0, 1, 2]] * 2


def test_a_shift_of_zero_is_the_image_itself() -> None:
    images = torch.rand(4, 1, 8, 8, generator=seeded())
    assert torch.equal(Shift().apply(images, torch.zeros(4, 2, dtype=torch.int64)), images)


def test_no_augmentation_leaves_images_and_generator_alone() -> None:
    generator, images = seeded(), torch.rand(4, 1, 8, 8, generator=seeded())
    before = generator.get_state()
    assert NoAugmentation().apply(images, NoAugmentation().draw(4, generator)) is images
    assert torch.equal(generator.get_state(), before)
