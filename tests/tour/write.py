"""Takes the tour at each width and keeps what is seen: python -m tests.tour.write."""

from tests.tour.screens import WIDTHS, keep

if __name__ == "__main__":
    for width in WIDTHS:
        keep(width)
